// Lesion-wise losses on a GPU: sums over slots, their cost and coefficients, the gradient.
//
//   add      blocks of voxels: what has the block's own slot is added up by a fixed tree, all else by runs
//   finish   a block for each sample: from sums to cost and coefficients, by fixed trees
//   total    the loss, sample by sample
//   write    the gradient, from logits and coefficients alone
//
// lesion_loss.h says what slots and coefficients are, reference.py what the loss is. Partial sums are in
// double and go to the totals as integers (wide_sums.h): their order, which a GPU leaves open, does not
// matter, and the result is the same at every run.
#pragma once

#include "element_types.h"
#include "host_device.h"
#include "wide_sums.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace breakeven {

// Float32 arithmetic for all logits but float64 ones.
template <typename Element>
using RealOfElement = std::conditional_t<std::is_same_v<Element, double>, double, float>;

// Integers of 1, 2, 4 or 8 bytes: uint8 or bool, int16, int32, int64.
struct IntegerArray {
  const void* data;
  int bytes;

  BREAKEVEN_HOST_DEVICE int64_t operator[](int64_t place) const {
    switch (bytes) {
      case 1:
        return static_cast<const uint8_t*>(data)[place];
      case 2:
        return static_cast<const int16_t*>(data)[place];
      case 4:
        return static_cast<const int32_t*>(data)[place];
      default:
        return static_cast<const int64_t*>(data)[place];
    }
  }
};

// float32 or float64; `Real` numbers of 1 where data is null.
struct RealArray {
  const void* data;
  bool is_double;

  BREAKEVEN_HOST_DEVICE double operator[](int64_t place) const {
    return data == nullptr ? 1.0
        : is_double        ? static_cast<const double*>(data)[place]
                           : static_cast<double>(static_cast<const float*>(data)[place]);
  }
};

// As torch's own CUDA operators do with an index out of range: say it and stop the device, since the host
// does not wait to be asked.
BREAKEVEN_HOST_DEVICE void refuse_slot(int64_t slot, int64_t most) {
  constexpr const char* kMessage = "lesion_loss: labels and regions must be 0 (background) to %lld, got %lld\n";
#if defined(__CUDA_ARCH__)
  printf(kMessage, static_cast<long long>(most), static_cast<long long>(slot));
  __trap();
#else
  std::fprintf(stderr, kMessage, static_cast<long long>(most), static_cast<long long>(slot));
  std::abort();
#endif
}

template <typename Element>
struct LossVoxels {
  int64_t num_samples;
  int64_t num_voxels;  // of a sample
  int64_t max_slot;
  const Element* logits;
  IntegerArray slots;     // the target for "blob", the regions for "cc_dice_ce"
  IntegerArray lesion;    // the target as a mask; "cc_dice_ce" only
  const uint8_t* ignore;  // null where nothing is ignored

  BREAKEVEN_HOST_DEVICE bool is_ignored(int64_t voxel) const {
    return ignore != nullptr && ignore[voxel] != 0;
  }
  BREAKEVEN_HOST_DEVICE int64_t slot(int64_t voxel) const {
    const int64_t slot = slots[voxel];
    if (slot < 0 || slot > max_slot) {
      refuse_slot(slot, max_slot);
    }
    return slot;
  }
};

// The parts of sigmoid(x) and of its derivative: e = exp(-|x|), 1 / (1 + e).
template <typename Real>
struct Sigmoid {
  Real x;
  Real e;
  Real inverse;

  BREAKEVEN_HOST_DEVICE explicit Sigmoid(Real logit)
      : x(logit), e(std::exp(-std::fabs(logit))), inverse(Real(1) / (Real(1) + e)) {}

  BREAKEVEN_HOST_DEVICE Real probability() const {
    return (x < Real(0) ? e : Real(1)) * inverse;
  }
  BREAKEVEN_HOST_DEVICE Real slope() const {
    return e * inverse * inverse;
  }
  // -log p of a lesion's voxel, -log(1 - p) of another one.
  BREAKEVEN_HOST_DEVICE Real cross_entropy(bool is_lesion) const {
    const Real wrong = is_lesion ? -x : x;
    return (wrong > Real(0) ? wrong : Real(0)) + std::log1p(e);
  }
  // p - 1 of a lesion's voxel, p of another one; without cancellation.
  BREAKEVEN_HOST_DEVICE Real error(bool is_lesion) const {
    const Real wrong = is_lesion ? -x : x;
    const Real size = (wrong < Real(0) ? e : Real(1)) * inverse;
    return is_lesion ? -size : size;
  }
};

