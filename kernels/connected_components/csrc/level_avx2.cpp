// The inner loops with AVX2: 32 bytes of the mask, 8 labels or 4 doubles a step.

#include "kernels.h"

#ifdef BREAKEVEN_HAS_WIDE_LEVELS

#include "prefix_counts.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#pragma GCC push_options
// A pragma takes no macro: BREAKEVEN_TARGET_AVX2 in full.
#pragma GCC target("avx2,bmi,bmi2,fma,lzcnt,popcnt")

namespace breakeven::labelling {
namespace avx2 {

template <class Part>
inline __m256i equals_zero(__m256i parts) {
  if constexpr (sizeof(Part) == 1) {
    return _mm256_cmpeq_epi8(parts, _mm256_setzero_si256());
  } else if constexpr (sizeof(Part) == 2) {
    return _mm256_cmpeq_epi16(parts, _mm256_setzero_si256());
  } else if constexpr (sizeof(Part) == 4) {
    return _mm256_cmpeq_epi32(parts, _mm256_setzero_si256());
  } else {
    return _mm256_cmpeq_epi64(parts, _mm256_setzero_si256());
  }
}

template <class Part>
inline __m256i broadcast(Part value) {
  if constexpr (sizeof(Part) == 1) {
    return _mm256_set1_epi8(static_cast<char>(value));
  } else if constexpr (sizeof(Part) == 2) {
    return _mm256_set1_epi16(static_cast<short>(value));
  } else if constexpr (sizeof(Part) == 4) {
    return _mm256_set1_epi32(static_cast<int>(value));
  } else {
    return _mm256_set1_epi64x(static_cast<long long>(value));
  }
}

template <class Part>
inline uint64_t pack_elements(const uint8_t* data, Part significant) {
  const __m256i wanted = broadcast<Part>(significant);
  const auto is_zero = [&](int64_t vector) {
    const __m256i parts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + 32 * vector));
    return equals_zero<Part>(_mm256_and_si256(parts, wanted));
  };
  uint64_t word = 0;
  if constexpr (sizeof(Part) == 1) {
    word = static_cast<uint32_t>(_mm256_movemask_epi8(is_zero(0)));
    word |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(is_zero(1)))} << 32;
  } else if constexpr (sizeof(Part) == 2) {
    for (int i = 0; i < 2; ++i) {
      // Packing works in halves of a vector; the permutation puts these in order.
      const __m256i flags =
          _mm256_permute4x64_epi64(_mm256_packs_epi16(is_zero(2 * i), is_zero(2 * i + 1)), 0b11011000);
      word |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(flags))} << (32 * i);
    }
  } else if constexpr (sizeof(Part) == 4) {
    for (int i = 0; i < 8; ++i) {
      word |= uint64_t(_mm256_movemask_ps(_mm256_castsi256_ps(is_zero(i)))) << (8 * i);
    }
  } else {
    for (int i = 0; i < 16; ++i) {
      word |= uint64_t(_mm256_movemask_pd(_mm256_castsi256_pd(is_zero(i)))) << (4 * i);
    }
  }
  return ~word;
}

template <bool kPassing>
inline void store(int32_t* target, __m256i labels) {
  if constexpr (kPassing) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target), labels);
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), labels);
  }
}

// Each column takes the label of the last run that started: the number of starts up to it tells which of the
// eight labels that come next.
template <int kRows, bool kPassing>
inline void compose(const uint64_t* const* rows, const int32_t* labels, int64_t width, int32_t* const* targets) {
  const __m256i places_of_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const int64_t chunks = 2 * ((width + 15) / 16);
  uint64_t last = 0;
  for (int64_t word = 0; word * 8 < chunks; ++word) {
    uint64_t bits[kRows];
    uint64_t any = 0;
    for (int row = 0; row < kRows; ++row) {
      bits[row] = rows[row][word];
      any |= bits[row];
    }
    uint64_t starts = any & ~(any << 1 | last);
    last = any >> 63;
    const int parts = static_cast<int>(chunks - 8 * word < 8 ? chunks - 8 * word : 8);
    if (any == 0) {
      for (int row = 0; row < kRows; ++row) {
        for (int part = 0; part < parts; ++part) {
          store<kPassing>(targets[row] + 64 * word + 8 * part, _mm256_setzero_si256());
        }
      }
      continue;
    }
    for (int part = 0; part < parts; ++part) {
      const uint64_t counts = kPrefixCounts.of_byte[starts & 255];
      const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(counts)));
      const __m256i chosen = _mm256_permutevar8x32_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(labels)), places);
      labels += counts >> 56;
      starts >>= 8;
      for (int row = 0; row < kRows; ++row) {
        const __m256i here = _mm256_and_si256(
            _mm256_set1_epi32(static_cast<int>(bits[row] >> (8 * part) & 255)), places_of_bits);
        store<kPassing>(
            targets[row] + 64 * word + 8 * part,
            _mm256_and_si256(chosen, _mm256_cmpeq_epi32(here, places_of_bits)));
      }
    }
  }
}

