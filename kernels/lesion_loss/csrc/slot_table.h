// Sums by slot while a block is read, and the short list that a block leaves behind.

#pragma once

#include "coefficients.h"

#include <cstdint>
#include <vector>

namespace breakeven {

struct LabelledSums {
  int32_t slot;
  SlotSums sums;
};

// Grows to the largest slot seen; kept between blocks, empty.
class SlotTable {
 public:
  // Voxels without a slot, < 0, are dropped.
  void add(int32_t slot, const SlotSums& sums) {
    if (slot < 0 || (sums.num_voxels == 0 && sums.num_lesion_voxels == 0)) {
      return;
    }
    if (slot >= static_cast<int64_t>(sums_.size())) {
      sums_.resize(slot + 1);
    }
    SlotSums& known = sums_[slot];
    if (known.num_voxels == 0 && known.num_lesion_voxels == 0) {
      touched_.push_back(slot);
    }
    known.add(sums);
  }

  // Appends what was added since the last call.
  void take(std::vector<LabelledSums>& to) {
    to.reserve(to.size() + touched_.size());
    for (const int32_t slot : touched_) {
      to.push_back({slot, sums_[slot]});
      sums_[slot] = SlotSums{};
    }
    touched_.clear();
  }

 private:
  std::vector<SlotSums> sums_;
  std::vector<int32_t> touched_;
};

// Voxels of one slot in a row, added up before the table is touched.
struct Run {
  int32_t slot = -1;
  SlotSums sums;

  void enter(int32_t next, SlotTable& table) {
    if (next != slot) {
      leave(table);
      slot = next;
    }
  }
  void leave(SlotTable& table) {
    table.add(slot, sums);
    sums = SlotSums{};
  }
};

}  // namespace breakeven
