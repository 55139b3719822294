// One row a component from the forest of label_passes.h, without labels: sizes, boxes, sums, minima.
//
// A component's row is the rank of its root in the batch. Runs add to it by integer atomics, whose order
// does not matter: the table is the same at every run.
#pragma once

#include "bundles.h"
#include "element_types.h"
#include "exact_sums.h"
#include "host_device.h"
#include "label_passes.h"

#include <cstdint>
#include <limits>

namespace breakeven {

// Columns of the table, each with one entry a row; of boxes and sums of indices three, for z, y and x.
struct TableColumns {
  int64_t* volumes;
  int64_t* voxels;
  int64_t* boxes;       // (rows, 3, 2)
  int64_t* index_sums;  // (rows, 3)
};

// One of the tensors that are summed up, a row each.
struct TableChannel {
  FloatArray values;
  ExactSum* sums;
  int64_t* minima;  // ranks of exact_sums.h
};

struct StartTable {
  TableColumns table;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t row) const {
    table.voxels[row] = 0;
    for (int axis = 0; axis < 3; ++axis) {
      table.boxes[(row * 3 + axis) * 2] = std::numeric_limits<int64_t>::max();
      table.boxes[(row * 3 + axis) * 2 + 1] = 0;
      table.index_sums[row * 3 + axis] = 0;
    }
  }
};

struct StartChannel {
  ExactSum* sums;
  int64_t* minima;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t row) const {
    sums[row] = ExactSum{};
    minima[row] = std::numeric_limits<int64_t>::max();
  }
};

// The row of a run of a bundle, and whether it is the component's first.
struct TableRow {
  int64_t row;
  bool is_root;
};

template <int connectivity, typename Id>
BREAKEVEN_HOST_DEVICE TableRow row_of_run(
    const BundleGrid<connectivity>& bundles,
    const Forest<Id>& forest,
    const BundlePlace& at,
    const Bundle<connectivity>& part,
    uint32_t run) {
  const int64_t slot = bundles.slot(at, part, run).index;
  const auto root = static_cast<int64_t>(forest.parents[at.volume * forest.grid.voxels_per_volume() + slot]);
  return {static_cast<int64_t>(forest.rank(at.volume, root)), root == slot};
}

// The sum of the indices of set bits.
BREAKEVEN_HOST_DEVICE int64_t sum_of_places(uint32_t word) {
  return num_bits(word & 0xAAAAAAAAu) + 2 * num_bits(word & 0xCCCCCCCCu) + 4 * num_bits(word & 0xF0F0F0F0u) +
      8 * num_bits(word & 0xFF00FF00u) + 16 * num_bits(word & 0xFFFF0000u);
}

template <int connectivity, typename Id>
struct MeasureRuns {
  using Part = Bundle<connectivity>;

  BundleGrid<connectivity> bundles;
  Forest<Id> forest;
  TableColumns table;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BundlePlace at = bundles.place(index);
    const Part part = bundles.load(at);
    for (uint32_t starts = run_starts(part.any()); starts != 0; starts &= starts - 1) {
      const uint32_t run = part.run_of(lowest_bit(starts));
      const TableRow found = row_of_run(bundles, forest, at, part, run);
      if (found.is_root) {
        table.volumes[found.row] = at.volume;
      }
      measure(at, part, run, found.row);
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE void measure(const BundlePlace& at, const Part& part, uint32_t run, int64_t row) const {
    int64_t voxels = 0;
    int64_t sums[3] = {0, 0, 0};
    for (int line = 0; line < Part::kRows; ++line) {
      const uint32_t set = part.rows[line] & run;
      if (set == 0) {
        continue;
      }
      const int64_t count = num_bits(set);
      const int64_t z = at.z * Part::kDepth + line / Part::kHeight;
      const int64_t y = at.y * Part::kHeight + line % Part::kHeight;
      voxels += count;
      sums[0] += count * z;
      sums[1] += count * y;
      sums[2] += count * at.word * kWordBits + sum_of_places(set);
      widen(row, 0, z, z + 1);
      widen(row, 1, y, y + 1);
    }
    const int64_t first = at.word * kWordBits;
    widen(row, 2, first + lowest_bit(run), first + highest_bit(run) + 1);
    atomic_add(table.voxels + row, voxels);
    for (int axis = 0; axis < 3; ++axis) {
      atomic_add(table.index_sums + row * 3 + axis, sums[axis]);
    }
  }

  BREAKEVEN_HOST_DEVICE void widen(int64_t row, int axis, int64_t begin, int64_t end) const {
    int64_t* const box = table.boxes + (row * 3 + axis) * 2;
    atomic_lower(box, begin);
    atomic_raise(box + 1, end);
  }
};

// The terms of a sum are the sums of its runs in a bundle, added in raster order.
template <int connectivity, typename Id>
struct SumRuns {
  using Part = Bundle<connectivity>;

