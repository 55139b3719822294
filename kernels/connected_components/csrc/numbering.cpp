// Numbering of components; see numbering.h.
//
// Runs are met bundle by bundle, which is not raster order: voxels of one bundle lie in rows that others lie
// between. Only within a group of bundles, though: a layer of quads, a single pair. So components are numbered
// group by group, those that begin in one by the first voxels of their runs in it.

#include "numbering.h"

#include <algorithm>
#include <limits>

namespace breakeven::labelling {
namespace {

// A component whose number is not known before its group has been read.
struct Beginning {
  int64_t first_voxel;  // In the raster of the group.
  uint32_t index;
};

class GroupNumberer {
 public:
  GroupNumberer(const Grid& grid, const Slab& slab, SlabNumbers& numbers)
      : grid_(grid), slab_(slab), numbers_(numbers) {}

  // Bundles `begin` to `end` of one layer.
  void number(const Layer& layer, int64_t begin, int64_t end) {
    first_ = layer.first_run[begin];
    count_ = layer.first_run[end] - first_;
    close_runs();
    if (beginnings_.empty()) {
      return;
    }
    if (beginnings_.size() > 1) {
      for (int64_t bundle = begin; bundle < end; ++bundle) {
        find_first_voxels(layer, bundle, 2 * begin);
      }
      std::sort(beginnings_.begin(), beginnings_.end(), [](const Beginning& a, const Beginning& b) {
        return a.first_voxel < b.first_voxel;
      });
    }
    number_of_.resize(beginnings_.size());
    for (const Beginning& beginning : beginnings_) {
      number_of_[beginning.index] = ++numbers_.num_native;
    }
    for (uint32_t run = 0; run < count_; ++run) {
      if (beginning_of_[run] != kClosed) {
        slab_.parents[first_ + run] = number_of_[beginning_of_[run]];
      }
    }
  }

 private:
  static constexpr uint32_t kClosed = std::numeric_limits<uint32_t>::max();

  // Number the runs of components that began before; collect the others.
  void close_runs() {
    beginnings_.clear();
    beginning_of_.resize(count_);
    for (uint32_t run = 0; run < count_; ++run) {
      uint32_t& number = slab_.parents[first_ + run];
      beginning_of_[run] = kClosed;
      if (number < slab_.base) {
        numbers_.foreign.push_back(number);
        number = ~static_cast<uint32_t>(numbers_.foreign.size() - 1);
        continue;
      }
      const uint32_t parent = number - slab_.base;
      if (parent < first_) {
        number = slab_.parents[parent];
      } else if (parent == first_ + run) {
        beginning_of_[run] = static_cast<uint32_t>(beginnings_.size());
        beginnings_.push_back({std::numeric_limits<int64_t>::max(), beginning_of_[run]});
      } else if (beginning_of_[parent - first_] == kClosed) {
        number = slab_.parents[parent];
      } else {
        beginning_of_[run] = beginning_of_[parent - first_];
      }
    }
  }

  // Let the open runs of a bundle lower the first voxels of their components. The first row is `first_y`.
  void find_first_voxels(const Layer& layer, int64_t bundle, int64_t first_y) {
    const uint32_t first = layer.first_run[bundle] - first_;
    const uint32_t end = layer.first_run[bundle + 1] - first_;
    const auto is_closed = [](uint32_t beginning) { return beginning == kClosed; };
    if (std::all_of(beginning_of_.begin() + first, beginning_of_.begin() + end, is_closed)) {
      return;
    }
    const int64_t words = grid_.words();
    const int64_t slices = grid_.bundle_depth();
    for (int64_t slice = 0; slice < slices; ++slice) {
      for (int64_t y = 2 * bundle; y < 2 * bundle + 2; ++y) {
        const int64_t row = slice * slab_.height + y - first_y;
        uint32_t run = first;
        uint64_t last = 0;
        for (int64_t word = 0; word < words; ++word) {
          uint64_t any = 0;
          for (int64_t other = 0; other < slices; ++other) {
            any |= layer.row(other, 2 * bundle, words)[word] | layer.row(other, 2 * bundle + 1, words)[word];
          }
          const uint64_t starts = any & ~(any << 1 | last);
          last = any >> 63;
          // Foreground at which a run, or the word, meets the row first: all but what follows another.
          const uint64_t bits = layer.row(slice, y, words)[word];
          for (uint64_t firsts = bits & ~(bits << 1); firsts != 0; firsts &= firsts - 1) {
            const int bit = __builtin_ctzll(firsts);
            const uint64_t upto = ~uint64_t{0} >> (63 - bit);
            const uint32_t here = run + static_cast<uint32_t>(__builtin_popcountll(starts & upto)) - 1;
            if (beginning_of_[here] != kClosed) {
              int64_t& first_voxel = beginnings_[beginning_of_[here]].first_voxel;
              first_voxel = std::min(first_voxel, row * grid_.width + 64 * word + bit);
            }
          }
          run += static_cast<uint32_t>(__builtin_popcountll(starts));
        }
      }
    }
  }

  const Grid& grid_;
  const Slab& slab_;
  SlabNumbers& numbers_;
  uint32_t first_ = 0;  // Run of the group.
  uint32_t count_ = 0;
  std::vector<Beginning> beginnings_;
  std::vector<uint32_t> beginning_of_;  // By run of the group.
  std::vector<uint32_t> number_of_;     // By beginning, in the order in which they were met.
};

// Runs of single rows are met in raster order.
void number_in_order(const Slab& slab, SlabNumbers& numbers) {
  for (uint32_t run = 0; run < slab.num_runs; ++run) {
    uint32_t& number = slab.parents[run];
    if (number < slab.base) {
      numbers.foreign.push_back(number);
      number = ~static_cast<uint32_t>(numbers.foreign.size() - 1);
    } else {
      const uint32_t parent = number - slab.base;
      number = parent == run ? ++numbers.num_native : slab.parents[parent];
    }
  }
}

}  // namespace

SlabNumbers number_slab(const Grid& grid, const Slab& slab) {
  SlabNumbers numbers;
  if (grid.bundling == Bundling::single) {
    number_in_order(slab, numbers);
    return numbers;
  }
  GroupNumberer numberer(grid, slab, numbers);
  const int64_t bundles = slab.bundles_a_layer(grid);
  const int64_t group = grid.bundling == Bundling::quad ? bundles : 1;
  for (int64_t index = 0; index < slab.layers(grid); ++index) {
    const Layer layer = layer_of(grid, slab, index, nullptr, nullptr, nullptr);
    for (int64_t begin = 0; begin < bundles; begin += group) {
      if (layer.first_run[begin] != layer.first_run[begin + group]) {
        numberer.number(layer, begin, begin + group);
      }
    }
  }
  return numbers;
}

}  // namespace breakeven::labelling
