// Write the labels of a slab; included once a level, in a namespace that has the functions below.
//
//   compose<kRows, kPassing>(...): labels of a bundle's rows, whole chunks of 16 columns, to aligned memory
//   copy_row(...), fill_zero(...): to any address, past the caches where asked
//
// The parents of a slab's runs may lie in the memory of its labels, from the first byte on. So bundles are
// written from the last to the first: the runs up to a bundle take no more room than the rows before it, and
// those of the bundle itself are looked up before a row is written.

typedef int64_t __attribute__((may_alias)) WideLabel;

inline void widen_row(WideLabel* target, const int32_t* labels, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    target[x] = static_cast<uint32_t>(labels[x]);
  }
}

template <int kRows>
inline void compose_rows(
    const uint64_t* const* rows, const int32_t* labels, int64_t width, int32_t* const* targets, bool passes_caches) {
  if (passes_caches) {
    compose<kRows, true>(rows, labels, width, targets);
  } else {
    compose<kRows, false>(rows, labels, width, targets);
  }
}

void write_slab(
    const Grid& grid, const Slab& slab, const Numbering& numbering, const Labels& labels, int32_t* buffer) {
  const int64_t words = grid.words();
  const int64_t width = grid.width;
  const int64_t bundles = slab.bundles_a_layer(grid);
  const int64_t label_bytes = labels.is_wide ? 8 : 4;
  auto* const base = static_cast<uint8_t*>(labels.data);
  const bool is_direct = !labels.is_wide && width % 16 == 0 && reinterpret_cast<uintptr_t>(base) % 64 == 0;
  int32_t* const row_buffer = buffer;
  // Label 0 stands for the columns before the first run; chunks are looked up 16 at a time.
  int32_t* const run_labels = buffer + 4 * 64 * words;
  run_labels[0] = 0;
  for (int64_t index = slab.layers(grid) - 1; index >= 0; --index) {
    const Layer layer = layer_of(grid, slab, index, nullptr, nullptr, nullptr);
    for (int64_t bundle = bundles - 1; bundle >= 0; --bundle) {
      const uint32_t first = layer.first_run[bundle];
      const uint32_t count = layer.first_run[bundle + 1] - first;
      for (uint32_t run = 0; run < count; ++run) {
        run_labels[1 + run] = static_cast<int32_t>(numbering.label(slab.parents[first + run]));
      }
      // The rows of a bundle, in raster order.
      const uint64_t* rows[4];
      uint8_t* places[4];
      int num_rows = 0;
      for (int64_t slice = 0; slice < layer.slices; ++slice) {
        const int64_t y_begin = bundle * grid.bundle_height();
        const int64_t y_end = y_begin + grid.bundle_height() < slab.height ? y_begin + grid.bundle_height() : slab.height;
        for (int64_t y = y_begin; y < y_end; ++y, ++num_rows) {
          rows[num_rows] = layer.row(slice, y, words);
          const int64_t row = (index * grid.bundle_depth() + slice) * slab.height + y;
          places[num_rows] = base + row * width * label_bytes;
        }
      }
      if (count == 0) {
        for (int row = 0; row < num_rows; ++row) {
          fill_zero(places[row], width * label_bytes, labels.passes_caches);
        }
        continue;
      }
      int32_t* targets[4];
      for (int row = 0; row < num_rows; ++row) {
        targets[row] = is_direct ? reinterpret_cast<int32_t*>(places[row]) : row_buffer + row * 64 * words;
      }
      const bool passes = is_direct && labels.passes_caches;
      if (num_rows == 1) {
        compose_rows<1>(rows, run_labels, width, targets, passes);
      } else if (num_rows == 2) {
        compose_rows<2>(rows, run_labels, width, targets, passes);
      } else {
        compose_rows<4>(rows, run_labels, width, targets, passes);
      }
      if (is_direct) {
        continue;
      }
      for (int row = 0; row < num_rows; ++row) {
        if (labels.is_wide) {
          widen_row(reinterpret_cast<WideLabel*>(places[row]), targets[row], width);
        } else {
          copy_row(reinterpret_cast<int32_t*>(places[row]), targets[row], width, labels.passes_caches);
        }
      }
    }
  }
  finish_stores();
}
