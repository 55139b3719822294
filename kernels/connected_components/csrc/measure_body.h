// Measure the components of a slab run by run; included once a level, in a namespace that has `add_values`.
//
// The order of additions depends on the slab alone: by layer, bundle, word, run and value; within these, eight
// partial sums by column, over the rows of the bundle, in a tree.

inline int64_t sum_of_places(uint64_t bits) {
  return int64_t{__builtin_popcountll(bits & 0xAAAAAAAAAAAAAAAAu)} + 2 * int64_t{__builtin_popcountll(bits & 0xCCCCCCCCCCCCCCCCu)} +
      4 * int64_t{__builtin_popcountll(bits & 0xF0F0F0F0F0F0F0F0u)} +
      8 * int64_t{__builtin_popcountll(bits & 0xFF00FF00FF00FF00u)} +
      16 * int64_t{__builtin_popcountll(bits & 0xFFFF0000FFFF0000u)} +
      32 * int64_t{__builtin_popcountll(bits & 0xFFFFFFFF00000000u)};
}

inline void widen_range(int64_t* range, int64_t first, int64_t end) {
  range[0] = first < range[0] ? first : range[0];
  range[1] = end > range[1] ? end : range[1];
}

inline double tree_sum(const double* sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

inline double least_of(const double* minima) {
  double least = minima[0];
  for (int i = 1; i < 8; ++i) {
    least = minima[i] < least ? minima[i] : least;
  }
  return least;
}

// Rows of a bundle, in raster order.
struct MeasuredRows {
  int count;
  const uint64_t* bits[4];
  int64_t slice[4];
  int64_t y[4];
  int64_t first_voxel[4];  // In the slab.
};

// The columns `part` of a word, all of one run.
inline void measure_part(
    const MeasuredRows& rows, int64_t word, uint64_t part, int64_t component, const Values& values, const Measures& into) {
  uint64_t any = 0;
  int64_t* const box = into.boxes + 6 * component;
  int64_t* const index_sums = into.index_sums + 3 * component;
  for (int row = 0; row < rows.count; ++row) {
    const uint64_t bits = rows.bits[row][word] & part;
    if (bits == 0) {
      continue;
    }
    any |= bits;
    const int64_t count = __builtin_popcountll(bits);
    into.voxels[component] += count;
    index_sums[0] += count * rows.slice[row];
    index_sums[1] += count * rows.y[row];
    index_sums[2] += count * 64 * word + sum_of_places(bits);
    widen_range(box, rows.slice[row], rows.slice[row] + 1);
    widen_range(box + 2, rows.y[row], rows.y[row] + 1);
  }
  widen_range(box + 4, 64 * word + __builtin_ctzll(any), 64 * word + 64 - __builtin_clzll(any));
  for (int64_t value = 0; value < values.count; ++value) {
    double sums[8] = {};
    double minima[8];
    for (double& minimum : minima) {
      minimum = __builtin_inf();
    }
    bool has_nan = false;
    for (int row = 0; row < rows.count; ++row) {
      const uint64_t bits = rows.bits[row][word] & part;
      if (bits == 0) {
        continue;
      }
      const int64_t first = rows.first_voxel[row] + 64 * word;
      has_nan |= values.is_double[value]
          ? add_values(static_cast<const double*>(values.data[value]) + first, bits, sums, minima)
          : add_values(static_cast<const float*>(values.data[value]) + first, bits, sums, minima);
    }
    const int64_t at = component * values.count + value;
    into.sums[at] += tree_sum(sums);
    const double least = least_of(minima);
    into.minima[at] = least < into.minima[at] ? least : into.minima[at];
    into.has_nan[at] |= has_nan;
  }
}

void measure_slab(
    const Grid& grid,
    const Slab& slab,
    uint32_t num_native,
    int64_t first_slice,
    int64_t first_y,
    const Values& values,
    const Measures& measures) {
  const int64_t words = grid.words();
  const int64_t bundles = slab.bundles_a_layer(grid);
  for (int64_t index = 0; index < slab.layers(grid); ++index) {
    const Layer layer = layer_of(grid, slab, index, nullptr, nullptr, nullptr);
    for (int64_t bundle = 0; bundle < bundles; ++bundle) {
      const uint32_t* run = slab.parents + layer.first_run[bundle];
      if (layer.first_run[bundle] == layer.first_run[bundle + 1]) {
        continue;
      }
      MeasuredRows rows{};
      for (int64_t slice = 0; slice < layer.slices; ++slice) {
        const int64_t y_begin = bundle * grid.bundle_height();
        for (int64_t y = y_begin; y < y_begin + grid.bundle_height() && y < slab.height; ++y, ++rows.count) {
          const int64_t slab_slice = index * grid.bundle_depth() + slice;
          rows.bits[rows.count] = layer.row(slice, y, words);
          rows.slice[rows.count] = first_slice + slab_slice;
          rows.y[rows.count] = first_y + y;
          rows.first_voxel[rows.count] = (slab_slice * slab.height + y) * grid.width;
        }
      }
      uint64_t last = 0;
      for (int64_t word = 0; word < words; ++word) {
        uint64_t any = 0;
        for (int row = 0; row < rows.count; ++row) {
          any |= rows.bits[row][word];
        }
        uint64_t starts = any & ~(any << 1 | last);
        last = any >> 63;
        // `run` is one past the run of the columns before the next start.
        for (uint64_t rest = any; rest != 0;) {
          const uint64_t lowest = rest & -rest;
          if (starts & lowest) {
            ++run;
            starts ^= lowest;
          }
          const uint64_t next_start = starts & -starts;
          const uint64_t part = rest & (next_start - 1);
          rest ^= part;
          const uint32_t number = run[-1];
          const int64_t component =
              number <= num_native ? int64_t{number} - 1 : int64_t{num_native} + static_cast<uint32_t>(~number);
          measure_part(rows, word, part, component, values, measures);
        }
      }
    }
  }
}
