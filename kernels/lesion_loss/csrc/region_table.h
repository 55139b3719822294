// Sums by region while a block is read: vectors of lanes, added up when the block is done.

#pragma once

#include "chunk.h"
#include "slot_table.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace breakeven {

// In a tree: a chain would wait for each addition.
inline double sum_lanes(const double* lanes) {
  double sums[kLanes / 2];
  for (int64_t lane = 0; lane < kLanes / 2; ++lane) {
    sums[lane] = lanes[lane] + lanes[lane + kLanes / 2];
  }
  for (int64_t half = kLanes / 4; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) {
      sums[lane] += sums[lane + half];
    }
  }
  return sums[0];
}

// Grows with the slots seen, by 320 bytes for each; kept between blocks, empty.
class RegionTable {
 public:
  // The lanes of slot 0, with those of each slot that begins a run, and of kNoSlot before them. `bits` is
  // the OR of all slots.
  RegionLanes* reach(uint64_t bits, const int32_t* slot, const int16_t* begins, int64_t num_runs) {
    const std::size_t size = std::bit_ceil(bits + 1) + 1;
    if (size > lanes_.size()) {
      lanes_.resize(size);
      is_touched_.resize(size, false);
    }
    for (int64_t run = 0; run < num_runs; ++run) {
      const int32_t here = slot[begins[run]];
      if (here >= 0 && !is_touched_[here]) {
        is_touched_[here] = true;
        touched_.push_back(here);
      }
    }
    return lanes_.data() + 1;
  }

  // Appends what was added since the last call.
  void take(std::vector<LabelledSums>& to) {
    to.reserve(to.size() + touched_.size());
    for (const int32_t slot : touched_) {
      RegionLanes& lanes = lanes_[slot + 1];
      to.push_back(
          {slot,
           {sum_lanes(lanes.probability),
            sum_lanes(lanes.cross_entropy),
            lanes.lesion_probability,
            lanes.num_voxels,
            lanes.num_lesion_voxels}});
      lanes = RegionLanes{};
      is_touched_[slot] = false;
    }
    touched_.clear();
  }

 private:
  std::vector<RegionLanes> lanes_;
  std::vector<uint8_t> is_touched_;
  std::vector<int32_t> touched_;
};

}  // namespace breakeven
