// breakeven::connected_components and component_count: schemas and CPU implementation.

#include "connected_components.h"

#include "labeller.h"
#include "volumes.h"

#include <huge_pages.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace breakeven {
namespace {

using labelling::Labeller;
using labelling::Volumes;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// A thread is worth starting for this many voxels.
constexpr int64_t kVoxelsAThread = int64_t{1} << 15;

// Labels that no cache would keep are written past them: what was there need not be read first.
constexpr int64_t kBytesPastCaches = int64_t{1} << 20;

int64_t slabs_for_threads(const LabelShape& shape) {
  const auto num_threads = static_cast<int64_t>(torch::stable::get_num_threads());
  return std::clamp<int64_t>(shape.num_voxels() / kVoxelsAThread, 1, num_threads);
}

void label_into(const Tensor& mask, const LabelShape& shape, int64_t connectivity, int64_t spatial_dims, const Tensor& labels) {
  if (labels.numel() == 0) {
    return;
  }
  const auto label_bytes = static_cast<int64_t>(labels.element_size());
  auto* const target = static_cast<uint8_t*>(labels.mutable_data_ptr());
  const int64_t volume_bytes = shape.num_voxels() * label_bytes;
  const bool passes_caches = shape.num_volumes * volume_bytes >= kBytesPastCaches;
  const Volumes volumes(mask, shape, connectivity, spatial_dims);
  volumes.for_each(slabs_for_threads(shape), [&](int64_t volume, Labeller& labeller) {
    uint8_t* const first = target + volume * volume_bytes;
    labeller.search(volumes.view(volume), first, label_bytes);
    labeller.number();
    labeller.write(first, label_bytes, passes_caches);
  });
}

Tensor connected_components_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  const ScalarType dtype = labels_dtype(shape, connectivity);
  Tensor labels = torch::stable::new_empty(mask, mask.sizes(), std::make_optional(dtype));
  prefer_huge_pages(labels.mutable_data_ptr(), labels.numel() * labels.element_size());
  label_into(mask, shape, connectivity, spatial_dims, labels);
  return labels;
}

Tensor connected_components_out_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims, Tensor out) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_labels_out(mask, out, shape, connectivity);
  label_into(mask, shape, connectivity, spatial_dims, out);
  return out;
}

Tensor component_count_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  const std::vector<int64_t> batch(mask.sizes().begin(), mask.sizes().end() - spatial_dims);
  Tensor counts = torch::stable::new_empty(mask, batch, std::make_optional(ScalarType::Long));
  auto* const target = static_cast<int64_t*>(counts.mutable_data_ptr());
  if (mask.numel() == 0) {
    std::fill_n(target, counts.numel(), 0);
    return counts;
  }
  const Volumes volumes(mask, shape, connectivity, spatial_dims);
  volumes.for_each(slabs_for_threads(shape), [&](int64_t volume, Labeller& labeller) {
    target[volume] = labeller.search(volumes.view(volume));
  });
  return counts;
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def("connected_components(Tensor mask, int connectivity, int spatial_dims) -> Tensor");
  m.def(
      "connected_components.out(Tensor mask, int connectivity, int spatial_dims, *, Tensor(a!) out)"
      " -> Tensor(a!)");
  m.def("component_count(Tensor mask, int connectivity, int spatial_dims) -> Tensor");
  m.def(
      "component_table(Tensor mask, Tensor[] values, int connectivity, int spatial_dims)"
      " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("connected_components", TORCH_BOX(&breakeven::connected_components_cpu));
  m.impl("connected_components.out", TORCH_BOX(&breakeven::connected_components_out_cpu));
  m.impl("component_count", TORCH_BOX(&breakeven::component_count_cpu));
}
