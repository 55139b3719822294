// The distance transform on CUDA: memory and types; nearest_passes.h has the work.
//
// Figures on a GPU: none yet, none was at hand; tests/gpu/run.py measures them.

#include "cuda_launch.h"
#include "cuda_pack.h"
#include "distance_transform.h"
#include "nearest_passes.h"
#include "pack.h"
#include "units.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace breakeven {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

struct Call {
  BitGrid grid;
  edt::Units units;
  bool is_signed;
};

Call describe(const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  check_distance_transform(mask, spacing, spatial_dims);
  edt::check_readable(mask);
  const int64_t batch_dims = mask.dim() - spatial_dims;
  int64_t num_volumes = 1;
  for (int64_t axis = 0; axis < batch_dims; ++axis) {
    num_volumes *= mask.size(axis);
  }
  std::array<int64_t, 3> lengths{1, 1, 1};
  std::array<double, 3> steps{1, 1, 1};
  for (int64_t axis = 0; axis < spatial_dims; ++axis) {
    lengths[3 - spatial_dims + axis] = mask.size(batch_dims + axis);
    steps[3 - spatial_dims + axis] = spacing[axis];
    STD_TORCH_CHECK(
        mask.size(batch_dims + axis) <= std::numeric_limits<int32_t>::max(),
        "distance_transform: an axis must be shorter than 2^31, got ", mask.size(batch_dims + axis));
  }
  return {{num_volumes, lengths[0], lengths[1], lengths[2]}, edt::choose_units(steps, lengths), is_signed};
}

template <typename Value, typename Place>
void transform_as(const CudaLauncher& launch, const Tensor& mask, const Call& call, float* distances, int64_t* nearest) {
  const Tensor words = pack_mask(launch, mask, call.grid);
  const Tensor places =
      torch::stable::new_empty(mask, mask.sizes(), sizeof(Place) == 4 ? ScalarType::Int : ScalarType::Long);
  const auto& steps = call.units.steps;
  const NearestProblem<Value, Place> problem{
      call.grid,
      static_cast<const uint32_t*>(words.const_data_ptr()),
      call.is_signed,
      {static_cast<Value>(steps[0]), static_cast<Value>(steps[1]), static_cast<Value>(steps[2])},
      call.units.unit,
      reinterpret_cast<int32_t*>(distances),
      static_cast<Place*>(places.mutable_data_ptr())};
  find_nearest(launch, problem, distances, nearest);
}

void transform(const Tensor& mask, const Call& call, Tensor& distances, int64_t* nearest) {
  if (mask.numel() == 0) {
    return;
  }
  const CudaLauncher launch(mask);
  auto* const to = static_cast<float*>(distances.mutable_data_ptr());
  const bool is_narrow = std::max(call.grid.height, call.grid.width) <= PlaceInSlice<uint32_t>::kMaxSize;
  if (call.units.fit_int32) {
    is_narrow ? transform_as<int32_t, uint32_t>(launch, mask, call, to, nearest)
              : transform_as<int32_t, uint64_t>(launch, mask, call, to, nearest);
  } else {
    is_narrow ? transform_as<double, uint32_t>(launch, mask, call, to, nearest)
              : transform_as<double, uint64_t>(launch, mask, call, to, nearest);
  }
}

Tensor distance_transform_cuda(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  const Call call = describe(mask, spacing, spatial_dims, is_signed);
  Tensor distances = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Float);
  transform(mask, call, distances, nullptr);
  return distances;
}

Tensor distance_transform_out_cuda(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed, Tensor out) {
  const Call call = describe(mask, spacing, spatial_dims, is_signed);
  check_out(mask, out);
  transform(mask, call, out, nullptr);
  return out;
}

std::tuple<Tensor, Tensor> distance_transform_nearest_cuda(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  const Call call = describe(mask, spacing, spatial_dims, is_signed);
  Tensor distances = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Float);
  Tensor nearest = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Long);
  transform(mask, call, distances, static_cast<int64_t*>(nearest.mutable_data_ptr()));
  return {distances, nearest};
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_IMPL(breakeven, CUDA, m) {
  m.impl("distance_transform", TORCH_BOX(&breakeven::distance_transform_cuda));
  m.impl("distance_transform.out", TORCH_BOX(&breakeven::distance_transform_out_cuda));
  m.impl("distance_transform_nearest", TORCH_BOX(&breakeven::distance_transform_nearest_cuda));
}
