// The labelling operators on CUDA: memory and types; label_passes.h and table_passes.h have the work.
//
// Figures on a GPU: none yet, none was at hand; tests/gpu/run.py measures them.

#include "connected_components.h"
#include "cuda_launch.h"
#include "cuda_pack.h"
#include "label_passes.h"
#include "table_passes.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

namespace breakeven {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

template <typename Id>
constexpr ScalarType kIdType = sizeof(Id) == 4 ? ScalarType::Int : ScalarType::Long;

BitGrid grid_of(const LabelShape& shape) {
  return {shape.num_volumes, shape.depth, shape.height, shape.width};
}

Tensor new_tensor(const Tensor& like, const std::vector<int64_t>& sizes, ScalarType dtype) {
  return torch::stable::new_empty(like, {sizes.data(), sizes.size()}, dtype);
}

// A forest with the memory that it lies in.
template <typename Id>
struct HeldForest {
  Tensor words;
  Tensor roots;
  Tensor totals;
  Tensor parents;
  Forest<Id> forest;
};

template <int connectivity, typename Id>
HeldForest<Id> grow(const CudaLauncher& launch, const Tensor& mask, const BitGrid& grid, Tensor parents) {
  Tensor words = pack_mask(launch, mask, grid);
  Tensor roots = new_words(mask, grid.num_words());
  Forest<Id> forest{
      grid,
      static_cast<const uint32_t*>(words.const_data_ptr()),
      static_cast<uint32_t*>(roots.mutable_data_ptr()),
      static_cast<Id*>(parents.mutable_data_ptr()),
      nullptr};
  const int64_t num_totals = forest.num_groups() + 1;
  Tensor totals = new_tensor(mask, {num_totals + scan_workspace(forest.num_groups())}, kIdType<Id>);
  forest.totals = static_cast<Id*>(totals.mutable_data_ptr());
  grow_forest<connectivity>(launch, forest, forest.totals + num_totals);
  return {words, roots, totals, parents, forest};
}

// Calls `use` with the connectivity as a type.
template <typename Use>
auto with_connectivity(int64_t connectivity, const Use& use) {
  switch (connectivity) {
    case 1:
      return use(std::integral_constant<int, 1>{});
    case 2:
      return use(std::integral_constant<int, 2>{});
    default:
      return use(std::integral_constant<int, 3>{});
  }
}

// 32 bits name each voxel of a volume, and count the components of the batch.
bool fits_32_bits(const LabelShape& shape) {
  return shape.num_volumes * shape.num_voxels() <= std::numeric_limits<uint32_t>::max();
}

template <typename Id>
void label_into(const CudaLauncher& launch, const Tensor& mask, const LabelShape& shape, int64_t connectivity, Tensor labels) {
  using Label = std::make_signed_t<Id>;
  with_connectivity(connectivity, [&](auto known) {
    const auto held = grow<known.value, Id>(launch, mask, grid_of(shape), labels);
    write_labels<known.value, Id>(launch, held.forest, static_cast<Label*>(labels.mutable_data_ptr()));
  });
}

// `labels` is contiguous, int32 or int64. Their memory holds the forest: where int32 is too narrow for the
// names of voxels, though not for labels, both are made in int64 first.
void label_volumes(const Tensor& mask, const LabelShape& shape, int64_t connectivity, Tensor labels) {
  if (labels.numel() == 0) {
    return;
  }
  const CudaLauncher launch(mask);
  if (labels.scalar_type() == ScalarType::Long) {
    label_into<uint64_t>(launch, mask, shape, connectivity, labels);
  } else if (shape.num_voxels() <= std::numeric_limits<uint32_t>::max()) {
    label_into<uint32_t>(launch, mask, shape, connectivity, labels);
  } else {
    const Tensor wide = torch::stable::new_empty(labels, labels.sizes(), ScalarType::Long);
    label_into<uint64_t>(launch, mask, shape, connectivity, wide);
    torch::stable::copy_(labels, wide);
  }
}

Tensor connected_components_cuda(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  Tensor labels = torch::stable::new_empty(mask, mask.sizes(), labels_dtype(shape, connectivity));
  label_volumes(mask, shape, connectivity, labels);
  return labels;
}

Tensor connected_components_out_cuda(const Tensor& mask, int64_t connectivity, int64_t spatial_dims, Tensor out) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_labels_out(mask, out, shape, connectivity);
  label_volumes(mask, shape, connectivity, out);
  return out;
}

// Calls `use(forest, connectivity as a type)` with a forest of the mask in memory of its own.
template <typename Use>
void with_forest(
    const CudaLauncher& launch, const Tensor& mask, const LabelShape& shape, int64_t connectivity, const Use& use) {
  with_connectivity(connectivity, [&](auto known) {
    const auto grow_and_use = [&](auto id) {
      using Id = decltype(id);
      const Tensor parents = torch::stable::new_empty(mask, mask.sizes(), kIdType<Id>);
      const auto held = grow<known.value, Id>(launch, mask, grid_of(shape), parents);
      use(held.forest, known);
    };
    if (fits_32_bits(shape)) {
      grow_and_use(uint32_t{});
    } else {
      grow_and_use(uint64_t{});
    }
  });
}

