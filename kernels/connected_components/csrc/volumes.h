// From tensors to volumes as the kernels see them.
#pragma once

#include "connected_components.h"
#include "grid.h"
#include "labeller.h"
#include "mask_view.h"

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <functional>

namespace breakeven::labelling {

// A mask of any dtype and layout as volumes of the same grid. Axes of one voxel are left out of it: along them
// no voxel has a neighbour.
//
// Hidden, as torch's stable Tensor is.
class __attribute__((visibility("hidden"))) Volumes {
 public:
  Volumes(const torch::stable::Tensor& mask, const LabelShape& shape, int64_t connectivity, int64_t spatial_dims);

  const Grid& grid() const {
    return grid_;
  }
  int64_t count() const {
    return shape_.num_volumes;
  }
  int64_t num_voxels() const {
    return shape_.num_voxels();
  }
  // Axis of the grid (0 depth, 1 height, 2 width) that a spatial axis of the mask became; -1 if left out.
  int64_t grid_axis(int64_t spatial_dim) const {
    return grid_axes_[spatial_dim];
  }
  MaskView view(int64_t volume) const;

  // Work on every volume: side by side where they are many and small, otherwise one after the other, with the
  // slabs of each side by side. The labellers have at most `max_slabs` slabs.
  void for_each(int64_t max_slabs, const std::function<void(int64_t volume, Labeller& labeller)>& work) const;

 private:
  torch::stable::Tensor mask_;
  LabelShape shape_;
  Grid grid_;
  MaskView first_;
  int64_t num_batch_dims_;
  int64_t grid_axes_[kMaxSpatialDims];
};

}  // namespace breakeven::labelling