// ---- sums ----

// What voxels of one slot add up to.
struct SlotPart {
  double probability;
  double cross_entropy;
  double lesion_probability;
  int64_t voxels;
  int64_t lesion_voxels;

  BREAKEVEN_HOST_DEVICE void clear() {
    probability = 0;
    cross_entropy = 0;
    lesion_probability = 0;
    voxels = 0;
    lesion_voxels = 0;
  }
  BREAKEVEN_HOST_DEVICE void add(const SlotPart& other) {
    probability += other.probability;
    cross_entropy += other.cross_entropy;
    lesion_probability += other.lesion_probability;
    voxels += other.voxels;
    lesion_voxels += other.lesion_voxels;
  }
};

// Of probabilities: terms below 2^13 each, to 2^-160; the smallest of float32 is 2^-149.
using ProbabilitySum = WideSum<-160, 6>;
// Of cross-entropies: those of float32 logits stay below 2^160, others have the range of double.
template <typename Real>
using CrossEntropySum = std::conditional_t<std::is_same_v<Real, double>, WideSum<-64, 35>, WideSum<-64, 7>>;

constexpr uint32_t kNanProbability = 1;
constexpr uint32_t kNanCrossEntropy = 2;
constexpr uint32_t kInfiniteCrossEntropy = 4;

// The totals of one slot of a sample; all zero at first.
template <typename Real, bool has_regions>
struct SlotTotals {
  ProbabilitySum probability;
  int64_t voxels;
  uint32_t special;
  uint32_t unused;

  BREAKEVEN_HOST_DEVICE void add(const SlotPart& part) {
    atomic_add(&voxels, part.voxels);
    if (part.probability != part.probability) {
      atomic_or(&special, kNanProbability);
    } else {
      probability.add(part.probability);
    }
  }
  BREAKEVEN_HOST_DEVICE SlotPart sums() const {
    return {total_probability(), 0, 0, voxels, 0};
  }
  BREAKEVEN_HOST_DEVICE double total_probability() const {
    return (special & kNanProbability) != 0 ? std::numeric_limits<double>::quiet_NaN() : probability.value();
  }
};

template <typename Real>
struct SlotTotals<Real, true> {
  SlotTotals<Real, false> all;
  SlotTotals<Real, false> lesion;
  CrossEntropySum<Real> cross_entropy;

  BREAKEVEN_HOST_DEVICE void add(const SlotPart& part) {
    all.add(part);
    if (part.lesion_voxels > 0) {
      lesion.add({part.lesion_probability, 0, 0, part.lesion_voxels, 0});
    }
    if (part.cross_entropy != part.cross_entropy) {
      atomic_or(&all.special, kNanCrossEntropy);
    } else if (part.cross_entropy == std::numeric_limits<double>::infinity()) {
      atomic_or(&all.special, kInfiniteCrossEntropy);
    } else {
      cross_entropy.add(part.cross_entropy);
    }
  }
  BREAKEVEN_HOST_DEVICE SlotPart sums() const {
    return {all.total_probability(), total_cross_entropy(), lesion.total_probability(), all.voxels, lesion.voxels};
  }
  BREAKEVEN_HOST_DEVICE double total_cross_entropy() const {
    return (all.special & kNanCrossEntropy) != 0 ? std::numeric_limits<double>::quiet_NaN()
        : (all.special & kInfiniteCrossEntropy) != 0
        ? std::numeric_limits<double>::infinity()
        : cross_entropy.value();
  }
};

// The tables of a call, sample by sample.
template <typename Real, bool has_regions>
struct LossTotals {
  SlotTotals<Real, has_regions>* slots;  // (samples, width), zero at first
  int64_t* last_slots;                   // (samples), the largest slot with a voxel; zero at first
  int64_t width;

  BREAKEVEN_HOST_DEVICE void add(int64_t sample, int64_t slot, const SlotPart& part) const {
    slots[sample * width + slot].add(part);
    atomic_raise(last_slots + sample, slot);
  }
};