  BundleGrid<connectivity> bundles;
  Forest<Id> forest;
  TableChannel channel;
  bool is_first_pass;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BundlePlace at = bundles.place(index);
    const Part part = bundles.load(at);
    for (uint32_t starts = run_starts(part.any()); starts != 0; starts &= starts - 1) {
      const uint32_t run = part.run_of(lowest_bit(starts));
      const int64_t row = row_of_run(bundles, forest, at, part, run).row;
      sum_up(at, part, run, row);
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE void sum_up(const BundlePlace& at, const Part& part, uint32_t run, int64_t row) const {
    double term = 0;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (int line = 0; line < Part::kRows; ++line) {
      const int64_t first = at.volume * bundles.grid.voxels_per_volume() + bundles.first_voxel(at, line);
      for (uint32_t set = part.rows[line] & run; set != 0; set &= set - 1) {
        const double value = channel.values[first + lowest_bit(set)];
        const int64_t rank = rank_of(value);
        term += value;
        lowest = rank < lowest ? rank : lowest;
      }
    }
    if (is_first_pass) {
      note_term(channel.sums + row, term);
      atomic_lower(channel.minima + row, lowest);
    } else {
      add_term(channel.sums + row, term);
    }
  }
};

// What the operator returns: the last `dims` axes, means in place of sums.
struct FinishTable {
  TableColumns table;
  int64_t dims;
  int64_t* boxes;     // (rows, dims, 2)
  double* centroids;  // (rows, dims)

  BREAKEVEN_HOST_DEVICE void operator()(int64_t row) const {
    const auto voxels = static_cast<double>(table.voxels[row]);
    for (int64_t dim = 0; dim < dims; ++dim) {
      const int64_t from = row * 3 + 3 - dims + dim;
      const int64_t to = row * dims + dim;
      boxes[to * 2] = table.boxes[from * 2];
      boxes[to * 2 + 1] = table.boxes[from * 2 + 1];
      centroids[to] = static_cast<double>(table.index_sums[from]) / voxels;
    }
  }
};

struct FinishChannel {
  const ExactSum* from_sums;
  const int64_t* from_minima;
  int64_t channel;
  int64_t num_channels;
  double* sums;    // (rows, channels)
  double* minima;  // (rows, channels)

  BREAKEVEN_HOST_DEVICE void operator()(int64_t row) const {
    sums[row * num_channels + channel] = value_of(from_sums[row]);
    minima[row * num_channels + channel] = from_rank(from_minima[row]);
  }
};

template <int connectivity, typename Id, typename Launcher>
void measure_components(
    const Launcher& launch,
    const Forest<Id>& forest,
    const TableColumns& table,
    int64_t rows,
    int64_t dims,
    int64_t* boxes,
    double* centroids) {
  const BundleGrid<connectivity> bundles{forest.grid, forest.words};
  launch.flat(StartTable{table}, rows);
  launch.flat(MeasureRuns<connectivity, Id>{bundles, forest, table}, bundles.num_parts());
  launch.flat(FinishTable{table, dims, boxes, centroids}, rows);
}

template <int connectivity, typename Id, typename Launcher>
void measure_channel(
    const Launcher& launch, const Forest<Id>& forest, const TableChannel& channel, int64_t rows) {
  const BundleGrid<connectivity> bundles{forest.grid, forest.words};
  launch.flat(StartChannel{channel.sums, channel.minima}, rows);
  launch.flat(SumRuns<connectivity, Id>{bundles, forest, channel, true}, bundles.num_parts());
  launch.flat(SumRuns<connectivity, Id>{bundles, forest, channel, false}, bundles.num_parts());
}

}  // namespace breakeven
