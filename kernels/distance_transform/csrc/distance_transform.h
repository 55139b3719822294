// What every backend of distance_transform asks of its arguments.
#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace breakeven {

constexpr int64_t kMaxSpatialDims = 3;

// The last `spatial_dims` axes of `mask` are spatial, those before are batch axes. One spacing an axis.
inline void check_distance_transform(
    const torch::stable::Tensor& mask,
    const std::vector<double>& spacing,
    int64_t spatial_dims) {
  STD_TORCH_CHECK(
      spatial_dims >= 1 && spatial_dims <= kMaxSpatialDims && spatial_dims <= mask.dim(),
      "distance_transform: spatial_dims must be 1, 2 or 3 and at most the number of axes, ",
      mask.dim(), "; got ", spatial_dims);
  STD_TORCH_CHECK(
      static_cast<int64_t>(spacing.size()) == spatial_dims,
      "distance_transform: spacing must have one value for each of the ", spatial_dims,
      " spatial axes, got ", spacing.size());
  for (double step : spacing) {
    STD_TORCH_CHECK(
        std::isfinite(step) && step > 0,
        "distance_transform: spacing must be finite and > 0, got ", step);
  }
}

}  // namespace breakeven
