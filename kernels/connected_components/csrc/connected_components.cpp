// breakeven::connected_components: schema and CPU implementation.
//
// Runs of foreground along a row are the nodes of a union-find; a run is joined to the runs that touch
// it in the rows already visited. Runs are found in raster order and the smaller index is always the
// root, so that numbering roots in order is the canonical numbering.

#include "connected_components.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace breakeven {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Foreground columns begin <= x < end of one row.
struct Run {
  int32_t begin;
  int32_t end;
};

// Labels volume after volume; keeps its buffers between them.
class VolumeLabeller {
 public:
  VolumeLabeller(const LabelShape& shape, int64_t connectivity)
      : shape_(shape), connectivity_(connectivity) {
    first_run_.resize(shape.depth * shape.height + 1);
  }

  void label(const uint8_t* mask, int32_t* labels) {
    runs_.clear();
    parents_.clear();
    for (int64_t z = 0; z < shape_.depth; ++z) {
      for (int64_t y = 0; y < shape_.height; ++y) {
        const int64_t row = z * shape_.height + y;
        first_run_[row] = static_cast<int32_t>(runs_.size());
        find_runs(mask + row * shape_.width);
        first_run_[row + 1] = static_cast<int32_t>(runs_.size());
        join_visited_rows(z, y);
      }
    }
    number_roots();
    write(labels);
  }

 private:
  void find_runs(const uint8_t* row) {
    const int64_t width = shape_.width;
    int64_t x = 0;
    while (true) {
      x = skip_background(row, x);
      if (x == width) {
        return;
      }
      const int64_t begin = x;
      while (x < width && row[x] != 0) {
        ++x;
      }
      parents_.push_back(static_cast<int32_t>(runs_.size()));
      runs_.push_back({static_cast<int32_t>(begin), static_cast<int32_t>(x)});
    }
  }

  // First foreground column at or after x; background is passed over eight voxels a step.
  int64_t skip_background(const uint8_t* row, int64_t x) const {
    while (x + 8 <= shape_.width) {
      uint64_t word;
      std::memcpy(&word, row + x, sizeof(word));
      if (word != 0) {
        break;
      }
      x += 8;
    }
    while (x < shape_.width && row[x] == 0) {
      ++x;
    }
    return x;
  }

  void join_visited_rows(int64_t z, int64_t y) {
    const int64_t row = z * shape_.height + y;
    if (first_run_[row] == first_run_[row + 1]) {
      return;
    }
    if (y > 0) {
      join_rows(row, row - 1, connectivity_ >= 2);
    }
    if (z == 0) {
      return;
    }
    const int64_t above = row - shape_.height;
    join_rows(row, above, connectivity_ >= 2);
    if (connectivity_ >= 2) {
      if (y > 0) {
        join_rows(row, above - 1, connectivity_ >= 3);
      }
      if (y + 1 < shape_.height) {
        join_rows(row, above + 1, connectivity_ >= 3);
      }
    }
  }

  // Join the runs of two rows that share a column, or touch at a corner where `reach` is 1.
  void join_rows(int64_t row, int64_t other_row, int64_t reach) {
    int32_t run = first_run_[row];
    int32_t other = first_run_[other_row];
    const int32_t run_end = first_run_[row + 1];
    const int32_t other_end = first_run_[other_row + 1];
    while (run < run_end && other < other_end) {
      if (runs_[run].begin < runs_[other].end + reach &&
          runs_[other].begin < runs_[run].end + reach) {
        join(run, other);
      }
      if (runs_[run].end < runs_[other].end) {
        ++run;
      } else {
        ++other;
      }
    }
  }

  int32_t find(int32_t run) {
    while (parents_[run] != run) {
      parents_[run] = parents_[parents_[run]];
      run = parents_[run];
    }
    return run;
  }

  void join(int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    if (a < b) {
      parents_[b] = a;
    } else {
      parents_[a] = b;
    }
  }

  // Turn parents into labels, in place: a parent comes before its child and so is a label already.
  void number_roots() {
    int32_t num_labels = 0;
    for (size_t run = 0; run < parents_.size(); ++run) {
      const auto parent = static_cast<size_t>(parents_[run]);
      parents_[run] = parent == run ? ++num_labels : parents_[parent];
    }
  }

  void write(int32_t* labels) const {
    const int64_t num_rows = shape_.depth * shape_.height;
    for (int64_t row = 0; row < num_rows; ++row, labels += shape_.width) {
      std::fill(labels, labels + shape_.width, 0);
      for (int32_t run = first_run_[row]; run < first_run_[row + 1]; ++run) {
        std::fill(labels + runs_[run].begin, labels + runs_[run].end, parents_[run]);
      }
    }
  }

  LabelShape shape_;
  int64_t connectivity_;
  std::vector<Run> runs_;
  std::vector<int32_t> parents_;
  std::vector<int32_t> first_run_;  // Per row, and one past the last.
};

// The mask as contiguous bytes, zero for background alone; a copy only where one is needed.
Tensor as_bytes(const Tensor& mask) {
  const auto dtype = mask.scalar_type();
  const bool is_byte =
      dtype == ScalarType::Bool || dtype == ScalarType::Byte || dtype == ScalarType::Char;
  return torch::stable::contiguous(
      is_byte ? mask : torch::stable::to(mask, std::make_optional(ScalarType::Bool)));
}

