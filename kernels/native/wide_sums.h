// Sums of numbers >= 0 of a known range in one pass, whatever the order: digits of 32 bits, each in a
// 64-bit integer that atomics add to. Exact but for what lies below the last digit.
#pragma once

#include "element_types.h"
#include "host_device.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace breakeven {

constexpr int kDigitBits = 32;
constexpr uint64_t kDigitMask = 0xFFFFFFFF;

// The lowest of `kDigits` digits counts 2^kLowest. Takes 2^31 terms, each below 2^(kLowest + 32 kDigits).
// All zero at first.
template <int kLowest, int kDigits>
struct WideSum {
  int64_t digits[kDigits];

  // `term` is finite and not negative.
  BREAKEVEN_HOST_DEVICE void add(double term) {
    const auto bits = same_bits<uint64_t>(term);
    const auto field = static_cast<int>(bits >> 52 & 0x7FF);
    uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    fraction |= field == 0 ? 0 : uint64_t{1} << 52;
    // The term is fraction * 2^(place + kLowest).
    const int place = (field == 0 ? 1 : field) - 1075 - kLowest;
    if (place <= -53 || fraction == 0) {
      return;
    }
    fraction >>= place < 0 ? -place : 0;
    const int shift = place < 0 ? 0 : place % kDigitBits;
    const int first = place < 0 ? 0 : place / kDigitBits;
    const uint64_t low = (fraction & kDigitMask) << shift;
    const uint64_t high = ((fraction >> kDigitBits) << shift) + (low >> kDigitBits);
    add_digit(first, low & kDigitMask);
    add_digit(first + 1, high & kDigitMask);
    add_digit(first + 2, high >> kDigitBits);
  }

  // After a barrier.
  BREAKEVEN_HOST_DEVICE double value() const {
    // With digits below 2^32 each, what is added up from the highest one on rounds once or twice.
    uint64_t carried[kDigits + 1];
    uint64_t carry = 0;
    for (int i = 0; i < kDigits; ++i) {
      carry += static_cast<uint64_t>(digits[i]);
      carried[i] = carry & kDigitMask;
      carry >>= kDigitBits;
    }
    carried[kDigits] = carry;
    double sum = 0;
    for (int i = kDigits; i >= 0; --i) {
      sum += std::ldexp(static_cast<double>(carried[i]), kLowest + kDigitBits * i);
    }
    return sum;
  }

 private:
  BREAKEVEN_HOST_DEVICE void add_digit(int place, uint64_t digit) {
    if (digit != 0) {
      atomic_add(digits + place, static_cast<int64_t>(digit));
    }
  }
};

}  // namespace breakeven
