// Sums of double that do not depend on the order of their terms, by integer atomics.
//
// A GPU adds atomically in any order, and floating sums then differ from run to run. Integer sums do not.
// Two passes go over the terms: one finds the largest exponent of a sum's terms, the other adds them as
// integers in units of 2^-62 of that power of two. An error below 2^-63 of the largest term for each term
// is less than adding doubles one after the other leaves.
#pragma once

#include "element_types.h"
#include "host_device.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace breakeven {

constexpr uint32_t kSawNan = 1;
constexpr uint32_t kSawInfinity = 2;
constexpr uint32_t kSawMinusInfinity = 4;

// One sum; all zero at first.
struct ExactSum {
  int64_t exponent;  // largest exponent field of the terms, + 1; 0 without terms other than 0
  int64_t high;      // in units of 2^31
  int64_t low;
  uint32_t special;  // kSaw...
  uint32_t unused;
};

constexpr int kExactBits = 62;
constexpr int kExactLowBits = 31;
constexpr int kExponentBias = 1022;  // a term with exponent field e is less than 2^(e - 1022) in size

BREAKEVEN_HOST_DEVICE bool is_finite(double value) {
  return (same_bits<uint64_t>(value) >> 52 & 0x7FF) != 0x7FF;
}

// First pass.
BREAKEVEN_HOST_DEVICE void note_term(ExactSum* sum, double term) {
  if (!is_finite(term)) {
    atomic_or(&sum->special, term != term ? kSawNan : term > 0 ? kSawInfinity : kSawMinusInfinity);
  } else if (term != 0) {
    atomic_raise(&sum->exponent, static_cast<int64_t>(same_bits<uint64_t>(term) >> 52 & 0x7FF) + 1);
  }
}

// Second pass, after a barrier, with the same terms: 2^31 of them at most.
BREAKEVEN_HOST_DEVICE void add_term(ExactSum* sum, double term) {
  if (!is_finite(term) || term == 0) {
    return;
  }
  const int exponent = static_cast<int>(sum->exponent) - 1;
  const auto units = static_cast<int64_t>(std::rint(std::ldexp(term, kExactBits + kExponentBias - exponent)));
  atomic_add(&sum->high, units >> kExactLowBits);
  atomic_add(&sum->low, units & ((int64_t{1} << kExactLowBits) - 1));
}

// After another barrier.
BREAKEVEN_HOST_DEVICE double value_of(const ExactSum& sum) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (sum.special != 0) {
    return sum.special == kSawInfinity ? infinity
        : sum.special == kSawMinusInfinity ? -infinity
                                           : std::numeric_limits<double>::quiet_NaN();
  }
  if (sum.exponent == 0) {
    return 0;
  }
  const int64_t high = sum.high + (sum.low >> kExactLowBits);
  const int64_t low = sum.low & ((int64_t{1} << kExactLowBits) - 1);
  const double units = static_cast<double>(high) * 0x1p31 + static_cast<double>(low);
  return std::ldexp(units, static_cast<int>(sum.exponent) - 1 - kExponentBias - kExactBits);
}

// Integers in the order of the numbers that they stand for; NaN comes first.
constexpr int64_t kNanRank = std::numeric_limits<int64_t>::min();

BREAKEVEN_HOST_DEVICE int64_t rank_of(double value) {
  const auto bits = same_bits<int64_t>(value);
  return value != value ? kNanRank : bits >= 0 ? bits : bits ^ std::numeric_limits<int64_t>::max();
}

BREAKEVEN_HOST_DEVICE double from_rank(int64_t rank) {
  if (rank == kNanRank) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return same_bits<double>(rank >= 0 ? rank : rank ^ std::numeric_limits<int64_t>::max());
}

}  // namespace breakeven
