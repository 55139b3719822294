// Floating elements of 16 bits, on host and device alike, without a framework's headers.
#pragma once

#include "host_device.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace breakeven {

template <typename To, typename From>
BREAKEVEN_HOST_DEVICE To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// IEEE 754 half precision: 5 bits of exponent, 10 of fraction.
struct Float16 {
  uint16_t bits;
};

// The upper half of a float32.
struct BrainFloat16 {
  uint16_t bits;
};

BREAKEVEN_HOST_DEVICE float to_float(Float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t exponent = value.bits >> 10 & 0x1Fu;
  const uint32_t fraction = value.bits & 0x3FFu;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return same_bits<float>(same_bits<uint32_t>(size) | sign);
  }
  const uint32_t widened = exponent == 0x1Fu ? 0xFFu : exponent + 112u;
  return same_bits<float>(sign | widened << 23 | fraction << 13);
}

BREAKEVEN_HOST_DEVICE float to_float(BrainFloat16 value) {
  return same_bits<float>(static_cast<uint32_t>(value.bits) << 16);
}

BREAKEVEN_HOST_DEVICE float to_float(float value) {
  return value;
}

BREAKEVEN_HOST_DEVICE double to_float(double value) {
  return value;
}

template <typename Element, typename Real>
BREAKEVEN_HOST_DEVICE Element from_float(Real value) {
  return value;
}

// To the nearest, of two equally near to the even one.
template <>
BREAKEVEN_HOST_DEVICE BrainFloat16 from_float<BrainFloat16, float>(float value) {
  const uint32_t bits = same_bits<uint32_t>(value);
  if (value != value) {
    return {0x7FC0};
  }
  return {static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}

template <>
BREAKEVEN_HOST_DEVICE Float16 from_float<Float16, float>(float value) {
  const uint32_t bits = same_bits<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t size = bits & 0x7FFFFFFFu;
  if (size > 0x7F800000u) {
    return {static_cast<uint16_t>(sign | 0x7E00u)};
  }
  if (size >= 0x47800000u) {  // 2^16 and more
    return {static_cast<uint16_t>(sign | 0x7C00u)};
  }
  if (size < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, which adding 1/2 rounds to
    const float rounded = same_bits<float>(size) + 0.5f;
    return {static_cast<uint16_t>(sign | (same_bits<uint32_t>(rounded) - 0x3F000000u))};
  }
  const uint32_t odd = size >> 13 & 1u;
  return {static_cast<uint16_t>(sign | (size - 0x38000000u + 0xFFFu + odd) >> 13)};
}

enum class FloatType { float16, bfloat16, float32, float64 };

// Floating numbers of a type known at run time, for passes that wait for memory and not for a branch.
struct FloatArray {
  const void* data;
  FloatType type;

  BREAKEVEN_HOST_DEVICE double operator[](int64_t place) const {
    switch (type) {
      case FloatType::float16:
        return to_float(static_cast<const Float16*>(data)[place]);
      case FloatType::bfloat16:
        return to_float(static_cast<const BrainFloat16*>(data)[place]);
      case FloatType::float32:
        return static_cast<const float*>(data)[place];
      default:
        return static_cast<const double*>(data)[place];
    }
  }
};

}  // namespace breakeven
