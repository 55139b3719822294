// A mask as one bit a voxel, packed on a GPU: rows of 32-bit words, the first column in the lowest bit.
#pragma once

#include "host_device.h"

#include <cstdint>

namespace breakeven {

constexpr int kWordBits = 32;

// Volumes one after the other, each depth x height rows of `width` columns, in raster order.
struct BitGrid {
  int64_t num_volumes;
  int64_t depth;
  int64_t height;
  int64_t width;

  BREAKEVEN_HOST_DEVICE int64_t words_per_row() const {
    return (width + kWordBits - 1) / kWordBits;
  }
  BREAKEVEN_HOST_DEVICE int64_t words_per_volume() const {
    return depth * height * words_per_row();
  }
  BREAKEVEN_HOST_DEVICE int64_t num_words() const {
    return num_volumes * words_per_volume();
  }
  BREAKEVEN_HOST_DEVICE int64_t voxels_per_volume() const {
    return depth * height * width;
  }
};

// Packs voxels of the size of `Element`, an unsigned integer: a voxel is foreground if a bit outside of
// `ignored` is set. -0.0 is background: `ignored` is the sign bit of floating voxels. Columns beyond the
// width are background.
//
// Threads read neighbouring voxels and leave a byte for each; then some of them make words of these.
template <typename Element>
struct PackBits {
  static constexpr int kThreads = 256;
  static constexpr int kPhases = 2;
  static constexpr int kWords = 64;  // of a block

  struct Shared {
    uint8_t is_set[kWords * kWordBits];
  };

  const Element* mask;
  Element ignored;
  BitGrid grid;
  uint32_t* words;

  BREAKEVEN_HOST_DEVICE int64_t num_blocks() const {
    return (grid.num_words() + kWords - 1) / kWords;
  }

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      for (int i = thread; i < kWords * kWordBits; i += kThreads) {
        shared.is_set[i] = is_set(block * kWords + i / kWordBits, i % kWordBits);
      }
    } else if (thread < kWords && block * kWords + thread < grid.num_words()) {
      uint32_t word = 0;
      for (int bit = 0; bit < kWordBits; ++bit) {
        word |= static_cast<uint32_t>(shared.is_set[thread * kWordBits + bit]) << bit;
      }
      words[block * kWords + thread] = word;
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE uint8_t is_set(int64_t word, int bit) const {
    if (word >= grid.num_words()) {
      return 0;
    }
    const int64_t row = quotient(word, grid.words_per_row());
    const int64_t column = (word - row * grid.words_per_row()) * kWordBits + bit;
    return column < grid.width && (mask[row * grid.width + column] & static_cast<Element>(~ignored)) != 0;
  }
};

}  // namespace breakeven
