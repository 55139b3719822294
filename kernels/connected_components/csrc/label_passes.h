// Label components on a GPU: a union-find over runs of bundles (bundles.h) in the memory of the labels.
//
//   pack      one bit a voxel
//   start     each slot is its own parent
//   join      slots of runs that touch, always the larger root below the smaller one
//   flatten   each slot's parent becomes its root; roots are marked in a bit set
//   count     roots of each group of eight words, then running totals
//   write     a root's rank among those of its volume is its label
//
// The first five leave a forest of which labels, counts or tables are made. Beyond the labels it takes a
// quarter of a byte a voxel for the two bit sets and a 64th for the totals. After Playne and Hawick (2018)
// and Jaiganesh and Burtscher (ECL-CC, 2018) for the hooks; numbering by rank is canonical and the same
// at every run, in whatever order the threads hook.
#pragma once

#include "bundles.h"
#include "host_device.h"
#include "scan_passes.h"

#include <cstdint>

namespace breakeven {

// `Id` is uint32_t or uint64_t: wide enough for the voxels of one volume. Slots are places in it.
template <typename Id>
struct Forest {
  BitGrid grid;
  const uint32_t* words;
  uint32_t* roots;  // a bit set like `words`
  Id* parents;      // one a voxel; only slots are used
  Id* totals;       // roots before each group, and of all after the last

  static constexpr int kWordsOfGroup = 8;

  BREAKEVEN_HOST_DEVICE int64_t groups_per_volume() const {
    return (grid.words_per_volume() + kWordsOfGroup - 1) / kWordsOfGroup;
  }
  BREAKEVEN_HOST_DEVICE int64_t num_groups() const {
    return grid.num_volumes * groups_per_volume();
  }

  // Roots before the first one of a volume; unsigned, it may wrap around: differences are right.
  BREAKEVEN_HOST_DEVICE Id before_volume(int64_t volume) const {
    return totals[volume * groups_per_volume()];
  }

  // Roots of the whole batch before a root, which is the place of a voxel in a volume.
  BREAKEVEN_HOST_DEVICE Id rank(int64_t volume, int64_t root) const {
    const int64_t row = quotient(root, grid.width);
    const int64_t column = root - row * grid.width;
    const int64_t word = row * grid.words_per_row() + column / kWordBits;
    const int64_t group = word / kWordsOfGroup;
    const uint32_t* const set = roots + volume * grid.words_per_volume();
    Id rank = totals[volume * groups_per_volume() + group];
    for (int64_t i = group * kWordsOfGroup; i < word; ++i) {
      rank += static_cast<Id>(num_bits(set[i]));
    }
    return rank + static_cast<Id>(num_bits(set[word] & bits_below(static_cast<int>(column % kWordBits))));
  }
};

template <int connectivity, typename Id>
struct StartForest {
  BundleGrid<connectivity> bundles;
  Id* parents;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BundlePlace at = bundles.place(index);
    const auto part = bundles.load(at);
    Id* const volume = parents + at.volume * bundles.grid.voxels_per_volume();
    for (uint32_t starts = run_starts(part.any()); starts != 0; starts &= starts - 1) {
      const int64_t slot = bundles.slot(at, part, part.run_of(lowest_bit(starts))).index;
      volume[slot] = static_cast<Id>(slot);
    }
  }
};

// The root above a slot. On the way each slot is moved up to its grandparent: only slots that have a
// parent already, so that no hook, which replaces a root's own name alone, can be lost.
template <typename Id>
BREAKEVEN_HOST_DEVICE Id find_root(Id* parents, Id slot) {
  Id parent = atomic_load(parents + slot);
  while (parent != slot) {
    const Id above = atomic_load(parents + parent);
    if (above != parent) {
      atomic_store(parents + slot, above);
    }
    slot = parent;
    parent = above;
  }
  return slot;
}

// The same, with nothing moved: while forests are flattened, a slot's owner alone writes to it.
template <typename Id>
BREAKEVEN_HOST_DEVICE Id follow_to_root(const Id* parents, Id slot) {
  Id parent = atomic_load(parents + slot);
  while (parent != slot) {
    slot = parent;
    parent = atomic_load(parents + slot);
  }
  return slot;
}

template <typename Id>
BREAKEVEN_HOST_DEVICE void join_slots(Id* parents, Id a, Id b) {
  a = find_root(parents, a);
  b = find_root(parents, b);
  while (a != b) {
    if (a < b) {
      const Id smaller = a;
      a = b;
      b = smaller;
    }
    const Id found = atomic_exchange_if(parents + a, a, b);
    if (found == a) {
      return;
    }
    // Another thread was first: what a hangs below by now has to be joined with b.
    a = find_root(parents, found);
    b = find_root(parents, b);
  }
}

// Joins the runs of 32 columns of a bundle with those that touch them in the word before and in the
// bundles before: four of them at most.
template <int connectivity, typename Id>
struct JoinBundles {
  using Part = Bundle<connectivity>;

