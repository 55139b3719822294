// breakeven::component_table on the CPU: components measured from their runs, no labels written.

#include "connected_components.h"
#include "labeller.h"
#include "volumes.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace breakeven {
namespace {

using labelling::Labeller;
using labelling::Measures;
using labelling::Slab;
using labelling::Values;
using labelling::Volumes;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Slabs, within which sums are added in order, are cut by the shape alone: so the number of threads does not
// change a bit.
constexpr int64_t kVoxelsASlab = int64_t{1} << 18;
constexpr int64_t kMaxSlabs = 16;

// Measures of some components; see Measures.
struct Columns {
  std::vector<int64_t> voxels;
  std::vector<int64_t> boxes;
  std::vector<int64_t> index_sums;
  std::vector<double> sums;
  std::vector<double> minima;
  std::vector<uint8_t> has_nan;

  void resize(int64_t rows, int64_t num_values) {
    voxels.assign(rows, 0);
    boxes.resize(6 * rows);
    for (int64_t i = 0; i < 3 * rows; ++i) {
      boxes[2 * i] = std::numeric_limits<int64_t>::max();
      boxes[2 * i + 1] = 0;
    }
    index_sums.assign(3 * rows, 0);
    sums.assign(rows * num_values, 0.0);
    minima.assign(rows * num_values, std::numeric_limits<double>::infinity());
    has_nan.assign(rows * num_values, 0);
  }

  // Add row `from` to row `to`.
  void merge(int64_t from, int64_t to, int64_t num_values) {
    voxels[to] += voxels[from];
    for (int64_t axis = 0; axis < 3; ++axis) {
      index_sums[3 * to + axis] += index_sums[3 * from + axis];
      int64_t* const box = boxes.data() + 6 * to + 2 * axis;
      const int64_t* const other = boxes.data() + 6 * from + 2 * axis;
      box[0] = std::min(box[0], other[0]);
      box[1] = std::max(box[1], other[1]);
    }
    for (int64_t value = 0; value < num_values; ++value) {
      const int64_t at = to * num_values + value;
      const int64_t other = from * num_values + value;
      sums[at] += sums[other];
      minima[at] = std::min(minima[at], minima[other]);
      has_nan[at] |= has_nan[other];
    }
  }
};

// The components of one volume: by slab its own from `begins` on, then the foreign ones, merged already.
struct VolumeTable {
  Columns columns;
  std::vector<int64_t> begins;
  std::vector<int64_t> counts;  // By slab, of its own components.
};

// float32 or float64, contiguous.
Tensor as_measured(const Tensor& value) {
  const bool is_wide = value.scalar_type() == ScalarType::Double;
  const bool is_measured = is_wide || value.scalar_type() == ScalarType::Float;
  return torch::stable::contiguous(
      is_measured ? value : torch::stable::to(value, std::make_optional(ScalarType::Float)));
}

void measure_volume(Labeller& labeller, const std::vector<Tensor>& values, int64_t first_voxel, VolumeTable& table) {
  const auto& slabs = labeller.slabs();
  const auto num_values = static_cast<int64_t>(values.size());
  int64_t num_rows = 0;
  for (size_t slab = 0; slab < slabs.size(); ++slab) {
    table.begins.push_back(num_rows);
    table.counts.push_back(labeller.numbers(slab).num_native);
    num_rows += table.counts.back() + static_cast<int64_t>(labeller.numbers(slab).foreign.size());
  }
  Columns& columns = table.columns;
  columns.resize(num_rows, num_values);
  torch::stable::parallel_for(0, static_cast<int64_t>(slabs.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Slab& slab = slabs[index];
      std::vector<const void*> data;
      std::vector<uint8_t> is_double;
      for (const Tensor& value : values) {
        const int64_t first = first_voxel + slab.first_row * labeller.grid().width;
        data.push_back(
            static_cast<const uint8_t*>(value.const_data_ptr()) + first * static_cast<int64_t>(value.element_size()));
        is_double.push_back(value.scalar_type() == ScalarType::Double);
      }
      const int64_t row = table.begins[index];
      const Measures measures{
          columns.voxels.data() + row,
          columns.boxes.data() + 6 * row,
          columns.index_sums.data() + 3 * row,
          columns.sums.data() + row * num_values,
          columns.minima.data() + row * num_values,
          columns.has_nan.data() + row * num_values};
      labeller.kernels().measure_slab(
          labeller.grid(),
          slab,
          labeller.numbers(index).num_native,
          slab.first_row / labeller.grid().height,
          slab.first_row % labeller.grid().height,
          {data.data(), is_double.data(), num_values},
          measures);
    }
  });
  for (size_t slab = 0; slab < slabs.size(); ++slab) {
    const auto& labels = labeller.foreign_labels(slab);
    for (size_t foreign = 0; foreign < labels.size(); ++foreign) {
      size_t home = slab;
      while (labels[foreign] <= labeller.offset(home)) {
        --home;
      }
      const int64_t to = table.begins[home] + labels[foreign] - labeller.offset(home) - 1;
      columns.merge(table.begins[slab] + table.counts[slab] + static_cast<int64_t>(foreign), to, num_values);
    }
  }
}