Tensor component_count_cuda(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  const std::vector<int64_t> batch(mask.sizes().begin(), mask.sizes().end() - spatial_dims);
  Tensor counts = torch::stable::new_zeros(mask, {batch.data(), batch.size()}, ScalarType::Long);
  if (mask.numel() == 0) {
    return counts;
  }
  const CudaLauncher launch(mask);
  with_forest(launch, mask, shape, connectivity, [&](const auto& forest, auto) {
    using Id = std::remove_pointer_t<decltype(forest.parents)>;
    launch.flat(CountVolumes<Id>{forest, static_cast<int64_t*>(counts.mutable_data_ptr())}, shape.num_volumes);
  });
  return counts;
}

struct TableTensors {
  TableTensors(const Tensor& like, int64_t rows, int64_t dims, int64_t num_values)
      : volumes(new_tensor(like, {rows}, ScalarType::Long)),
        voxels(new_tensor(like, {rows}, ScalarType::Long)),
        boxes(new_tensor(like, {rows, dims, 2}, ScalarType::Long)),
        centroids(new_tensor(like, {rows, dims}, ScalarType::Double)),
        sums(new_tensor(like, {rows, num_values}, ScalarType::Double)),
        minima(new_tensor(like, {rows, num_values}, ScalarType::Double)) {}

  Tensor volumes;
  Tensor voxels;
  Tensor boxes;
  Tensor centroids;
  Tensor sums;
  Tensor minima;
};

FloatType float_type(ScalarType dtype) {
  return dtype == ScalarType::Half   ? FloatType::float16
      : dtype == ScalarType::BFloat16 ? FloatType::bfloat16
      : dtype == ScalarType::Float    ? FloatType::float32
                                      : FloatType::float64;
}

template <int connectivity, typename Id>
void measure_channels(
    const CudaLauncher& launch, const Forest<Id>& forest, const std::vector<Tensor>& values, int64_t rows, TableTensors& table) {
  if (rows == 0 || values.empty()) {
    return;
  }
  const Tensor sums = new_tensor(table.sums, {rows, sizeof(ExactSum) / sizeof(int64_t)}, ScalarType::Long);
  const Tensor minima = new_tensor(table.sums, {rows}, ScalarType::Long);
  auto* const sum = static_cast<ExactSum*>(sums.mutable_data_ptr());
  auto* const minimum = static_cast<int64_t*>(minima.mutable_data_ptr());
  const auto num_values = static_cast<int64_t>(values.size());
  for (int64_t channel = 0; channel < num_values; ++channel) {
    const Tensor dense = torch::stable::contiguous(values[channel]);
    const FloatArray numbers{dense.const_data_ptr(), float_type(dense.scalar_type())};
    measure_channel<connectivity>(launch, forest, TableChannel{numbers, sum, minimum}, rows);
    const FinishChannel finish{
        sum,
        minimum,
        channel,
        num_values,
        static_cast<double*>(table.sums.mutable_data_ptr()),
        static_cast<double*>(table.minima.mutable_data_ptr())};
    launch.flat(finish, rows);
  }
}

template <int connectivity, typename Id>
TableTensors measure(
    const CudaLauncher& launch, const Forest<Id>& forest, const Tensor& mask, const std::vector<Tensor>& values, int64_t dims) {
  const auto rows = static_cast<int64_t>(launch.read(forest.totals + forest.num_groups()));
  TableTensors table(mask, rows, dims, static_cast<int64_t>(values.size()));
  const Tensor boxes = new_tensor(mask, {rows, 3, 2}, ScalarType::Long);
  const Tensor index_sums = new_tensor(mask, {rows, 3}, ScalarType::Long);
  const TableColumns columns{
      static_cast<int64_t*>(table.volumes.mutable_data_ptr()),
      static_cast<int64_t*>(table.voxels.mutable_data_ptr()),
      static_cast<int64_t*>(boxes.mutable_data_ptr()),
      static_cast<int64_t*>(index_sums.mutable_data_ptr())};
  measure_components<connectivity>(
      launch,
      forest,
      columns,
      rows,
      dims,
      static_cast<int64_t*>(table.boxes.mutable_data_ptr()),
      static_cast<double*>(table.centroids.mutable_data_ptr()));
  measure_channels<connectivity>(launch, forest, values, rows, table);
  return table;
}

// Waits for the number of components, which decides the shapes.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> component_table_cuda(
    const Tensor& mask, const std::vector<Tensor>& values, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_component_values(mask, values);
  TableTensors table(mask, 0, spatial_dims, static_cast<int64_t>(values.size()));
  if (mask.numel() > 0) {
    const CudaLauncher launch(mask);
    with_forest(launch, mask, shape, connectivity, [&](const auto& forest, auto known) {
      table = measure<known.value>(launch, forest, mask, values, spatial_dims);
    });
  }
  return {table.volumes, table.voxels, table.boxes, table.centroids, table.sums, table.minima};
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_IMPL(breakeven, CUDA, m) {
  m.impl("connected_components", TORCH_BOX(&breakeven::connected_components_cuda));
  m.impl("connected_components.out", TORCH_BOX(&breakeven::connected_components_out_cuda));
  m.impl("component_count", TORCH_BOX(&breakeven::component_count_cuda));
  m.impl("component_table", TORCH_BOX(&breakeven::component_table_cuda));
}