constexpr int kLossThreads = 256;
constexpr int kLossSteps = 8;
static_assert(1 << kLossSteps == kLossThreads);
constexpr int kVoxelsOfThread = 16;
constexpr int64_t kLossBlock = int64_t{kLossThreads} * kVoxelsOfThread;

// One step of a tree over the threads of a block: the upper half of those left is added to the lower one.
template <typename Part>
BREAKEVEN_HOST_DEVICE void add_upper_half(Part* parts, int step, int thread) {
  const int half = kLossThreads >> (step + 1);
  if (thread < half) {
    parts[thread].add(parts[thread + half]);
  }
}

// Adds up the blocks of the samples. A block's own slot is that of its first voxel, and the background for
// "blob": most blocks have no other.
template <typename Element, bool has_regions>
struct AddVoxels {
  static constexpr int kThreads = kLossThreads;
  static constexpr int kPhases = kLossSteps + 2;
  using Real = RealOfElement<Element>;

  struct Shared {
    SlotPart parts[kLossThreads];
  };

  LossVoxels<Element> voxels;
  LossTotals<Real, has_regions> totals;

  BREAKEVEN_HOST_DEVICE int64_t blocks_per_sample() const {
    return (voxels.num_voxels + kLossBlock - 1) / kLossBlock;
  }

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int64_t sample = quotient(block, blocks_per_sample());
    const int64_t first = (block - sample * blocks_per_sample()) * kLossBlock;
    const int64_t own_slot = has_regions ? voxels.slot(sample * voxels.num_voxels + first) : 0;
    if (phase == 0) {
      add_own_voxels(sample, first + thread, own_slot, shared.parts[thread]);
    } else if (phase <= kLossSteps) {
      add_upper_half(shared.parts, phase - 1, thread);
    } else if (thread == 0 && shared.parts[0].voxels > 0) {
      totals.add(sample, own_slot, shared.parts[0]);
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE void add_own_voxels(int64_t sample, int64_t first, int64_t own_slot, SlotPart& own) const {
    own.clear();
    SlotPart other;
    other.clear();
    int64_t other_slot = own_slot;
    for (int step = 0; step < kVoxelsOfThread; ++step) {
      const int64_t place = first + int64_t{step} * kLossThreads;
      if (place >= voxels.num_voxels) {
        break;
      }
      const int64_t voxel = sample * voxels.num_voxels + place;
      const int64_t slot = voxels.slot(voxel);
      if (voxels.is_ignored(voxel)) {
        continue;
      }
      if (slot == own_slot) {
        add_voxel(voxel, own);
        continue;
      }
      if (slot != other_slot && other.voxels > 0) {
        totals.add(sample, other_slot, other);
        other.clear();
      }
      other_slot = slot;
      add_voxel(voxel, other);
    }
    if (other.voxels > 0) {
      totals.add(sample, other_slot, other);
    }
  }

  BREAKEVEN_HOST_DEVICE void add_voxel(int64_t voxel, SlotPart& part) const {
    const Sigmoid<Real> sigmoid(to_float(voxels.logits[voxel]));
    const auto probability = static_cast<double>(sigmoid.probability());
    part.probability += probability;
    ++part.voxels;
    if constexpr (has_regions) {
      const bool is_lesion = voxels.lesion[voxel] != 0;
      part.cross_entropy += static_cast<double>(sigmoid.cross_entropy(is_lesion));
      if (is_lesion) {
        part.lesion_probability += probability;
        ++part.lesion_voxels;
      }
    }
  }
};

// ---- cost and coefficients ----

// S / (1 + S) where there is no lesion: a false positive is never free.
BREAKEVEN_HOST_DEVICE double empty_cost_of(double probability) {
  return probability / (1 + probability);
}

BREAKEVEN_HOST_DEVICE double empty_slope_of(double probability) {
  return 1 / ((1 + probability) * (1 + probability));
}

// What the threads of a sample's block add up: costs, and for "blob" the background's coefficient.
struct CostPart {
  int64_t present;
  double cost;
  double background;

