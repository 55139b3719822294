// Exact Euclidean distance transform on the CPU: the registered operators.
//
// Squared distances add up over the axes, so that the nearest voxel is sought along one after the other:
// out[q] = min_p f[p] + w^2 (q - p)^2. The last axis comes from bits (pack, rows); the others take sixteen
// neighbouring columns at a time (plane, depth), each by what suits it: a search outwards (search), halving
// (descent) or lower envelopes (envelope). `level` chooses the instruction set, `units` the arithmetic.

#include "distance_transform.h"
#include "pack.h"
#include "transform.h"

#include "huge_pages.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Rows are at most this long: places in them are int32.
constexpr int64_t kMostPlaces = int64_t{1} << 29;

void check(const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims) {
  breakeven::check_distance_transform(mask, spacing, spatial_dims);
  breakeven::edt::check_readable(mask);
  for (int64_t axis = 0; axis < mask.dim(); ++axis) {
    STD_TORCH_CHECK(
        mask.size(axis) < kMostPlaces,
        "distance_transform: an axis must be shorter than 2^29 on the CPU, got ", mask.size(axis));
  }
}

template <typename Element>
Element* data_of(Tensor& tensor) {
  return static_cast<Element*>(tensor.mutable_data_ptr());
}

Tensor new_output(const Tensor& mask, ScalarType dtype) {
  Tensor output = torch::stable::new_empty(mask, mask.sizes(), dtype);
  breakeven::prefer_huge_pages(output.mutable_data_ptr(), output.numel() * output.element_size());
  return output;
}

Tensor distance_transform(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  check(mask, spacing, spatial_dims);
  Tensor out = new_output(mask, ScalarType::Float);
  if (out.numel() > 0) {
    breakeven::edt::transform(mask, spacing, spatial_dims, is_signed, data_of<float>(out), nullptr);
  }
  return out;
}

Tensor distance_transform_out(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed,
    Tensor out) {
  check(mask, spacing, spatial_dims);
  breakeven::check_out(mask, out);
  if (out.numel() > 0) {
    breakeven::edt::transform(mask, spacing, spatial_dims, is_signed, data_of<float>(out), nullptr);
  }
  return out;
}

std::tuple<Tensor, Tensor> distance_transform_nearest(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  check(mask, spacing, spatial_dims);
  Tensor distances = new_output(mask, ScalarType::Float);
  Tensor nearest = new_output(mask, ScalarType::Long);
  if (distances.numel() > 0) {
    breakeven::edt::transform(
        mask, spacing, spatial_dims, is_signed, data_of<float>(distances), data_of<int64_t>(nearest));
  }
  return {distances, nearest};
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def("distance_transform(Tensor mask, float[] spacing, int spatial_dims, bool signed=False) -> Tensor");
  m.def(
      "distance_transform.out(Tensor mask, float[] spacing, int spatial_dims, bool signed=False, *, "
      "Tensor(a!) out) -> Tensor(a!)");
  m.def(
      "distance_transform_nearest(Tensor mask, float[] spacing, int spatial_dims, bool signed=False) -> "
      "(Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("distance_transform", TORCH_BOX(&distance_transform));
  m.impl("distance_transform.out", TORCH_BOX(&distance_transform_out));
  m.impl("distance_transform_nearest", TORCH_BOX(&distance_transform_nearest));
}