void label_all(const Tensor& mask, const LabelShape& shape, int64_t connectivity, const Tensor& labels) {
  if (labels.numel() == 0) {
    return;
  }
  const Tensor bytes = as_bytes(mask);
  const auto* source = static_cast<const uint8_t*>(bytes.const_data_ptr());
  auto* target = static_cast<int32_t*>(labels.mutable_data_ptr());
  torch::stable::parallel_for(0, shape.num_volumes, 1, [&](int64_t begin, int64_t end) {
    VolumeLabeller labeller(shape, connectivity);
    for (int64_t volume = begin; volume < end; ++volume) {
      const int64_t offset = volume * shape.num_voxels();
      labeller.label(source + offset, target + offset);
    }
  });
}

Tensor connected_components_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  STD_TORCH_CHECK(shape.num_voxels() < (int64_t{1} << 31), "connected_components: too many voxels");
  Tensor labels = torch::stable::new_empty(mask, mask.sizes(), std::make_optional(ScalarType::Int));
  label_all(mask, shape, connectivity, labels);
  return labels;
}

Tensor connected_components_out_cpu(
    const Tensor& mask, int64_t connectivity, int64_t spatial_dims, Tensor out) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_labels_out(mask, out, shape, connectivity);
  Tensor labels = connected_components_cpu(mask, connectivity, spatial_dims);
  torch::stable::copy_(out, labels);
  return out;
}

std::vector<int64_t> count_all(const LabelShape& shape, const Tensor& labels) {
  const auto* source = static_cast<const int32_t*>(labels.const_data_ptr());
  std::vector<int64_t> counts(shape.num_volumes, 0);
  for (int64_t i = 0; i < labels.numel(); ++i) {
    int64_t& count = counts[i / shape.num_voxels()];
    count = std::max<int64_t>(count, source[i]);
  }
  return counts;
}

Tensor component_count_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  const Tensor labels = connected_components_cpu(mask, connectivity, spatial_dims);
  const std::vector<int64_t> batch(mask.sizes().begin(), mask.sizes().end() - spatial_dims);
  Tensor counts = torch::stable::new_empty(mask, batch, std::make_optional(ScalarType::Long));
  const auto found = count_all(shape, labels);
  std::copy(found.begin(), found.end(), static_cast<int64_t*>(counts.mutable_data_ptr()));
  return counts;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> component_table_cpu(
    const Tensor& mask, const std::vector<Tensor>& values, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  check_component_values(mask, values);
  const Tensor labels = connected_components_cpu(mask, connectivity, spatial_dims);
  const auto counts = count_all(shape, labels);
  std::vector<int64_t> first(1, 0);
  for (const int64_t count : counts) {
    first.push_back(first.back() + count);
  }
  const int64_t rows = first.back();
  const auto num_values = static_cast<int64_t>(values.size());
  const auto make = [&](std::vector<int64_t> sizes, ScalarType dtype) {
    return torch::stable::new_empty(mask, sizes, std::make_optional(dtype));
  };
  Tensor volumes = make({rows}, ScalarType::Long);
  Tensor voxels = make({rows}, ScalarType::Long);
  Tensor boxes = make({rows, spatial_dims, 2}, ScalarType::Long);
  Tensor centroids = make({rows, spatial_dims}, ScalarType::Double);
  Tensor sums = make({rows, num_values}, ScalarType::Double);
  Tensor minima = make({rows, num_values}, ScalarType::Double);
  auto* volume_of = static_cast<int64_t*>(volumes.mutable_data_ptr());
  auto* num_voxels = static_cast<int64_t*>(voxels.mutable_data_ptr());
  auto* box = static_cast<int64_t*>(boxes.mutable_data_ptr());
  auto* centroid = static_cast<double*>(centroids.mutable_data_ptr());
  auto* sum = static_cast<double*>(sums.mutable_data_ptr());
  auto* minimum = static_cast<double*>(minima.mutable_data_ptr());
  std::vector<Tensor> doubles;
  for (const Tensor& value : values) {
    doubles.push_back(
        torch::stable::contiguous(torch::stable::to(value, std::make_optional(ScalarType::Double))));
  }
  std::fill(num_voxels, num_voxels + rows, 0);
  const auto* source = static_cast<const int32_t*>(labels.const_data_ptr());
  for (int64_t i = 0; i < labels.numel(); ++i) {
    if (source[i] == 0) {
      continue;
    }
    const int64_t volume = i / shape.num_voxels();
    const int64_t row = first[volume] + source[i] - 1;
    const bool is_new = num_voxels[row]++ == 0;
    volume_of[row] = volume;
    const int64_t place = i % shape.num_voxels();
    const int64_t at[3] = {
        place / (shape.height * shape.width), place / shape.width % shape.height, place % shape.width};
    for (int64_t dim = 0; dim < spatial_dims; ++dim) {
      const int64_t index = at[3 - spatial_dims + dim];
      int64_t* const range = box + (row * spatial_dims + dim) * 2;
      double& mean = centroid[row * spatial_dims + dim];
      range[0] = is_new ? index : std::min(range[0], index);
      range[1] = is_new ? index + 1 : std::max(range[1], index + 1);
      mean = (is_new ? 0.0 : mean) + static_cast<double>(index);
    }
    for (int64_t channel = 0; channel < num_values; ++channel) {
      const double value = static_cast<const double*>(doubles[channel].const_data_ptr())[i];
      double& low = minimum[row * num_values + channel];
      double& total = sum[row * num_values + channel];
      low = is_new || value != value ? value : (value < low ? value : low);
      total = (is_new ? 0.0 : total) + value;
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t dim = 0; dim < spatial_dims; ++dim) {
      centroid[row * spatial_dims + dim] /= static_cast<double>(num_voxels[row]);
    }
  }
  return {volumes, voxels, boxes, centroids, sums, minima};
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
  m.impl("component_table", TORCH_BOX(&breakeven::component_table_cpu));
}
