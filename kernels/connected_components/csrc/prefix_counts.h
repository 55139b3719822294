// How many bits are set up to each place of a byte.
#pragma once

#include <cstdint>

namespace breakeven::labelling {

// A plain array: what std::array would instantiate for a wide instruction set, others might be linked to.
struct PrefixCounts {
  uint64_t of_byte[256];
};

constexpr PrefixCounts count_prefixes() {
  PrefixCounts table{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    uint64_t count = 0;
    for (unsigned place = 0; place < 8; ++place) {
      count += bits >> place & 1;
      table.of_byte[bits] |= count << (8 * place);
    }
  }
  return table;
}

// By byte: in byte i, the number of ones in bits 0 to i.
inline constexpr PrefixCounts kPrefixCounts = count_prefixes();

}  // namespace breakeven::labelling