using Table = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

Table assemble(
    const Tensor& mask, const std::vector<VolumeTable>& tables, const Volumes* volumes, int64_t spatial_dims, int64_t num_values) {
  int64_t num_rows = 0;
  for (const VolumeTable& table : tables) {
    for (const int64_t count : table.counts) {
      num_rows += count;
    }
  }
  const auto make = [&](const std::vector<int64_t>& sizes, ScalarType dtype) {
    return torch::stable::new_empty(mask, sizes, std::make_optional(dtype));
  };
  Tensor volume_of = make({num_rows}, ScalarType::Long);
  Tensor voxels = make({num_rows}, ScalarType::Long);
  Tensor boxes = make({num_rows, spatial_dims, 2}, ScalarType::Long);
  Tensor centroids = make({num_rows, spatial_dims}, ScalarType::Double);
  Tensor sums = make({num_rows, num_values}, ScalarType::Double);
  Tensor minima = make({num_rows, num_values}, ScalarType::Double);
  auto* next_volume = static_cast<int64_t*>(volume_of.mutable_data_ptr());
  auto* next_voxels = static_cast<int64_t*>(voxels.mutable_data_ptr());
  auto* next_box = static_cast<int64_t*>(boxes.mutable_data_ptr());
  auto* next_centroid = static_cast<double*>(centroids.mutable_data_ptr());
  auto* next_sum = static_cast<double*>(sums.mutable_data_ptr());
  auto* next_minimum = static_cast<double*>(minima.mutable_data_ptr());
  for (size_t volume = 0; volume < tables.size(); ++volume) {
    const VolumeTable& table = tables[volume];
    const Columns& columns = table.columns;
    for (size_t slab = 0; slab < table.counts.size(); ++slab) {
      for (int64_t row = table.begins[slab]; row < table.begins[slab] + table.counts[slab]; ++row) {
        *next_volume++ = static_cast<int64_t>(volume);
        *next_voxels++ = columns.voxels[row];
        for (int64_t dim = 0; dim < spatial_dims; ++dim) {
          const int64_t axis = volumes->grid_axis(dim);
          *next_box++ = axis < 0 ? 0 : columns.boxes[6 * row + 2 * axis];
          *next_box++ = axis < 0 ? 1 : columns.boxes[6 * row + 2 * axis + 1];
          *next_centroid++ = axis < 0
              ? 0.0
              : static_cast<double>(columns.index_sums[3 * row + axis]) / static_cast<double>(columns.voxels[row]);
        }
        for (int64_t at = row * num_values; at < (row + 1) * num_values; ++at) {
          *next_sum++ = columns.sums[at];
          *next_minimum++ = columns.has_nan[at] ? std::numeric_limits<double>::quiet_NaN() : columns.minima[at];
        }
      }
    }
  }
  return {volume_of, voxels, boxes, centroids, sums, minima};
}

Table component_table_cpu(
    const Tensor& mask, const std::vector<Tensor>& values, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_component_values(mask, values);
  const auto num_values = static_cast<int64_t>(values.size());
  if (mask.numel() == 0) {
    return assemble(mask, {}, nullptr, spatial_dims, num_values);
  }
  std::vector<Tensor> measured;
  for (const Tensor& value : values) {
    measured.push_back(as_measured(value));
  }
  const Volumes volumes(mask, shape, connectivity, spatial_dims);
  std::vector<VolumeTable> tables(shape.num_volumes);
  const int64_t num_slabs = std::clamp<int64_t>(shape.num_voxels() / kVoxelsASlab, 1, kMaxSlabs);
  volumes.for_each(num_slabs, [&](int64_t volume, Labeller& labeller) {
    labeller.search(volumes.view(volume));
    labeller.number();
    measure_volume(labeller, measured, volume * shape.num_voxels(), tables[volume]);
  });
  return assemble(mask, tables, &volumes, spatial_dims, num_values);
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("component_table", TORCH_BOX(&breakeven::component_table_cpu));
}
