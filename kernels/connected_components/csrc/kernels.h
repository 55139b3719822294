// The inner loops, one set for each instruction set.
#pragma once

#include "grid.h"
#include "mask_view.h"

#include <cstdint>

namespace breakeven::labelling {

// Room for two layers, the current one and the one above: bundles x words each.
struct LayerBuffers {
  uint64_t* any[2];
  uint64_t* starts[2];
  uint32_t* before[2];
};

// What a component number stands for, once those of all slabs are known.
struct Numbering {
  uint32_t num_native;             // Numbers up to this one count the components that begin in the slab.
  uint32_t offset;                 // How many begin in the slabs before it.
  const uint32_t* foreign_labels;  // By ~number: the label of a component that begins in an earlier slab.

  uint32_t label(uint32_t number) const {
    return number <= num_native ? offset + number : foreign_labels[~number];
  }
};

struct Labels {
  void* data;    // First label of the slab; its parents may lie here too, from the same byte on.
  bool is_wide;  // int64, otherwise int32.
  bool passes_caches;
};

// Where the measures of a slab's components go, by component: those that begin in it, then foreign ones.
struct Measures {
  int64_t* voxels;
  int64_t* boxes;       // x 6: first and one past the last of depth, height and width.
  int64_t* index_sums;  // x 3
  double* sums;         // x values
  double* minima;       // x values
  uint8_t* has_nan;     // x values
};

struct Values {
  const void* const* data;  // By value its first element of the slab.
  const uint8_t* is_double;
  int64_t count;
};

struct Kernels {
  void (*pack_slab)(const MaskView& mask, int64_t depth, int64_t height, int64_t width, uint64_t* bits);
  uint32_t (*join_slab)(const Grid& grid, Slab& slab, const LayerBuffers& buffers);
  void (*write_slab)(
      const Grid& grid, const Slab& slab, const Numbering& numbering, const Labels& labels, int32_t* buffer);
  void (*measure_slab)(
      const Grid& grid,
      const Slab& slab,
      uint32_t num_native,
      int64_t first_slice,
      int64_t first_height,
      const Values& values,
      const Measures& measures);
};

// int32 elements that `write_slab` needs as its buffer.
inline int64_t write_buffer_size(const Grid& grid) {
  return 4 * 64 * grid.words() + grid.max_runs_a_bundle() + 32;
}

// clang knows the pragma that a level's source opens with under another name.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BREAKEVEN_HAS_WIDE_LEVELS
#endif

const Kernels& portable_kernels();
#ifdef BREAKEVEN_HAS_WIDE_LEVELS
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#endif

}  // namespace breakeven::labelling
