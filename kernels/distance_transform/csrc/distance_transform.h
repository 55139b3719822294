// What every backend of distance_transform asks of its arguments.
#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace breakeven {

constexpr int64_t kMaxSpatialDims = 3;
// Squares of steps, divided by a power of two between them, have to stay in the range of double.
constexpr double kMaxSpacingRatio = 1e300;

// The last `spatial_dims` axes of `mask` are spatial, those before are batch axes. One spacing an axis.
inline void check_distance_transform(
    const torch::stable::Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims) {
  STD_TORCH_CHECK(
      spatial_dims >= 1 && spatial_dims <= kMaxSpatialDims && spatial_dims <= mask.dim(),
      "distance_transform: spatial_dims must be 1, 2 or 3 and at most the number of axes, ", mask.dim(),
      "; got ", spatial_dims);
  STD_TORCH_CHECK(
      static_cast<int64_t>(spacing.size()) == spatial_dims,
      "distance_transform: spacing must have one value for each of the ", spatial_dims, " spatial axes, got ",
      spacing.size());
  for (double step : spacing) {
    STD_TORCH_CHECK(
        std::isfinite(step) && step > 0, "distance_transform: spacing must be finite and > 0, got ", step);
  }
  const auto [least, most] = std::minmax_element(spacing.begin(), spacing.end());
  STD_TORCH_CHECK(
      *most / *least <= kMaxSpacingRatio, "distance_transform: the largest spacing may be ", kMaxSpacingRatio,
      " times the smallest, got ", *most, " and ", *least);
}

// First and last byte that the elements of a tensor occupy, as integers; empty tensors occupy none.
struct ByteRange {
  uintptr_t begin, end;
};

inline ByteRange bytes_of(const torch::stable::Tensor& tensor) {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  if (tensor.numel() == 0) {
    return {begin, begin};
  }
  uintptr_t last = 0;
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    last += static_cast<uintptr_t>((tensor.size(axis) - 1) * tensor.stride(axis));
  }
  return {begin, begin + (last + 1) * tensor.element_size()};
}

// `out` is float32, contiguous, of the mask's shape and device, and shares no memory with it.
inline void check_out(const torch::stable::Tensor& mask, const torch::stable::Tensor& out) {
  STD_TORCH_CHECK(
      out.scalar_type() == torch::headeronly::ScalarType::Float,
      "distance_transform: out must be float32, got ", torch::headeronly::toString(out.scalar_type()));
  STD_TORCH_CHECK(
      out.is_cpu() == mask.is_cpu() && out.get_device() == mask.get_device(),
      "distance_transform: out must be on the device of the mask");
  bool is_of_shape = out.dim() == mask.dim();
  for (int64_t axis = 0; is_of_shape && axis < mask.dim(); ++axis) {
    is_of_shape = out.size(axis) == mask.size(axis);
  }
  STD_TORCH_CHECK(
      is_of_shape, "distance_transform: out must have the shape of the mask, with ", mask.numel(),
      " voxels on ", mask.dim(), " axes; got ", out.numel(), " on ", out.dim());
  STD_TORCH_CHECK(
      out.is_contiguous(),
      "distance_transform: out must be contiguous; pass a tensor fresh from torch.empty");
  const ByteRange read = bytes_of(mask);
  const ByteRange written = bytes_of(out);
  STD_TORCH_CHECK(
      read.end <= written.begin || written.end <= read.begin || read.begin == read.end,
      "distance_transform: out must not share memory with the mask");
}

}  // namespace breakeven
