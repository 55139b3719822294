// Input checks of breakeven::connected_components, shared by every backend.

#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <limits>

namespace breakeven {

// A checked call: `num_volumes` volumes of depth x height x width voxels, in raster order.
struct LabelShape {
  int64_t num_volumes;
  int64_t depth;
  int64_t height;
  int64_t width;

  int64_t num_voxels() const {
    return depth * height * width;
  }
};

inline LabelShape check_connected_components(
    const torch::stable::Tensor& mask,
    int64_t connectivity,
    int64_t spatial_dims) {
  STD_TORCH_CHECK(
      1 <= spatial_dims && spatial_dims <= 3,
      "connected_components: spatial_dims must be 1 to 3, got ",
      spatial_dims);
  STD_TORCH_CHECK(
      mask.dim() >= spatial_dims,
      "connected_components: mask must have at least spatial_dims=",
      spatial_dims,
      " axes, got ",
      mask.dim());
  STD_TORCH_CHECK(
      1 <= connectivity && connectivity <= spatial_dims,
      "connected_components: connectivity must be 1 to ",
      spatial_dims,
      " for as many spatial axes, got ",
      connectivity);
  const int64_t num_batch_dims = mask.dim() - spatial_dims;
  LabelShape shape{1, 1, 1, 1};
  for (int64_t dim = 0; dim < num_batch_dims; ++dim) {
    shape.num_volumes *= mask.size(dim);
  }
  int64_t* const axes[3] = {&shape.depth, &shape.height, &shape.width};
  for (int64_t dim = 0; dim < spatial_dims; ++dim) {
    *axes[3 - spatial_dims + dim] = mask.size(num_batch_dims + dim);
  }
  STD_TORCH_CHECK(
      shape.num_voxels() <= std::numeric_limits<int32_t>::max(),
      "connected_components: a volume must have fewer than 2^31 voxels for int32 labels, got ",
      shape.num_voxels());
  return shape;
}

}  // namespace breakeven