  BundleGrid<connectivity> bundles;
  Id* parents;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BundlePlace at = bundles.place(index);
    const Part part = bundles.load(at);
    if (part.any() == 0) {
      return;
    }
    join_word_before(at, part);
    join_bundle(at, part, 0, -1);
    join_bundle(at, part, -1, 0);
    if constexpr (connectivity >= 2) {
      join_bundle(at, part, -1, -1);
      join_bundle(at, part, -1, 1);
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE void join(
      const BundlePlace& at, const Part& part, int bit, const BundlePlace& to, const Part& other, int other_bit) const {
    Id* const volume = parents + at.volume * bundles.grid.voxels_per_volume();
    join_slots(
        volume,
        static_cast<Id>(bundles.slot(at, part, part.run_of(bit)).index),
        static_cast<Id>(bundles.slot(to, other, other.run_of(other_bit)).index));
  }

  BREAKEVEN_HOST_DEVICE void join_word_before(const BundlePlace& at, const Part& part) const {
    if (at.word == 0 || (part.any() & 1) == 0) {
      return;
    }
    const BundlePlace to{at.volume, at.z, at.y, at.word - 1};
    const Part other = bundles.load(to);
    if (other.any() >> (kWordBits - 1) != 0) {
      join(at, part, 0, to, other, kWordBits - 1);
    }
  }

  BREAKEVEN_HOST_DEVICE void join_bundle(const BundlePlace& at, const Part& part, int dz, int dy) const {
    const BundlePlace to{at.volume, at.z + dz, at.y + dy, at.word};
    if (!bundles.is_inside(to)) {
      return;
    }
    const Part other = bundles.load(to);
    const uint32_t level = touching(part, other, dz, dy, 0, 0);
    for (uint32_t starts = run_starts(level); starts != 0; starts &= starts - 1) {
      join(at, part, lowest_bit(starts), to, other, lowest_bit(starts));
    }
    // Column x touches x - 1 or x + 1. Where one of both touches levelly, these runs are joined already.
    uint32_t left = touching(part, other, dz, dy, 1, 1) & ~(level | level << 1);
    for (left = run_starts(left); left != 0; left &= left - 1) {
      join(at, part, lowest_bit(left), to, other, lowest_bit(left) - 1);
    }
    uint32_t right = touching(part, other, dz, dy, 1, -1) & ~(level | level >> 1);
    for (right = run_starts(right); right != 0; right &= right - 1) {
      join(at, part, lowest_bit(right), to, other, lowest_bit(right) + 1);
    }
    join_corner(at, part, 0, {to.volume, to.z, to.y, to.word - 1}, kWordBits - 1, dz, dy);
    join_corner(at, part, kWordBits - 1, {to.volume, to.z, to.y, to.word + 1}, 0, dz, dy);
  }

  // The first or last column against the last or first of the word before or after.
  BREAKEVEN_HOST_DEVICE void join_corner(
      const BundlePlace& at, const Part& part, int bit, const BundlePlace& to, int other_bit, int dz, int dy) const {
    if (connectivity == 1 || (part.any() >> bit & 1) == 0 || !bundles.is_inside(to)) {
      return;
    }
    const Part other = bundles.load(to);
    if ((touching(part, other, dz, dy, 1, bit - other_bit) >> bit & 1) != 0) {
      join(at, part, bit, to, other, other_bit);
    }
  }

  // Columns of `part` that touch one of `other`, `shift` columns before it; `dx` is 0 or 1, what the
  // shift counts for among the differences. The bundle of `other` is dz slices and dy rows further on.
  BREAKEVEN_HOST_DEVICE static uint32_t touching(
      const Part& part, const Part& other, int dz, int dy, int dx, int shift) {
    uint32_t columns = 0;
    for (int row = 0; row < Part::kRows; ++row) {
      for (int other_row = 0; other_row < Part::kRows; ++other_row) {
        const int slices = distance(row / Part::kHeight, other_row / Part::kHeight + dz * Part::kDepth);
        const int rows = distance(row % Part::kHeight, other_row % Part::kHeight + dy * Part::kHeight);
        if (slices <= 1 && rows <= 1 && slices + rows + dx <= connectivity) {
          columns |= part.rows[row] & shifted(other.rows[other_row], shift);
        }
      }
    }
    return columns;
  }

  BREAKEVEN_HOST_DEVICE static int distance(int a, int b) {
    return a < b ? b - a : a - b;
  }

  BREAKEVEN_HOST_DEVICE static uint32_t shifted(uint32_t word, int by) {
    return by >= 0 ? word << by : word >> -by;
  }
};

template <int connectivity, typename Id>
struct FlattenForest {
  BundleGrid<connectivity> bundles;
  Id* parents;
  uint32_t* roots;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    using Part = Bundle<connectivity>;
    const BundlePlace at = bundles.place(index);
    const Part part = bundles.load(at);
    Id* const volume = parents + at.volume * bundles.grid.voxels_per_volume();
    uint32_t is_root[Part::kRows] = {};
    for (uint32_t starts = run_starts(part.any()); starts != 0; starts &= starts - 1) {
      const auto slot = bundles.slot(at, part, part.run_of(lowest_bit(starts)));
      const Id name = static_cast<Id>(slot.index);
      const Id root = follow_to_root(volume, name);
      if (root == name) {
        for (int row = 0; row < Part::kRows; ++row) {
          is_root[row] |= static_cast<uint32_t>(row == slot.row) << slot.bit;
        }
      } else {
        atomic_store(volume + name, root);
      }
    }
    for (int row = 0; row < Part::kRows; ++row) {
      if (bundles.has_row(at, row)) {
        roots[at.volume * bundles.grid.words_per_volume() + bundles.word_index(at, row)] = is_root[row];
      }
    }
  }
};

