// From the nearest lesion voxel of each voxel to the number of its lesion: a look-up, in parallel.

#include "regions.h"

#include "cpu.h"

#include <torch/csrc/stable/ops.h>

#include <atomic>

namespace breakeven {
namespace {

// False where a place or a label is out of range.
template <typename Label>
bool look_up(
    const Label* label, int64_t num_labels, const int64_t* nearest, int64_t num, int16_t* regions) {
  bool is_good = true;
  for (int64_t i = 0; i < num; ++i) {
    const int64_t place = nearest[i];
    if (place < 0) {
      regions[i] = 0;
      continue;
    }
    const int64_t found = place < num_labels ? static_cast<int64_t>(label[place]) : -1;
    is_good &= 0 <= found && found <= kMaxLabel;
    regions[i] = static_cast<int16_t>(found);
  }
  return is_good;
}

template <typename Label>
bool look_up_blocks(
    const Label* label, const int64_t* nearest, const BlockPartition& blocks, int16_t* regions) {
  std::atomic<bool> is_good{true};
  torch::stable::parallel_for(
      0, blocks.num_blocks(), kBlocksPerTask, [&](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
          const int64_t num_voxels = blocks.shape.num_voxels;
          const int64_t begin = blocks.begin(block);
          const Label* const sample = label + blocks.sample(block) * num_voxels;
          if (!look_up(sample, num_voxels, nearest + begin, blocks.size(block), regions + begin)) {
            is_good = false;
          }
        }
      });
  return is_good;
}

}  // namespace

void write_regions(const Array& target, const int64_t* nearest, const LossShape& shape, int16_t* regions) {
  using torch::headeronly::ScalarType;
  const BlockPartition blocks(shape);
  const bool is_good = target.type == ScalarType::Int
      ? look_up_blocks(static_cast<const int32_t*>(target.data), nearest, blocks, regions)
      : target.type == ScalarType::Long
      ? look_up_blocks(static_cast<const int64_t*>(target.data), nearest, blocks, regions)
      : look_up_blocks(static_cast<const uint8_t*>(target.data), nearest, blocks, regions);
  if (!is_good) {
    report_bad_slot("target", target, shape);
  }
}

}  // namespace breakeven
