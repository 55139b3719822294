// Twice every value: what host and device share, to test how an operator is built.
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

namespace breakeven_test {

constexpr float twice_of(float x) { return 2 * x; }

inline void check_input(const torch::stable::Tensor& x) {
  STD_TORCH_CHECK(
      x.scalar_type() == torch::headeronly::ScalarType::Float && x.is_contiguous(),
      "twice: expected contiguous float32");
}

}  // namespace breakeven_test
