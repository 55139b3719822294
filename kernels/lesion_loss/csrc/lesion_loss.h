// Input checks of breakeven::lesion_loss and its backward, shared by every backend.
//
// Legend: N samples of V voxels each, K the largest label of a sample.

#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <string>

namespace breakeven {

// A power of two less one: labels are in range if and only if the OR of all of them is. The table of
// coefficients has a fixed width because of it, so that shapes do not depend on data.
constexpr int64_t kMaxLabel = 16383;
constexpr int64_t kTableWidth = kMaxLabel + 1;

// A checked call: logits and labels are `num_samples` runs of `num_voxels` in raster order.
struct LossShape {
  int64_t num_samples;
  int64_t num_voxels;
};

inline LossShape check_lesion_loss(
    const torch::stable::Tensor& logits,
    const torch::stable::Tensor& labels) {
  using torch::headeronly::ScalarType;
  const ScalarType value = logits.scalar_type();
  STD_TORCH_CHECK(
      value == ScalarType::Float || value == ScalarType::Double || value == ScalarType::Half ||
          value == ScalarType::BFloat16,
      "lesion_loss: logits must be float32, float64, float16 or bfloat16");
  const ScalarType index = labels.scalar_type();
  STD_TORCH_CHECK(
      index == ScalarType::Int || index == ScalarType::Long || index == ScalarType::Byte,
      "lesion_loss: labels must be int32, int64 or uint8");
  STD_TORCH_CHECK(
      logits.dim() == 4 || logits.dim() == 5,
      "lesion_loss: logits must be (N, 1, H, W) or (N, 1, D, H, W), got ",
      logits.dim(),
      " axes");
  STD_TORCH_CHECK(
      labels.dim() == logits.dim(),
      "lesion_loss: labels must have the shape of logits, got ",
      labels.dim(),
      " axes for ",
      logits.dim());
  STD_TORCH_CHECK(
      logits.size(1) == 1, "lesion_loss: logits must have 1 channel, got ", logits.size(1));
  LossShape shape{logits.size(0), 1};
  for (int64_t axis = 0; axis < logits.dim(); ++axis) {
    STD_TORCH_CHECK(
        labels.size(axis) == logits.size(axis),
        "lesion_loss: labels must have the shape of logits, got ",
        labels.size(axis),
        " for ",
        logits.size(axis),
        " on axis ",
        axis);
    shape.num_voxels *= axis >= 2 ? logits.size(axis) : 1;
  }
  return shape;
}

inline void check_lesion_loss_kind(const std::string& kind) {
  STD_TORCH_CHECK(kind == "blob", "lesion_loss: kind must be one of 'blob', got '", kind, "'");
}

inline void check_lesion_loss_label(int64_t label) {
  STD_TORCH_CHECK(
      0 <= label && label <= kMaxLabel,
      "lesion_loss: labels must be 0 (background) to ",
      kMaxLabel,
      ", got ",
      label);
}

inline void check_lesion_loss_backward(
    const torch::stable::Tensor& grad,
    const torch::stable::Tensor& coefficients,
    const LossShape& shape) {
  using torch::headeronly::ScalarType;
  STD_TORCH_CHECK(
      grad.numel() == 1 &&
          (grad.scalar_type() == ScalarType::Float || grad.scalar_type() == ScalarType::Double),
      "lesion_loss_backward: grad must be one float32 or float64");
  STD_TORCH_CHECK(
      coefficients.scalar_type() == ScalarType::Double && coefficients.dim() == 2 &&
          coefficients.size(0) == shape.num_samples && coefficients.size(1) == kTableWidth,
      "lesion_loss_backward: coefficients must be float64 (N, ",
      kTableWidth,
      "), as the forward returned them");
}

} // namespace breakeven
