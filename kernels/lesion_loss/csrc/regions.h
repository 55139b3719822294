// From the nearest lesion voxel of each voxel to the number of its lesion.

#pragma once

#include "blocks.h"

namespace breakeven {

// Writes 0 where `nearest` (int64, a place within the sample) is negative, as in a sample without lesions.
// Throws where a place or a label is out of range.
void write_regions(const Array& target, const int64_t* nearest, const LossShape& shape, int16_t* regions);

}  // namespace breakeven
