// Body of a level: reading labels, masks and logits, writing gradients. Included within its namespace.

// ScalarType, kChunk and the like are of namespace breakeven.

// All bits of one or the other; a condition may become a branch, and stop vectorising.
inline uint32_t pick(bool is_first, uint32_t first, uint32_t second) {
  const uint32_t mask = 0u - static_cast<uint32_t>(is_first);
  return (first & mask) | (second & ~mask);
}

// Half precision by its bits, which vectorises on every level; float16 is exact, subnormals included.
inline float from_half(uint16_t half) {
  constexpr float kRebias = 0x1p112f;
  const uint32_t sign = (half & 0x8000u) << 16;
  const float magnitude = __builtin_bit_cast(float, (half & 0x7fffu) << 13) * kRebias;
  const uint32_t special = pick((half & 0x7c00u) == 0x7c00u, 0x7f800000u, 0u);
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, magnitude) | special | sign);
}

inline float from_bfloat(uint16_t half) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(half) << 16);
}

// To the nearest, ties to even.
inline uint16_t to_half(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Adding a half makes the sum's last bit weigh 2^-24, the smallest subnormal.
  const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t special = pick(magnitude > 0x7f800000u, 0x7e00u, 0x7c00u);
  const uint32_t finite = pick(magnitude < 0x38800000u, subnormal, normal);
  const uint32_t half = pick(magnitude >= 0x477ff000u, special, finite);
  return static_cast<uint16_t>(half | ((bits & 0x80000000u) >> 16));
}

inline uint16_t to_bfloat(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(pick((bits & 0x7fffffffu) > 0x7f800000u, (bits >> 16) | 0x40u, rounded));
}

template <typename Value, typename Label>
ChunkLabels labels_of(const Label* label, int64_t num, int32_t* buffer) {
  Value bits = 0;
  for (int64_t i = 0; i < num; ++i) {
    bits |= static_cast<Value>(label[i]);
  }
  ChunkLabels chunk{buffer, bits};
  if constexpr (sizeof(Label) == sizeof(int32_t)) {
    if (num == kChunk) {
      chunk.label = label;
      return chunk;
    }
  }
  for (int64_t i = 0; i < num; ++i) {
    buffer[i] = static_cast<int32_t>(label[i]);
  }
  for (int64_t i = num; i < kChunk; ++i) {
    buffer[i] = 0;
  }
  return chunk;
}

inline ChunkLabels read_labels(const void* data, ScalarType type, int64_t begin, int64_t num, int32_t* buffer) {
  switch (type) {
    case ScalarType::Byte:
      return labels_of<uint8_t>(static_cast<const uint8_t*>(data) + begin, num, buffer);
    case ScalarType::Short:
      return labels_of<uint16_t>(static_cast<const int16_t*>(data) + begin, num, buffer);
    case ScalarType::Int:
      return labels_of<uint32_t>(static_cast<const int32_t*>(data) + begin, num, buffer);
    default:
      return labels_of<uint64_t>(static_cast<const int64_t*>(data) + begin, num, buffer);
  }
}

template <typename Label>
bool mask_of(const Label* label, int64_t num, uint8_t* is_set) {
  uint8_t any = 0;
  for (int64_t i = 0; i < num; ++i) {
    is_set[i] = label[i] != 0;
  }
  for (int64_t i = num; i < kChunk; ++i) {
    is_set[i] = 0;
  }
  for (int64_t i = 0; i < kChunk; ++i) {
    any |= is_set[i];
  }
  return any != 0;
}

inline bool read_mask(const void* data, ScalarType type, int64_t begin, int64_t num, uint8_t* is_set) {
  switch (type) {
    case ScalarType::Int:
      return mask_of(static_cast<const int32_t*>(data) + begin, num, is_set);
    case ScalarType::Long:
      return mask_of(static_cast<const int64_t*>(data) + begin, num, is_set);
    default:  // uint8, bool
      return mask_of(static_cast<const uint8_t*>(data) + begin, num, is_set);
  }
}

inline int64_t find_runs(const int32_t* label, int64_t num, int16_t* begins) {
  uint8_t is_first[kChunk];
  is_first[0] = 1;
  for (int64_t i = 1; i < kChunk; ++i) {
    is_first[i] = label[i] != label[i - 1];
  }
  int64_t num_runs = 0;
  for (int64_t begin = 0; begin < num; begin += sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, is_first + begin, sizeof(word));
    if (word == 0) {
      continue;
    }
    for (int64_t i = begin; i < begin + static_cast<int64_t>(sizeof(word)); ++i) {
      begins[num_runs] = static_cast<int16_t>(i);
      num_runs += is_first[i];
    }
  }
  // A last run of padding only, or the end.
  while (num_runs > 0 && begins[num_runs - 1] >= num) {
    --num_runs;
  }
  begins[num_runs] = static_cast<int16_t>(num);
  return num_runs;
}

template <typename Real, typename Value, typename Convert>
const Real* logits_of(const Value* value, int64_t num, Real* buffer, Convert convert) {
  if constexpr (sizeof(Value) == sizeof(Real)) {
    if (num == kChunk) {
      return reinterpret_cast<const Real*>(value);
    }
  }
  for (int64_t i = 0; i < num; ++i) {
    buffer[i] = convert(value[i]);
  }
  for (int64_t i = num; i < kChunk; ++i) {
    buffer[i] = -static_cast<Real>(__builtin_inff());
  }
  return buffer;
}

template <typename Real>
const Real* read_logits(const void* data, ScalarType type, int64_t begin, int64_t num, Real* buffer) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    return logits_of(static_cast<const double*>(data) + begin, num, buffer, [](double x) { return x; });
  } else {
    switch (type) {
      case ScalarType::Half:
        return logits_of(static_cast<const uint16_t*>(data) + begin, num, buffer, from_half);
      case ScalarType::BFloat16:
        return logits_of(static_cast<const uint16_t*>(data) + begin, num, buffer, from_bfloat);
      default:
        return logits_of(static_cast<const float*>(data) + begin, num, buffer, [](float x) { return x; });
    }
  }
}

template <typename Real, typename Value, typename Convert>
void convert_all(const Real* from, int64_t num, Value* to, Convert convert) {
  for (int64_t i = 0; i < num; ++i) {
    to[i] = convert(from[i]);
  }
}

template <typename Real>
void write_values(const Real* value, ScalarType type, int64_t begin, int64_t num, void* data) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    if (type == ScalarType::Half) {
      return convert_all(value, num, static_cast<uint16_t*>(data) + begin, to_half);
    }
    if (type == ScalarType::BFloat16) {
      return convert_all(value, num, static_cast<uint16_t*>(data) + begin, to_bfloat);
    }
  }
  convert_all(value, num, static_cast<Real*>(data) + begin, [](Real x) { return x; });
}
