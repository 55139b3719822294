// A mask of any dtype as packed bits on its device.
#pragma once

#include "bit_passes.h"
#include "cuda_launch.h"

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>

namespace breakeven {

template <typename Element>
void pack_elements(
    const CudaLauncher& launch, const torch::stable::Tensor& mask, Element ignored, const BitGrid& grid, uint32_t* words) {
  const PackBits<Element> pass{static_cast<const Element*>(mask.const_data_ptr()), ignored, grid, words};
  launch.blocks(pass, pass.num_blocks());
}

// int32 words, uninitialised.
inline torch::stable::Tensor new_words(const torch::stable::Tensor& like, int64_t count) {
  return torch::stable::new_empty(like, {&count, 1}, torch::headeronly::ScalarType::Int);
}

// The words of `grid`, a bit for each voxel that is not 0; int32, which CUDA code sees as unsigned.
inline torch::stable::Tensor pack_mask(
    const CudaLauncher& launch, const torch::stable::Tensor& mask, const BitGrid& grid) {
  using torch::headeronly::ScalarType;
  torch::stable::Tensor words = new_words(mask, grid.num_words());
  auto* const to = static_cast<uint32_t*>(words.mutable_data_ptr());
  const torch::stable::Tensor dense = torch::stable::contiguous(mask);
  switch (dense.scalar_type()) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      pack_elements<uint8_t>(launch, dense, 0, grid, to);
      break;
    case ScalarType::Short:
    case ScalarType::UInt16:
      pack_elements<uint16_t>(launch, dense, 0, grid, to);
      break;
    case ScalarType::Half:
    case ScalarType::BFloat16:
      pack_elements<uint16_t>(launch, dense, 0x8000, grid, to);
      break;
    case ScalarType::Int:
    case ScalarType::UInt32:
      pack_elements<uint32_t>(launch, dense, 0, grid, to);
      break;
    case ScalarType::Float:
      pack_elements<uint32_t>(launch, dense, 0x80000000, grid, to);
      break;
    case ScalarType::Long:
    case ScalarType::UInt64:
      pack_elements<uint64_t>(launch, dense, 0, grid, to);
      break;
    case ScalarType::Double:
      pack_elements<uint64_t>(launch, dense, 0x8000000000000000, grid, to);
      break;
    default:
      pack_elements<uint8_t>(launch, torch::stable::to(dense, ScalarType::Bool), 0, grid, to);
  }
  return words;
}

}  // namespace breakeven
