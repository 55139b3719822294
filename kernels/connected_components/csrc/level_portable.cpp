// The inner loops in plain C++.

#include "kernels.h"

#include <cstdint>
#include <cstring>

namespace breakeven::labelling {
namespace portable {

// Eight parts a step would need shuffles; the compiler turns this into what the machine has.
template <class Part>
inline uint64_t pack_elements(const uint8_t* data, Part significant) {
  uint64_t word = 0;
  for (int group = 0; group < 8; ++group) {
    uint64_t flags = 0;
    for (int i = 0; i < 8; ++i) {
      Part value;
      std::memcpy(&value, data + (8 * group + i) * sizeof(Part), sizeof(Part));
      flags |= static_cast<uint64_t>((value & significant) != 0) << i;
    }
    word |= flags << (8 * group);
  }
  return word;
}

// Bytes eight at a time: each to its lowest bit, then these side by side.
template <>
inline uint64_t pack_elements<uint8_t>(const uint8_t* data, uint8_t significant) {
  constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7Fu;
  const uint64_t wanted = 0x0101010101010101u * significant;
  uint64_t word = 0;
  for (int group = 0; group < 8; ++group) {
    uint64_t flags = 0;
    for (int i = 0; i < 8; ++i) {
      flags |= uint64_t{data[8 * group + i]} << (8 * i);
    }
    flags &= wanted;
    flags = (((flags & kLow) + kLow) | flags) >> 7 & 0x0101010101010101u;
    word |= (flags * 0x0102040810204080u >> 56) << (8 * group);
  }
  return word;
}

template <int kRows, bool kPassing>
inline void compose(const uint64_t* const* rows, const int32_t* labels, int64_t width, int32_t* const* targets) {
  const int64_t words = (width + 63) / 64;
  uint64_t last = 0;
  for (int64_t word = 0; word < words; ++word) {
    uint64_t any = 0;
    for (int row = 0; row < kRows; ++row) {
      any |= rows[row][word];
    }
    const uint64_t starts = any & ~(any << 1 | last);
    last = any >> 63;
    const int columns = static_cast<int>(width - 64 * word < 64 ? width - 64 * word : 64);
    for (int row = 0; row < kRows; ++row) {
      int32_t* const target = targets[row] + 64 * word;
      const uint64_t bits = rows[row][word];
      if (bits == 0) {
        std::memset(target, 0, columns * sizeof(int32_t));
        continue;
      }
      const int32_t* label = labels;
      for (int x = 0; x < columns; ++x) {
        label += starts >> x & 1;
        target[x] = *label & -static_cast<int32_t>(bits >> x & 1);
      }
    }
    labels += __builtin_popcountll(starts);
  }
}

inline void fill_zero(uint8_t* target, int64_t num_bytes, bool) {
  std::memset(target, 0, num_bytes);
}

inline void copy_row(int32_t* target, const int32_t* labels, int64_t width, bool) {
  std::memcpy(target, labels, width * sizeof(int32_t));
}

inline void finish_stores() {}

// Add 64 elements where `bits` are set to eight partial sums by their place; keep the least; tell of a NaN.
template <class Value>
inline bool add_values(const Value* values, uint64_t bits, double* sums, double* minima) {
  bool has_nan = false;
  for (; bits != 0; bits &= bits - 1) {
    const int place = __builtin_ctzll(bits);
    const double value = values[place];
    sums[place % 8] += value;
    minima[place % 8] = value < minima[place % 8] ? value : minima[place % 8];
    has_nan |= value != value;
  }
  return has_nan;
}

#include "pack_body.h"
#include "link_body.h"
#include "join_body.h"
#include "write_body.h"
#include "measure_body.h"

}  // namespace portable

const Kernels& portable_kernels() {
  static constexpr Kernels kernels{
      portable::pack_slab, portable::join_slab, portable::write_slab, portable::measure_slab};
  return kernels;
}

}  // namespace breakeven::labelling