template <typename Id>
struct CountRoots {
  Forest<Id> forest;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const int64_t volume = quotient(index, forest.groups_per_volume());
    const int64_t begin = (index - volume * forest.groups_per_volume()) * Forest<Id>::kWordsOfGroup;
    const int64_t words = forest.grid.words_per_volume();
    Id count = 0;
    for (int64_t word = begin; word < begin + Forest<Id>::kWordsOfGroup && word < words; ++word) {
      count += static_cast<Id>(num_bits(forest.roots[volume * words + word]));
    }
    forest.totals[index] = count;
  }
};

// A warp for each 32 columns of a bundle. All its threads have read the forest before one of them writes
// to it: `labels` are the forest's parents, seen as signed integers.
template <int connectivity, typename Id, typename Label>
struct WriteLabels {
  static constexpr int kThreads = 256;
  static constexpr int kPhases = 2;
  static constexpr int kParts = kThreads / kWordBits;  // of a block
  using Part = Bundle<connectivity>;

  struct Shared {
    Label label[kThreads];
  };

  BundleGrid<connectivity> bundles;
  Forest<Id> forest;
  Label* labels;

  BREAKEVEN_HOST_DEVICE int64_t num_blocks() const {
    return (bundles.num_parts() + kParts - 1) / kParts;
  }

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int64_t index = block * kParts + thread / kWordBits;
    const int bit = thread % kWordBits;
    if (index >= bundles.num_parts()) {
      return;
    }
    const BundlePlace at = bundles.place(index);
    const Part part = bundles.load(at);
    if (phase == 0) {
      shared.label[thread] = (part.any() >> bit & 1) != 0 ? label_of(at, part, bit) : Label(0);
    } else if (at.word * kWordBits + bit < bundles.grid.width) {
      Label* const volume = labels + at.volume * bundles.grid.voxels_per_volume();
      for (int row = 0; row < Part::kRows; ++row) {
        if (bundles.has_row(at, row)) {
          volume[bundles.first_voxel(at, row) + bit] = (part.rows[row] >> bit & 1) != 0 ? shared.label[thread] : 0;
        }
      }
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE Label label_of(const BundlePlace& at, const Part& part, int bit) const {
    const int64_t slot = bundles.slot(at, part, part.run_of(bit)).index;
    const Id root = forest.parents[at.volume * bundles.grid.voxels_per_volume() + slot];
    const Id number = forest.rank(at.volume, static_cast<int64_t>(root)) - forest.before_volume(at.volume);
    return static_cast<Label>(number + 1);
  }
};

// counts[volume] = number of its components.
template <typename Id>
struct CountVolumes {
  Forest<Id> forest;
  int64_t* counts;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t volume) const {
    counts[volume] = static_cast<int64_t>(static_cast<Id>(forest.before_volume(volume + 1) - forest.before_volume(volume)));
  }
};

// From packed words to a flat forest with totals; `workspace` has scan_workspace(num_groups()) words.
template <int connectivity, typename Id, typename Launcher>
void grow_forest(const Launcher& launch, const Forest<Id>& forest, Id* workspace) {
  const BundleGrid<connectivity> bundles{forest.grid, forest.words};
  launch.flat(StartForest<connectivity, Id>{bundles, forest.parents}, bundles.num_parts());
  launch.flat(JoinBundles<connectivity, Id>{bundles, forest.parents}, bundles.num_parts());
  launch.flat(FlattenForest<connectivity, Id>{bundles, forest.parents, forest.roots}, bundles.num_parts());
  launch.flat(CountRoots<Id>{forest}, forest.num_groups());
  exclusive_scan(launch, forest.totals, forest.num_groups(), true, workspace);
}

template <int connectivity, typename Id, typename Label, typename Launcher>
void write_labels(const Launcher& launch, const Forest<Id>& forest, Label* labels) {
  const BundleGrid<connectivity> bundles{forest.grid, forest.words};
  const WriteLabels<connectivity, Id, Label> pass{bundles, forest, labels};
  launch.blocks(pass, pass.num_blocks());
}

}  // namespace breakeven
