// The voxels that distances lead to, one bit each, and what a row holds beyond each word of bits.
#pragma once

#include <cstdint>

namespace breakeven::edt {

constexpr int64_t kWordBits = 64;
// Stands for a place beyond every row, which are at most half as long: differences stay within int32.
constexpr int32_t kFar = int32_t{1} << 30;

// 64 voxels of a row. Bits past the end of the row are 0.
struct SiteWord {
  uint64_t sites;
  int32_t before;  // place in the row of the last site before the word, -kFar without
  int32_t after;   // place of the first site after it, kFar without

  bool has_none_in_row() const { return sites == 0 && before == -kFar && after == kFar; }
};

// The lowest bits of a word.
constexpr uint64_t low_bits(int64_t count) {
  return count >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

}  // namespace breakeven::edt
