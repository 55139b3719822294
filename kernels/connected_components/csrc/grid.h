// A volume as the CPU kernels see it: rows of one bit a voxel, bundles of rows, slabs of layers.
//
// Rows lie along the last axis, 64 voxels a word, the first voxel in the lowest bit. A bundle is a group of
// rows in which two voxels of equal or adjacent columns are always neighbours, so that a run of columns in
// which any row has foreground is connected by construction. Bundles of equal depth form a layer. A slab is a
// range of layers (of an image: of bundles) that one thread works on.
#pragma once

#include <cstdint>

namespace breakeven::labelling {

// Rows of a bundle along depth and height.
enum class Bundling {
  single,  // 1 x 1: faces alone connect (4 and 6 neighbours, lines)
  pair,    // 1 x 2: 8 and 18 neighbours
  quad,    // 2 x 2: 26 neighbours
};

struct Grid {
  int64_t depth;
  int64_t height;
  int64_t width;
  Bundling bundling;

  int64_t bundle_depth() const {
    return bundling == Bundling::quad ? 2 : 1;
  }
  int64_t bundle_height() const {
    return bundling == Bundling::single ? 1 : 2;
  }
  int64_t words() const {
    return (width + 63) / 64;
  }
  int64_t max_runs_a_bundle() const {
    return (width + 1) / 2;
  }
};

// Consecutive rows of the volume: depth x height of them, whole layers (of an image: whole bundles).
struct Slab {
  int64_t first_row;
  int64_t depth;
  int64_t height;
  const uint64_t* bits;      // depth x height x words
  const uint64_t* zero_row;  // one row without foreground, for the bundle that has fewer rows than others
  // By bundle the number of runs before it, and one past the last.
  uint32_t* first_run;
  // By run its parent, at last its component. Grows with the runs; see write_body.h on where it lies.
  uint32_t* parents;
  uint32_t base;  // Number of run 0 among the runs of all slabs.
  uint32_t num_runs;

  int64_t layers(const Grid& grid) const {
    return (depth + grid.bundle_depth() - 1) / grid.bundle_depth();
  }
  int64_t bundles_a_layer(const Grid& grid) const {
    return (height + grid.bundle_height() - 1) / grid.bundle_height();
  }
  int64_t bundles(const Grid& grid) const {
    return layers(grid) * bundles_a_layer(grid);
  }
};

// Rows of one layer and, bundle by bundle and word by word, what the search for neighbours reads.
struct Layer {
  const uint64_t* bits;  // slices x height x words
  int64_t slices;        // 1 or 2
  int64_t height;
  const uint64_t* zero_row;
  const uint32_t* first_run;  // By bundle, and one past the last.
  uint64_t* any;              // Columns in which any row of the bundle has foreground; one row: the row itself.
  uint64_t* starts;           // Columns at which a run starts.
  uint32_t* before;           // Number of the first run that starts in this word or a later one.

  const uint64_t* row(int64_t slice, int64_t y, int64_t words) const {
    return slice < slices && y < height ? bits + (slice * height + y) * words : zero_row;
  }
};

inline Layer layer_of(const Grid& grid, const Slab& slab, int64_t layer, uint64_t* any, uint64_t* starts, uint32_t* before) {
  const int64_t first_slice = layer * grid.bundle_depth();
  const int64_t slices = slab.depth - first_slice < grid.bundle_depth() ? slab.depth - first_slice : grid.bundle_depth();
  const uint64_t* const bits = slab.bits + first_slice * slab.height * grid.words();
  return {
      bits,
      slices,
      slab.height,
      slab.zero_row,
      slab.first_run + layer * slab.bundles_a_layer(grid),
      grid.bundling == Bundling::single ? const_cast<uint64_t*>(bits) : any,
      starts,
      before};
}

}  // namespace breakeven::labelling
