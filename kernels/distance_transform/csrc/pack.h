// The mask, read once: from any dtype to one bit a voxel.
#pragma once

#include "level.h"

#include <torch/csrc/stable/tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace breakeven::edt {

// Kinds of voxels that a volume has.
constexpr uint8_t kHasZeros = 1;
constexpr uint8_t kHasOnes = 2;

struct Shape {
  int64_t N, D, H, W;

  int64_t num_words() const { return (W + kWordBits - 1) / kWordBits; }
  int64_t num_rows() const { return N * D * H; }
};

struct Packed {
  // [N * D, words, H], as in Problem; `ones` only where asked for.
  std::unique_ptr<SiteWord[]> zeros, ones;
  std::vector<std::atomic<uint8_t>> kinds;  // [N]
};

// Refuses a dtype that cannot be read.
void check_readable(const torch::stable::Tensor& mask);

// `zero_to`, where it is not nullptr, gets 0 wherever a word is full of zeros.
Packed pack(
    const torch::stable::Tensor& mask, const Shape& shape, const Level& level, bool wants_ones,
    float* zero_to);

}  // namespace breakeven::edt
