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

Tensor connected_components_cpu(const Tensor& mask, int64_t connectivity, int64_t spatial_dims) {
  const LabelShape shape = check_connected_components(mask, connectivity, spatial_dims);
  Tensor labels = torch::stable::new_empty(mask, mask.sizes(), std::make_optional(ScalarType::Int));
  if (labels.numel() == 0) {
    return labels;
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
  return labels;
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def("connected_components(Tensor mask, int connectivity, int spatial_dims) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("connected_components", TORCH_BOX(&breakeven::connected_components_cpu));
}