// Whole vectors: for so few bytes memset takes up to ten times as long where they are in no cache. A line is
// written in one way alone: one that is stored to and passed by as well would be fetched and given up again.
inline void fill_zero(uint8_t* target, int64_t num_bytes, bool passes_caches) {
  const __m256i zero = _mm256_setzero_si256();
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) % 64);
  const int64_t end = num_bytes - (num_bytes - head) % 64;
  if (end <= head) {
    std::memset(target, 0, num_bytes);
    return;
  }
  std::memset(target, 0, head);
  if (passes_caches) {
    for (int64_t at = head; at < end; at += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(target + at), zero);
    }
  } else {
    for (int64_t at = head; at < end; at += 32) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(target + at), zero);
    }
  }
  std::memset(target + end, 0, num_bytes - end);
}

inline void copy_row(int32_t* target, const int32_t* labels, int64_t width, bool passes_caches) {
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) % 64 / sizeof(int32_t));
  if (!passes_caches || head >= width) {
    std::memcpy(target, labels, width * sizeof(int32_t));
    return;
  }
  std::memcpy(target, labels, head * sizeof(int32_t));
  int64_t x = head;
  for (; x + 8 <= width; x += 8) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(labels + x));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target + x), here);
  }
  std::memcpy(target + x, labels + x, (width - x) * sizeof(int32_t));
}

// Stores past the caches are seen by other threads only in this way.
inline void finish_stores() {
  _mm_sfence();
}

// Elements that are not wanted are not read: they may lie past the end.
inline __m256d load_wanted(const float* values, __m256i wanted) {
  const __m128i narrow = _mm256_castsi256_si128(
      _mm256_permutevar8x32_epi32(wanted, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
  return _mm256_cvtps_pd(_mm_maskload_ps(values, narrow));
}

inline __m256d load_wanted(const double* values, __m256i wanted) {
  return _mm256_maskload_pd(values, wanted);
}

template <class Value>
inline bool add_values(const Value* values, uint64_t bits, double* sums, double* minima) {
  const __m256i places_of_bits = _mm256_setr_epi64x(1, 2, 4, 8);
  __m256d has_nan = _mm256_setzero_pd();
  for (int half = 0; half < 8; half += 4) {
    __m256d sum = _mm256_loadu_pd(sums + half);
    __m256d least = _mm256_loadu_pd(minima + half);
    for (int begin = half; begin < 64 && bits >> begin != 0; begin += 8) {
      const uint64_t four = bits >> begin & 15;
      if (four == 0) {
        continue;
      }
      const __m256i wanted = _mm256_cmpeq_epi64(
          _mm256_and_si256(_mm256_set1_epi64x(static_cast<long long>(four)), places_of_bits), places_of_bits);
      const __m256d here = load_wanted(values + begin, wanted);
      sum = _mm256_add_pd(sum, here);
      least = _mm256_blendv_pd(least, _mm256_min_pd(here, least), _mm256_castsi256_pd(wanted));
      has_nan = _mm256_or_pd(has_nan, _mm256_cmp_pd(here, here, _CMP_UNORD_Q));
    }
    _mm256_storeu_pd(sums + half, sum);
    _mm256_storeu_pd(minima + half, least);
  }
  return _mm256_movemask_pd(has_nan) != 0;
}

#include "pack_body.h"
#include "link_body.h"
#include "join_body.h"
#include "write_body.h"
#include "measure_body.h"

}  // namespace avx2

const Kernels& avx2_kernels() {
  static constexpr Kernels kernels{avx2::pack_slab, avx2::join_slab, avx2::write_slab, avx2::measure_slab};
  return kernels;
}

}  // namespace breakeven::labelling

#pragma GCC pop_options

#endif
