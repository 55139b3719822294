// What every backend of breakeven::lesion_loss shares: input checks, and what the coefficients mean.
//
// Legend: N samples of V voxels each. A voxel has a logit x, p = sigmoid(x), a slot s, and t = 1 if it
// is a lesion's, else 0. Its slot is the number of its lesion (0: background) for "blob" and of its
// region for "cc_dice_ce".
//
// The forward pass returns, besides the loss, coefficients (N, num_rows, kTableWidth) in float64, from
// which the backward pass writes the gradient without a sum. They include a sample's weight and share
// in the mean over lesions and samples; columns of absent slots are 0. With q = p (1 - p), and `grad`
// the incoming gradient:
//
//   "blob",       1 row:   gradient = grad * C[n, 0, s] * q
//   "cc_dice_ce", 3 rows:  gradient = grad * (C[n, t, s] * q + C[n, 2, s] * (p - t))
//
// Row 0 (and 1) is thus the derivative of the loss with respect to p, row 2 that with respect to the
// voxel's cross-entropy. An ignored voxel has no slot, and the gradient 0.

#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <optional>
#include <string>

namespace breakeven {

// A power of two less one: labels are in range if and only if the OR of all of them is. The table of
// coefficients has a fixed width because of it, so that shapes do not depend on data.
constexpr int64_t kMaxLabel = 16383;
constexpr int64_t kTableWidth = kMaxLabel + 1;

enum class LossKind { blob, cc_dice_ce };

constexpr int64_t num_rows(LossKind kind) {
  return kind == LossKind::blob ? 1 : 3;
}

using OptionalTensor = std::optional<torch::stable::Tensor>;

// A checked call: tensors are `num_samples` runs of `num_voxels` in raster order.
struct LossShape {
  LossKind kind;
  int64_t num_samples;
  int64_t num_voxels;
};

inline LossKind check_lesion_loss_kind(const std::string& kind) {
  STD_TORCH_CHECK(
      kind == "blob" || kind == "cc_dice_ce",
      "lesion_loss: kind must be one of 'blob', 'cc_dice_ce', got '", kind, "'");
  return kind == "blob" ? LossKind::blob : LossKind::cc_dice_ce;
}

inline bool is_label_type(torch::headeronly::ScalarType type) {
  using torch::headeronly::ScalarType;
  return type == ScalarType::Int || type == ScalarType::Long || type == ScalarType::Byte;
}

inline void check_same_shape(
    const char* name,
    const torch::stable::Tensor& tensor,
    const torch::stable::Tensor& logits) {
  STD_TORCH_CHECK(
      tensor.dim() == logits.dim(),
      "lesion_loss: ", name, " must have the shape of logits, got ", tensor.dim(), " axes for ", logits.dim());
  for (int64_t axis = 0; axis < logits.dim(); ++axis) {
    STD_TORCH_CHECK(
        tensor.size(axis) == logits.size(axis),
        "lesion_loss: ", name, " must have the shape of logits, got ", tensor.size(axis), " for ",
        logits.size(axis), " on axis ", axis);
  }
  STD_TORCH_CHECK(
      tensor.get_device() == logits.get_device(), "lesion_loss: ", name, " must be on the device of logits");
}

// The target and what says which of its voxels belong together.
inline void check_lesion_loss_target(
    const torch::stable::Tensor& logits,
    const torch::stable::Tensor& target,
    LossKind kind,
    const OptionalTensor& regions) {
  using torch::headeronly::ScalarType;
  const bool needs_regions = kind == LossKind::cc_dice_ce;
  STD_TORCH_CHECK(
      regions.has_value() == needs_regions,
      "lesion_loss: regions must be given for 'cc_dice_ce', and only for it");
  STD_TORCH_CHECK(
      is_label_type(target.scalar_type()) || (needs_regions && target.scalar_type() == ScalarType::Bool),
      "lesion_loss: target must be int32, int64 or uint8; with regions it may be bool");
  check_same_shape("target", target, logits);
  if (needs_regions) {
    STD_TORCH_CHECK(
        is_label_type(regions->scalar_type()) || regions->scalar_type() == ScalarType::Short,
        "lesion_loss: regions must be int16, int32, int64 or uint8");
    check_same_shape("regions", *regions, logits);
  }
}

inline LossShape check_lesion_loss(
    const torch::stable::Tensor& logits,
    const torch::stable::Tensor& target,
    const std::string& kind_name,
    const OptionalTensor& regions,
    const OptionalTensor& ignore) {
  using torch::headeronly::ScalarType;
  const LossKind kind = check_lesion_loss_kind(kind_name);
  const ScalarType value = logits.scalar_type();
  STD_TORCH_CHECK(
      value == ScalarType::Float || value == ScalarType::Double || value == ScalarType::Half ||
          value == ScalarType::BFloat16,
      "lesion_loss: logits must be float32, float64, float16 or bfloat16");
  STD_TORCH_CHECK(
      logits.dim() == 4 || logits.dim() == 5,
      "lesion_loss: logits must be (N, 1, H, W) or (N, 1, D, H, W), got ", logits.dim(), " axes");
  STD_TORCH_CHECK(
      logits.size(1) == 1, "lesion_loss: logits must have 1 channel, got ", logits.size(1));
  check_lesion_loss_target(logits, target, kind, regions);
  if (ignore.has_value()) {
    STD_TORCH_CHECK(ignore->scalar_type() == ScalarType::Bool, "lesion_loss: ignore must be bool");
    check_same_shape("ignore", *ignore, logits);
  }
  LossShape shape{kind, logits.size(0), 1};
  for (int64_t axis = 2; axis < logits.dim(); ++axis) {
    shape.num_voxels *= logits.size(axis);
  }
  return shape;
}

inline void check_lesion_loss_weights(const OptionalTensor& sample_weights, const LossShape& shape) {
  using torch::headeronly::ScalarType;
  if (!sample_weights.has_value()) {
    return;
  }
  STD_TORCH_CHECK(
      (sample_weights->scalar_type() == ScalarType::Float ||
       sample_weights->scalar_type() == ScalarType::Double) &&
          sample_weights->dim() == 1 && sample_weights->size(0) == shape.num_samples,
      "lesion_loss: sample_weights must be float32 or float64 of shape (", shape.num_samples, ",)");
}

inline void check_lesion_loss_label(const char* name, int64_t label) {
  STD_TORCH_CHECK(
      0 <= label && label <= kMaxLabel,
      "lesion_loss: ", name, " must be 0 (background) to ", kMaxLabel, ", got ", label);
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
      coefficients.scalar_type() == ScalarType::Double && coefficients.dim() == 3 &&
          coefficients.size(0) == shape.num_samples && coefficients.size(1) == num_rows(shape.kind) &&
          coefficients.size(2) == kTableWidth,
      "lesion_loss_backward: coefficients must be float64 (N, ", num_rows(shape.kind), ", ", kTableWidth,
      "), as the forward returned them");
}

// Of breakeven::lesion_regions: for each voxel, the place within its sample of the nearest lesion voxel.
inline LossShape check_lesion_regions(
    const torch::stable::Tensor& target,
    const torch::stable::Tensor& nearest) {
  using torch::headeronly::ScalarType;
  STD_TORCH_CHECK(
      is_label_type(target.scalar_type()), "lesion_regions: target must be int32, int64 or uint8");
  STD_TORCH_CHECK(nearest.scalar_type() == ScalarType::Long, "lesion_regions: nearest must be int64");
  STD_TORCH_CHECK(target.dim() >= 2, "lesion_regions: target must be (N, 1, ...), got ", target.dim(), " axes");
  check_same_shape("nearest", nearest, target);
  LossShape shape{LossKind::cc_dice_ce, target.size(0), 1};
  for (int64_t axis = 1; axis < target.dim(); ++axis) {
    shape.num_voxels *= target.size(axis);
  }
  return shape;
}

}  // namespace breakeven