  BREAKEVEN_HOST_DEVICE void add(const CostPart& other) {
    present += other.present;
    cost += other.cost;
    background += other.background;
  }
};

// A block for each sample. `coefficients` is (samples, rows, width), zero at first; `costs` (samples).
template <typename Real, bool has_regions>
struct FinishSamples {
  static constexpr int kThreads = kLossThreads;
  static constexpr int kPhases = 2 * (kLossSteps + 1) + 1;
  static constexpr int64_t kRows = has_regions ? 3 : 1;

  struct Shared {
    CostPart parts[kLossThreads];
    int64_t present;
  };

  LossTotals<Real, has_regions> totals;
  int64_t num_samples;
  RealArray weights;
  double* coefficients;
  double* costs;

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t sample, int thread, Shared& shared) const {
    constexpr int kCount = kLossSteps + 1;  // phases of counting
    if (phase == 0) {
      shared.parts[thread] = {count_present(sample, thread), 0, 0};
    } else if (phase < kCount) {
      add_upper_half(shared.parts, phase - 1, thread);
      if (phase + 1 == kCount && thread == 0) {
        shared.present = shared.parts[0].present;
      }
    } else if (phase == kCount) {
      shared.parts[thread] = finish_slots(sample, thread, shared.present);
    } else if (phase <= kCount + kLossSteps) {
      add_upper_half(shared.parts, phase - kCount - 1, thread);
    }
    if (phase + 1 == kPhases && thread == 0) {
      finish(sample, shared.present, shared.parts[0]);
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE double weight(int64_t sample) const {
    return weights[sample] / static_cast<double>(num_samples);
  }
  BREAKEVEN_HOST_DEVICE double* table(int64_t sample) const {
    return coefficients + sample * kRows * totals.width;
  }
  BREAKEVEN_HOST_DEVICE SlotPart sums(int64_t sample, int64_t slot) const {
    return totals.slots[sample * totals.width + slot].sums();
  }
  BREAKEVEN_HOST_DEVICE int64_t voxels_of(int64_t sample, int64_t slot) const {
    const auto& total = totals.slots[sample * totals.width + slot];
    if constexpr (has_regions) {
      return total.all.voxels;
    } else {
      return total.voxels;
    }
  }

  BREAKEVEN_HOST_DEVICE int64_t count_present(int64_t sample, int thread) const {
    int64_t present = 0;
    for (int64_t slot = 1 + thread; slot <= totals.last_slots[sample]; slot += kLossThreads) {
      present += voxels_of(sample, slot) > 0;
    }
    return present;
  }

  BREAKEVEN_HOST_DEVICE CostPart finish_slots(int64_t sample, int thread, int64_t present) const {
    CostPart part{0, 0, 0};
    if (present == 0) {
      return part;
    }
    const double share = weight(sample) / static_cast<double>(present);
    const double background = has_regions ? 0 : sums(sample, 0).probability;
    for (int64_t slot = 1 + thread; slot <= totals.last_slots[sample]; slot += kLossThreads) {
      if (voxels_of(sample, slot) == 0) {
        continue;
      }
      if constexpr (has_regions) {
        part.cost += finish_region(sums(sample, slot), share, slot, table(sample));
      } else {
        finish_lesion(sums(sample, slot), background, share, slot, table(sample), part);
      }
    }
    return part;
  }

  BREAKEVEN_HOST_DEVICE void finish_lesion(
      const SlotPart& lesion, double background, double share, int64_t slot, double* row, CostPart& part) const {
    const auto size = static_cast<double>(lesion.voxels);
    const double all = lesion.probability + background + size;
    part.cost += (background + size - lesion.probability) / all;
    part.background += share * 2 * lesion.probability / (all * all);
    row[slot] = share * -2 * (background + size) / (all * all);
  }

  BREAKEVEN_HOST_DEVICE double finish_region(const SlotPart& region, double share, int64_t slot, double* rows) const {
    const auto voxels = static_cast<double>(region.voxels);
    const double cross_entropy = region.cross_entropy / voxels;
    rows[2 * totals.width + slot] = share / voxels;
    if (region.lesion_voxels == 0) {
      rows[slot] = share * empty_slope_of(region.probability);
      return empty_cost_of(region.probability) + cross_entropy;
    }
    const double all = region.probability + static_cast<double>(region.lesion_voxels);
    const double inside = region.lesion_probability;
    rows[slot] = share * 2 * inside / (all * all);
    rows[totals.width + slot] = share * -2 * (all - inside) / (all * all);
    return (all - 2 * inside) / all + cross_entropy;
  }

  // Without lesions, or regions, slot 0 is all there is.
  BREAKEVEN_HOST_DEVICE void finish(int64_t sample, int64_t present, const CostPart& part) const {
    double cost = 0;
    if (present > 0) {
      cost = part.cost / static_cast<double>(present);
      if (!has_regions) {
        table(sample)[0] = part.background;
      }
    } else if constexpr (has_regions) {
      if (voxels_of(sample, 0) > 0) {
        cost = finish_region(sums(sample, 0), weight(sample), 0, table(sample));
      }
    } else {
      const double background = sums(sample, 0).probability;
      cost = empty_cost_of(background);
      table(sample)[0] = weight(sample) * empty_slope_of(background);
    }
    costs[sample] = weight(sample) * cost;
  }
};

// One index: adds the samples up in order.
template <typename Real>
struct TotalLoss {
  const double* costs;
  int64_t num_samples;
  Real* loss;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t) const {
    double sum = 0;
    for (int64_t sample = 0; sample < num_samples; ++sample) {
      sum += costs[sample];
    }
    *loss = static_cast<Real>(sum);
  }
};

// ---- gradient ----

template <typename Element, bool has_regions>
struct WriteGradient {
  using Real = RealOfElement<Element>;

