// Arithmetic on a chunk of voxels, the part worth vectorising.
//
// With e = exp(-|x|): sigmoid(x) is 1 / (1 + e) or e / (1 + e), and its derivative e / (1 + e)^2. No
// cancellation in either, however large |x|.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// One binary for every machine: the loader picks the widest version that the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BREAKEVEN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BREAKEVEN_CLONES
#endif

namespace breakeven {

constexpr int64_t kChunk = 256;
constexpr int64_t kLanes = 16;

// exp(-a) for a >= 0 or NaN, to about 1e-7 relative; 0 where float32 would be subnormal.
inline float exp_negative(float a) {
  constexpr float kLargest = 87.3f;
  constexpr float kShift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = -a * 1.44269504f + kShift;
  const float n = shifted - kShift;
  // ln 2 in two parts, the first short enough for n times it to be exact.
  const float r = (-a - n * 0.693359375f) + n * 2.12194440e-4f;
  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShift) + 127u;
  const float value = series * std::bit_cast<float>(exponent << 23);
  return a > kLargest ? 0.0f : value;
}

inline double exp_negative(double a) {
  return std::exp(-a);
}

template <typename Real>
inline void sum_background(const Real* x, const int32_t* label, Real* probability, double* lanes) {
  for (int64_t i = 0; i < kChunk; ++i) {
    const Real e = exp_negative(std::abs(x[i]));
    const Real inverse = Real(1) / (Real(1) + e);
    const Real small = e * inverse;
    probability[i] = x[i] < Real(0) ? small : inverse;
  }
  for (int64_t i = 0; i < kChunk; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const Real p = probability[i + lane];
      lanes[lane] += label[i + lane] == 0 ? p : Real(0);
    }
  }
}

template <typename Real>
inline void scale_derivative(const Real* x, const Real* coefficient, Real* gradient) {
  for (int64_t i = 0; i < kChunk; ++i) {
    const Real e = exp_negative(std::abs(x[i]));
    const Real inverse = Real(1) / (Real(1) + e);
    gradient[i] = coefficient[i] * (e * inverse * inverse);
  }
}

// `probability` = sigmoid(x); where `label` is 0 it is added to `lanes`, voxel i to lane i mod kLanes.
BREAKEVEN_CLONES static void sum_background_chunk(
    const float* __restrict x,
    const int32_t* __restrict label,
    float* __restrict probability,
    double* __restrict lanes) {
  sum_background(x, label, probability, lanes);
}

[[maybe_unused]] static void sum_background_chunk(
    const double* x,
    const int32_t* label,
    double* probability,
    double* lanes) {
  sum_background(x, label, probability, lanes);
}

// `gradient` = coefficient * sigmoid'(x).
BREAKEVEN_CLONES static void scale_derivative_chunk(
    const float* __restrict x,
    const float* __restrict coefficient,
    float* __restrict gradient) {
  scale_derivative(x, coefficient, gradient);
}

[[maybe_unused]] static void scale_derivative_chunk(
    const double* x,
    const double* coefficient,
    double* gradient) {
  scale_derivative(x, coefficient, gradient);
}

} // namespace breakeven
