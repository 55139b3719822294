// From the sums over each slot of a sample to its loss and the coefficients of its gradient.
//
// Plain arithmetic on the host, a few operations for each lesion; lesion_loss.h says what the
// coefficients mean, reference.py what the loss is.

#pragma once

#include "lesion_loss.h"

#include <cstdint>

namespace breakeven {

// What the counted voxels of one slot, or those of them in one block, add up to.
struct SlotSums {
  double probability = 0;
  double cross_entropy = 0;     // cc_dice_ce only
  double lesion_probability = 0;  // cc_dice_ce only
  int64_t num_voxels = 0;       // not of blob's background
  int64_t num_lesion_voxels = 0;  // cc_dice_ce only

  void add(const SlotSums& other) {
    probability += other.probability;
    cross_entropy += other.cross_entropy;
    lesion_probability += other.lesion_probability;
    num_voxels += other.num_voxels;
    num_lesion_voxels += other.num_lesion_voxels;
  }
};

// S / (1 + S) where there is no lesion: a false positive is never free.
inline double empty_cost(double probability) {
  return probability / (1 + probability);
}

inline double empty_slope(double probability) {
  return 1 / ((1 + probability) * (1 + probability));
}

// Number of slots from 1 that have voxels.
inline int64_t count_present(const SlotSums* slots, int64_t num_slots) {
  int64_t num = 0;
  for (int64_t slot = 1; slot < num_slots; ++slot) {
    num += slots[slot].num_voxels > 0;
  }
  return num;
}

// Cost of one sample; `table` (1, kTableWidth), zero on entry, receives `weight` times its derivative.
inline double finish_blob(const SlotSums* slots, int64_t num_slots, double weight, double* table) {
  const double background = slots[0].probability;
  const int64_t num_lesions = count_present(slots, num_slots);
  if (num_lesions == 0) {
    table[0] = weight * empty_slope(background);
    return empty_cost(background);
  }
  const double share = weight / static_cast<double>(num_lesions);
  double cost = 0;
  for (int64_t label = 1; label < num_slots; ++label) {
    const SlotSums& lesion = slots[label];
    if (lesion.num_voxels == 0) {
      continue;
    }
    const double size = static_cast<double>(lesion.num_voxels);
    const double all = lesion.probability + background + size;
    cost += (background + size - lesion.probability) / all;
    table[label] = share * -2 * (background + size) / (all * all);
    table[0] += share * 2 * lesion.probability / (all * all);
  }
  return cost / static_cast<double>(num_lesions);
}

// Cost of one region that has voxels; `table` (3, kTableWidth) receives its column `slot`.
inline double finish_region(const SlotSums& region, double share, int64_t slot, double* table) {
  const double num_voxels = static_cast<double>(region.num_voxels);
  table[2 * kTableWidth + slot] = share / num_voxels;
  const double cross_entropy = region.cross_entropy / num_voxels;
  if (region.num_lesion_voxels == 0) {
    table[slot] = share * empty_slope(region.probability);
    return empty_cost(region.probability) + cross_entropy;
  }
  const double size = static_cast<double>(region.num_lesion_voxels);
  const double all = region.probability + size;
  const double inside = region.lesion_probability;
  table[slot] = share * 2 * inside / (all * all);
  table[kTableWidth + slot] = share * -2 * (all - inside) / (all * all);
  return (all - 2 * inside) / all + cross_entropy;
}

// Cost of one sample; `table` (3, kTableWidth), zero on entry, receives `weight` times its derivative.
inline double finish_cc_dice_ce(const SlotSums* slots, int64_t num_slots, double weight, double* table) {
  const int64_t num_regions = count_present(slots, num_slots);
  if (num_regions == 0) {
    return slots[0].num_voxels == 0 ? 0 : finish_region(slots[0], weight, 0, table);
  }
  const double share = weight / static_cast<double>(num_regions);
  double cost = 0;
  for (int64_t slot = 1; slot < num_slots; ++slot) {
    if (slots[slot].num_voxels > 0) {
      cost += finish_region(slots[slot], share, slot, table);
    }
  }
  return cost / static_cast<double>(num_regions);
}

// Cost of one sample of `num_slots` >= 1 slots; absent ones are all zero.
inline double finish_sample(
    LossKind kind, const SlotSums* slots, int64_t num_slots, double weight, double* table) {
  return kind == LossKind::blob ? finish_blob(slots, num_slots, weight, table)
                                : finish_cc_dice_ce(slots, num_slots, weight, table);
}

}  // namespace breakeven
