// Bytes to bits: which of them are 0.

// Of 64 bytes.
inline uint64_t zeros_of_word(const uint8_t* bytes) {
#if BREAKEVEN_AVX512
  const __m512i values = _mm512_loadu_si512(bytes);
  return _mm512_testn_epi8_mask(values, values);
#elif BREAKEVEN_AVX2
  uint64_t zeros = 0;
  for (int half = 0; half < 2; ++half) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32 * half));
    const auto found = _mm256_movemask_epi8(_mm256_cmpeq_epi8(values, _mm256_setzero_si256()));
    zeros |= static_cast<uint64_t>(static_cast<uint32_t>(found)) << (32 * half);
  }
  return zeros;
#elif defined(__SSE2__)
  uint64_t zeros = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * quarter));
    const auto found = _mm_movemask_epi8(_mm_cmpeq_epi8(values, _mm_setzero_si128()));
    zeros |= static_cast<uint64_t>(static_cast<uint32_t>(found)) << (16 * quarter);
  }
  return zeros;
#else
  uint64_t zeros = 0;
  for (int i = 0; i < kWordBits; ++i) {
    zeros |= static_cast<uint64_t>(bytes[i] == 0) << i;
  }
  return zeros;
#endif
}

void find_zeros(const uint8_t* bytes, int64_t count, uint64_t* words) {
  int64_t at = 0;
  for (; at + kWordBits <= count; at += kWordBits) {
    *words++ = zeros_of_word(bytes + at);
  }
  if (at < count) {
    uint8_t rest[kWordBits];
    __builtin_memset(rest, 1, sizeof rest);
    __builtin_memcpy(rest, bytes + at, count - at);
    *words = zeros_of_word(rest);
  }
}
