// The inner loops with AVX-512: 64 bytes of the mask, 16 labels or 8 doubles a step.

#include "kernels.h"

#ifdef BREAKEVEN_HAS_WIDE_LEVELS

#include "prefix_counts.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#pragma GCC push_options
// GCC 12 takes the undefined registers of its own intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
// A pragma takes no macro: BREAKEVEN_TARGET_AVX512 in full.
#pragma GCC target("avx2,bmi,bmi2,fma,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")

namespace breakeven::labelling {
namespace avx512 {

template <class Part>
inline uint64_t pack_elements(const uint8_t* data, Part significant) {
  if constexpr (sizeof(Part) == 1) {
    return _mm512_test_epi8_mask(_mm512_loadu_si512(data), _mm512_set1_epi8(static_cast<char>(significant)));
  } else if constexpr (sizeof(Part) == 2) {
    const __m512i wanted = _mm512_set1_epi16(static_cast<short>(significant));
    const uint64_t low = _mm512_test_epi16_mask(_mm512_loadu_si512(data), wanted);
    return low | uint64_t{_mm512_test_epi16_mask(_mm512_loadu_si512(data + 64), wanted)} << 32;
  } else if constexpr (sizeof(Part) == 4) {
    const __m512i wanted = _mm512_set1_epi32(static_cast<int>(significant));
    uint64_t word = 0;
    for (int i = 0; i < 4; ++i) {
      word |= uint64_t{_mm512_test_epi32_mask(_mm512_loadu_si512(data + 64 * i), wanted)} << (16 * i);
    }
    return word;
  } else {
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(significant));
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) {
      word |= uint64_t{_mm512_test_epi64_mask(_mm512_loadu_si512(data + 64 * i), wanted)} << (8 * i);
    }
    return word;
  }
}

template <bool kPassing>
inline void store(int32_t* target, __m512i labels) {
  if constexpr (kPassing) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), labels);
  } else {
    _mm512_storeu_si512(target, labels);
  }
}

// Each column takes the label of the last run that started: the number of starts up to it tells which of the
// 16 labels that come next.
template <int kRows, bool kPassing>
inline void compose(const uint64_t* const* rows, const int32_t* labels, int64_t width, int32_t* const* targets) {
  const int64_t chunks = (width + 15) / 16;
  uint64_t last = 0;
  for (int64_t word = 0; word * 4 < chunks; ++word) {
    uint64_t bits[kRows];
    uint64_t any = 0;
    for (int row = 0; row < kRows; ++row) {
      bits[row] = rows[row][word];
      any |= bits[row];
    }
    uint64_t starts = any & ~(any << 1 | last);
    last = any >> 63;
    const int parts = static_cast<int>(chunks - 4 * word < 4 ? chunks - 4 * word : 4);
    if (any == 0) {
      for (int row = 0; row < kRows; ++row) {
        for (int part = 0; part < parts; ++part) {
          store<kPassing>(targets[row] + 64 * word + 16 * part, _mm512_setzero_si512());
        }
      }
      continue;
    }
    for (int part = 0; part < parts; ++part) {
      const uint64_t low = kPrefixCounts.of_byte[starts & 255];
      const uint64_t high = kPrefixCounts.of_byte[starts >> 8 & 255] + (low >> 56) * 0x0101010101010101u;
      const __m512i places =
          _mm512_cvtepu8_epi32(_mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low)));
      const __m512i chosen = _mm512_permutexvar_epi32(places, _mm512_loadu_si512(labels));
      labels += high >> 56;
      starts >>= 16;
      for (int row = 0; row < kRows; ++row) {
        store<kPassing>(
            targets[row] + 64 * word + 16 * part,
            _mm512_maskz_mov_epi32(static_cast<__mmask16>(bits[row] >> (16 * part)), chosen));
      }
    }
  }
}

// Whole vectors: for so few bytes memset takes up to ten times as long where they are in no cache. A line is
// written in one way alone: one that is stored to and passed by as well would be fetched and given up again.
inline void fill_zero(uint8_t* target, int64_t num_bytes, bool passes_caches) {
  const __m512i zero = _mm512_setzero_si512();
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) % 64);
  const int64_t end = num_bytes - (num_bytes - head) % 64;
  if (end <= head) {
    std::memset(target, 0, num_bytes);
    return;
  }
  // Not with an empty mask: such a store takes a hundred times as long on Zen 5.
  if (head != 0) {
    _mm512_mask_storeu_epi8(target, (uint64_t{1} << head) - 1, zero);
  }
  if (passes_caches) {
    for (int64_t at = head; at < end; at += 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(target + at), zero);
    }
  } else {
    for (int64_t at = head; at < end; at += 64) {
      _mm512_store_si512(reinterpret_cast<__m512i*>(target + at), zero);
    }
  }
  if (end != num_bytes) {
    _mm512_mask_storeu_epi8(target + end, (uint64_t{1} << (num_bytes - end)) - 1, zero);
  }
}

inline void copy_row(int32_t* target, const int32_t* labels, int64_t width, bool passes_caches) {
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) % 64 / sizeof(int32_t));
  if (!passes_caches || head >= width) {
    std::memcpy(target, labels, width * sizeof(int32_t));
    return;
  }
  std::memcpy(target, labels, head * sizeof(int32_t));
  int64_t x = head;
  for (; x + 16 <= width; x += 16) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target + x), _mm512_loadu_si512(labels + x));
  }
  std::memcpy(target + x, labels + x, (width - x) * sizeof(int32_t));
}

// Stores past the caches are seen by other threads only in this way.
inline void finish_stores() {
  _mm_sfence();
}

template <class Value>
inline bool add_values(const Value* values, uint64_t bits, double* sums, double* minima) {
  __m512d sum = _mm512_loadu_pd(sums);
  __m512d least = _mm512_loadu_pd(minima);
  __mmask8 is_nan = 0;
  for (int begin = 0; begin < 64 && bits >> begin != 0; begin += 8) {
    const auto wanted = static_cast<__mmask8>(bits >> begin);
    if (wanted == 0) {
      continue;
    }
    __m512d here;
    if constexpr (sizeof(Value) == 4) {
      here = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(wanted, values + begin));
    } else {
      here = _mm512_maskz_loadu_pd(wanted, values + begin);
    }
    sum = _mm512_add_pd(sum, here);
    least = _mm512_mask_min_pd(least, wanted, here, least);
    is_nan |= _mm512_cmp_pd_mask(here, here, _CMP_UNORD_Q);
  }
  _mm512_storeu_pd(sums, sum);
  _mm512_storeu_pd(minima, least);
  return is_nan != 0;
}

#include "pack_body.h"
#include "link_body.h"
#include "join_body.h"
#include "write_body.h"
#include "measure_body.h"

}  // namespace avx512

const Kernels& avx512_kernels() {
  static constexpr Kernels kernels{avx512::pack_slab, avx512::join_slab, avx512::write_slab, avx512::measure_slab};
  return kernels;
}

}  // namespace breakeven::labelling

#pragma GCC pop_options

#endif
