// Where the runs of foreground are, for passes that label: bundles of rows, 32 columns at a time.
//
// A bundle is as many rows as are neighbours whatever their columns' difference of one: one row at
// connectivity 1, two of a slice at 2, two by two at 3. The voxels of a run of its rows' OR are therefore
// connected, and a run is one node of the search. It is named by its first voxel in raster order, the
// place of which in the volume is the run's slot: the smallest slot of a component is that of its first
// voxel, whatever the order in which runs were joined.
#pragma once

#include "bit_passes.h"
#include "host_device.h"

#include <cstdint>

namespace breakeven {

template <int connectivity>
constexpr int kBundleDepth = connectivity == 3 ? 2 : 1;
template <int connectivity>
constexpr int kBundleHeight = connectivity >= 2 ? 2 : 1;

// A place within the batch: bundle row (y), bundle slice (z), word along the row.
struct BundlePlace {
  int64_t volume;
  int64_t z;
  int64_t y;
  int64_t word;
};

// 32 columns of a bundle; rows beyond the volume are empty.
template <int connectivity>
struct Bundle {
  static constexpr int kDepth = kBundleDepth<connectivity>;
  static constexpr int kHeight = kBundleHeight<connectivity>;
  static constexpr int kRows = kDepth * kHeight;

  uint32_t rows[kRows];  // in raster order

  BREAKEVEN_HOST_DEVICE uint32_t any() const {
    uint32_t word = rows[0];
    for (int row = 1; row < kRows; ++row) {
      word |= rows[row];
    }
    return word;
  }

  // Columns of the run of `any()` that holds column `bit`.
  BREAKEVEN_HOST_DEVICE uint32_t run_of(int bit) const {
    const uint32_t gaps = ~any();
    const uint32_t below = gaps & bits_below(bit);
    const uint32_t above = gaps & ~bits_below(bit + 1);
    const int begin = below == 0 ? 0 : highest_bit(below) + 1;
    const int end = above == 0 ? kWordBits : lowest_bit(above);
    return bits_below(end) & ~bits_below(begin);
  }
};

// Runs of set bits, by their first bits.
BREAKEVEN_HOST_DEVICE uint32_t run_starts(uint32_t word) {
  return word & ~(word << 1);
}

template <int connectivity>
struct BundleGrid {
  using Part = Bundle<connectivity>;

  BitGrid grid;
  const uint32_t* words;

  BREAKEVEN_HOST_DEVICE int64_t depth() const {
    return (grid.depth + Part::kDepth - 1) / Part::kDepth;
  }
  BREAKEVEN_HOST_DEVICE int64_t height() const {
    return (grid.height + Part::kHeight - 1) / Part::kHeight;
  }
  BREAKEVEN_HOST_DEVICE int64_t num_parts() const {
    return grid.num_volumes * depth() * height() * grid.words_per_row();
  }

  BREAKEVEN_HOST_DEVICE BundlePlace place(int64_t index) const {
    BundlePlace place;
    int64_t rest = quotient(index, grid.words_per_row());
    place.word = index - rest * grid.words_per_row();
    int64_t slices = quotient(rest, height());
    place.y = rest - slices * height();
    place.volume = quotient(slices, depth());
    place.z = slices - place.volume * depth();
    return place;
  }

  BREAKEVEN_HOST_DEVICE bool is_inside(const BundlePlace& at) const {
    return 0 <= at.z && at.z < depth() && 0 <= at.y && at.y < height() && 0 <= at.word &&
        at.word < grid.words_per_row();
  }

  BREAKEVEN_HOST_DEVICE bool has_row(const BundlePlace& at, int row) const {
    return at.z * Part::kDepth + row / Part::kHeight < grid.depth &&
        at.y * Part::kHeight + row % Part::kHeight < grid.height;
  }

  // Index within the volume of a row of the bundle.
  BREAKEVEN_HOST_DEVICE int64_t row_index(const BundlePlace& at, int row) const {
    return (at.z * Part::kDepth + row / Part::kHeight) * grid.height + at.y * Part::kHeight + row % Part::kHeight;
  }

  // Index of a row's word among the words of the volume.
  BREAKEVEN_HOST_DEVICE int64_t word_index(const BundlePlace& at, int row) const {
    return row_index(at, row) * grid.words_per_row() + at.word;
  }

  // Index within the volume of the first of the row's 32 columns.
  BREAKEVEN_HOST_DEVICE int64_t first_voxel(const BundlePlace& at, int row) const {
    return row_index(at, row) * grid.width + at.word * kWordBits;
  }

  BREAKEVEN_HOST_DEVICE Part load(const BundlePlace& at) const {
    const uint32_t* const volume = words + at.volume * grid.words_per_volume();
    Part part;
    for (int row = 0; row < Part::kRows; ++row) {
      part.rows[row] = has_row(at, row) ? volume[word_index(at, row)] : 0;
    }
    return part;
  }

  // The slot of a run, given by its columns, and the row that it is in.
  struct Slot {
    int64_t index;
    int row;
    int bit;
  };

  BREAKEVEN_HOST_DEVICE Slot slot(const BundlePlace& at, const Part& part, uint32_t run) const {
    // Rows are looked at by constant numbers, so that they stay in registers.
    int first_row = 0;
    uint32_t set = 0;
    for (int row = Part::kRows - 1; row >= 0; --row) {
      if ((part.rows[row] & run) != 0) {
        first_row = row;
        set = part.rows[row] & run;
      }
    }
    const int bit = lowest_bit(set);
    return {first_voxel(at, first_row) + bit, first_row, bit};
  }
};

}  // namespace breakeven