  LossVoxels<Element> voxels;
  RealArray scale;  // one number
  const double* coefficients;
  int64_t width;
  Element* gradient;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t voxel) const {
    if (voxels.is_ignored(voxel)) {
      gradient[voxel] = from_float<Element>(Real(0));
      return;
    }
    const int64_t sample = quotient(voxel, voxels.num_voxels);
    const int64_t slot = voxels.slot(voxel);
    const Sigmoid<Real> sigmoid(to_float(voxels.logits[voxel]));
    if constexpr (has_regions) {
      const bool is_lesion = voxels.lesion[voxel] != 0;
      const double* const rows = coefficients + sample * 3 * width;
      gradient[voxel] = from_float<Element>(
          scaled(rows[(is_lesion ? width : 0) + slot]) * sigmoid.slope() +
          scaled(rows[2 * width + slot]) * sigmoid.error(is_lesion));
    } else {
      gradient[voxel] = from_float<Element>(scaled(coefficients[sample * width + slot]) * sigmoid.slope());
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE Real scaled(double coefficient) const {
    return static_cast<Real>(scale[0] * coefficient);
  }
};

// regions[voxel] = the label of the voxel that `nearest` names within the sample, 0 where it is negative.
struct LookUpRegions {
  int64_t num_voxels;  // of a sample
  int64_t max_slot;
  IntegerArray target;
  const int64_t* nearest;
  int16_t* regions;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t voxel) const {
    const int64_t place = nearest[voxel];
    if (place < 0) {
      regions[voxel] = 0;
      return;
    }
    const int64_t sample = quotient(voxel, num_voxels);
    const int64_t slot = place < num_voxels ? target[sample * num_voxels + place] : kNoSuchPlace;
    if (slot < 0 || slot > max_slot) {
      refuse_slot(slot, max_slot);
    }
    regions[voxel] = static_cast<int16_t>(slot);
  }

  static constexpr int64_t kNoSuchPlace = -1;
};

// From voxels to the loss and its coefficients; all tables but `costs` are zero at first.
template <typename Element, bool has_regions, typename Launcher>
void sum_up_loss(
    const Launcher& launch,
    const LossVoxels<Element>& voxels,
    const LossTotals<RealOfElement<Element>, has_regions>& totals,
    RealArray weights,
    double* coefficients,
    double* costs,
    RealOfElement<Element>* loss) {
  using Real = RealOfElement<Element>;
  const AddVoxels<Element, has_regions> add{voxels, totals};
  launch.blocks(add, voxels.num_samples * add.blocks_per_sample());
  launch.blocks(
      FinishSamples<Real, has_regions>{totals, voxels.num_samples, weights, coefficients, costs}, voxels.num_samples);
  launch.flat(TotalLoss<Real>{costs, voxels.num_samples, loss}, 1);
}

}  // namespace breakeven
