// Number the components that begin in a slab, in raster order of their first voxels.
#pragma once

#include "grid.h"

#include <cstdint>
#include <vector>

namespace breakeven::labelling {

struct SlabNumbers {
  uint32_t num_native = 0;        // Components that begin in the slab.
  std::vector<uint32_t> foreign;  // First run, among those of all slabs, of each that begins in an earlier one.
};

// Replace the parents of a slab's runs by numbers: 1 to num_native for components that begin here, and ~0, ~1,
// ... for the foreign ones. On entry parents are as `join_slab` leaves them, and those that the merging of slabs
// gave another parent point to the first run of their component.
SlabNumbers number_slab(const Grid& grid, const Slab& slab);

}  // namespace breakeven::labelling
