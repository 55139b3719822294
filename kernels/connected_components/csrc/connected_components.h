// Input checks of the labelling operators, shared by every backend.

#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace breakeven {

constexpr int64_t kMaxSpatialDims = 3;

// A checked call: `num_volumes` volumes of depth x height x width voxels, in raster order. Axes that the
// mask does not have are 1 long.
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
      1 <= spatial_dims && spatial_dims <= kMaxSpatialDims,
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
  int64_t* const axes[kMaxSpatialDims] = {&shape.depth, &shape.height, &shape.width};
  for (int64_t dim = 0; dim < spatial_dims; ++dim) {
    *axes[kMaxSpatialDims - spatial_dims + dim] = mask.size(num_batch_dims + dim);
  }
  return shape;
}

// The most components that a volume of this shape can have. Cut it into blocks of two voxels an axis. At
// full connectivity all voxels of a block are neighbours; at connectivity 1 every second voxel can stand
// alone; at 2 of 3 opposite corners of a whole block can both stand alone, and no third voxel with them.
inline int64_t max_num_components(const LabelShape& shape, int64_t connectivity) {
  if (connectivity == 1) {
    return shape.num_voxels() / 2 + shape.num_voxels() % 2;
  }
  const auto up = [](int64_t size) { return size / 2 + size % 2; };
  const int64_t blocks = up(shape.depth) * up(shape.height) * up(shape.width);
  const int64_t whole_blocks = (shape.depth / 2) * (shape.height / 2) * (shape.width / 2);
  return connectivity == 2 ? blocks + whole_blocks : blocks;
}

// int32, unless a volume of this shape can have more components than that counts.
inline torch::headeronly::ScalarType labels_dtype(const LabelShape& shape, int64_t connectivity) {
  return max_num_components(shape, connectivity) <= std::numeric_limits<int32_t>::max()
      ? torch::headeronly::ScalarType::Int
      : torch::headeronly::ScalarType::Long;
}

// Bytes from the first to one past the last that a tensor reaches; begin == end where it is empty.
struct Extent {
  const uint8_t* begin;
  const uint8_t* end;
};

inline Extent extent(const torch::stable::Tensor& tensor) {
  const auto* const begin = static_cast<const uint8_t*>(tensor.const_data_ptr());
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.size(dim) == 0) {
      return {begin, begin};
    }
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  return {begin, begin + (last + 1) * static_cast<int64_t>(tensor.element_size())};
}

// `out` must be contiguous, of the mask's shape and device, apart from its memory, and of the dtype that
// the shape asks for; int64 holds any label and always fits.
inline void check_labels_out(
    const torch::stable::Tensor& mask,
    const torch::stable::Tensor& out,
    const LabelShape& shape,
    int64_t connectivity) {
  using torch::headeronly::ScalarType;
  const auto dtype = out.scalar_type();
  STD_TORCH_CHECK(
      dtype == ScalarType::Long || dtype == labels_dtype(shape, connectivity),
      "connected_components: out must be ",
      labels_dtype(shape, connectivity) == ScalarType::Int ? "int32 or int64" : "int64, for so many voxels",
      ", got ",
      torch::headeronly::toString(dtype));
  bool has_mask_shape = out.dim() == mask.dim();
  for (int64_t dim = 0; has_mask_shape && dim < mask.dim(); ++dim) {
    has_mask_shape = out.size(dim) == mask.size(dim);
  }
  STD_TORCH_CHECK(has_mask_shape, "connected_components: out must have the mask's shape; allocate it anew");
  STD_TORCH_CHECK(
      out.device() == mask.device(), "connected_components: out must be on the mask's device; move one of them");
  STD_TORCH_CHECK(
      out.is_contiguous(), "connected_components: out must be contiguous; label into a contiguous one and copy");
  const Extent read = extent(mask);
  const Extent written = extent(out);
  STD_TORCH_CHECK(
      read.begin == read.end || read.end <= written.begin || written.end <= read.begin,
      "connected_components: out must not overlap the mask in memory; allocate it apart");
}

// Each of `values` must be floating, of the mask's shape and on its device.
inline void check_component_values(
    const torch::stable::Tensor& mask,
    const std::vector<torch::stable::Tensor>& values) {
  using torch::headeronly::ScalarType;
  for (size_t channel = 0; channel < values.size(); ++channel) {
    const auto& value = values[channel];
    const auto dtype = value.scalar_type();
    STD_TORCH_CHECK(
        dtype == ScalarType::Float || dtype == ScalarType::Double || dtype == ScalarType::Half ||
            dtype == ScalarType::BFloat16,
        "component_table: values must be float16, bfloat16, float32 or float64, got ",
        torch::headeronly::toString(dtype),
        " as number ",
        channel);
    bool has_mask_shape = value.dim() == mask.dim();
    for (int64_t dim = 0; has_mask_shape && dim < mask.dim(); ++dim) {
      has_mask_shape = value.size(dim) == mask.size(dim);
    }
    STD_TORCH_CHECK(has_mask_shape, "component_table: values must have the mask's shape; number ", channel, " has not");
    STD_TORCH_CHECK(
        value.device() == mask.device(),
        "component_table: values must be on the mask's device; number ",
        channel,
        " is not");
  }
}

}  // namespace breakeven
