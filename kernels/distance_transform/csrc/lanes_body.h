// Sixteen values worked on together, in as many vectors as the instruction set needs for them.
//
// Bodies are part of each level: they include nothing, and use no template of std::, which a linker could
// share between levels.

#if BREAKEVEN_AVX512
constexpr int kVectorBytes = 64;
#elif BREAKEVEN_AVX2
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename Value>
struct VectorOf;
template <>
struct VectorOf<int32_t> {
  using Type = int32_t __attribute__((vector_size(kVectorBytes), may_alias));
};
template <>
struct VectorOf<double> {
  using Type = double __attribute__((vector_size(kVectorBytes), may_alias));
};

template <typename Value>
struct Lanes {
  using Vector = typename VectorOf<Value>::Type;
  static constexpr int kParts = kLanes * sizeof(Value) / kVectorBytes;
  Vector part[kParts];
};

template <typename Value>
inline Lanes<Value> load(const Value* from) {
  Lanes<Value> lanes;
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    lanes.part[i] = reinterpret_cast<const typename Lanes<Value>::Vector*>(from)[i];
  }
  return lanes;
}

template <typename Value>
inline void store(Value* to, const Lanes<Value>& lanes) {
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    reinterpret_cast<typename Lanes<Value>::Vector*>(to)[i] = lanes.part[i];
  }
}

template <typename Value>
inline Lanes<Value> in_all_lanes(Value value) {
  Lanes<Value> lanes;
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    lanes.part[i] = value - typename Lanes<Value>::Vector{};
  }
  return lanes;
}

template <typename Value>
inline Lanes<Value> plus(Lanes<Value> lanes, Value value) {
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    lanes.part[i] += value;
  }
  return lanes;
}

template <typename Value>
inline Lanes<Value> difference(Lanes<Value> a, const Lanes<Value>& b) {
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    a.part[i] -= b.part[i];
  }
  return a;
}

template <typename Value>
inline Lanes<Value> lower_of(Lanes<Value> a, const Lanes<Value>& b) {
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    a.part[i] = b.part[i] < a.part[i] ? b.part[i] : a.part[i];
  }
  return a;
}

template <typename Value>
inline Lanes<Value> higher_of(Lanes<Value> a, const Lanes<Value>& b) {
  for (int i = 0; i < Lanes<Value>::kParts; ++i) {
    a.part[i] = b.part[i] > a.part[i] ? b.part[i] : a.part[i];
  }
  return a;
}

// The lowest candidate so far, and where it was: places are numbers of the type of the values.
template <typename Value>
struct Lowest {
  Lanes<Value> value;
  Lanes<Value> at;

  // Of equal candidates the one that came first stays.
  void take_lower(const Lanes<Value>& candidate, Value place) {
    for (int i = 0; i < Lanes<Value>::kParts; ++i) {
      const auto is_lower = candidate.part[i] < value.part[i];
      value.part[i] = is_lower ? candidate.part[i] : value.part[i];
      at.part[i] = is_lower ? place - typename Lanes<Value>::Vector{} : at.part[i];
    }
  }

  // Of equal candidates the one that came last stays.
  void take_lower_or_equal(const Lanes<Value>& candidate, Value place) {
    for (int i = 0; i < Lanes<Value>::kParts; ++i) {
      const auto is_taken = candidate.part[i] <= value.part[i];
      value.part[i] = is_taken ? candidate.part[i] : value.part[i];
      at.part[i] = is_taken ? place - typename Lanes<Value>::Vector{} : at.part[i];
    }
  }
};

// Whether any lane is above the bound.
template <typename Value>
inline bool any_above(const Lanes<Value>& lanes, Value bound) {
#if BREAKEVEN_AVX512
  if constexpr (sizeof(Value) == sizeof(int32_t)) {
    return _mm512_cmpgt_epi32_mask((__m512i)lanes.part[0], _mm512_set1_epi32(bound)) != 0;
  } else {
    const __m512d bounds = _mm512_set1_pd(bound);
    return (_mm512_cmp_pd_mask((__m512d)lanes.part[0], bounds, _CMP_GT_OQ) |
            _mm512_cmp_pd_mask((__m512d)lanes.part[1], bounds, _CMP_GT_OQ)) != 0;
  }
#else
  auto is_above = lanes.part[0] > bound;
  for (int i = 1; i < Lanes<Value>::kParts; ++i) {
    is_above |= lanes.part[i] > bound;
  }
#if BREAKEVEN_AVX2
  return _mm256_movemask_epi8((__m256i)is_above) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)is_above) != 0;
#else
  int64_t halves[2];
  __builtin_memcpy(halves, &is_above, sizeof halves);
  return (halves[0] | halves[1]) != 0;
#endif
#endif
}

template <typename Value>
inline Value highest_lane(const Lanes<Value>& lanes) {
  auto part = lanes.part[0];
  for (int i = 1; i < Lanes<Value>::kParts; ++i) {
    part = lanes.part[i] > part ? lanes.part[i] : part;
  }
  Value most = part[0];
  for (int i = 1; i < static_cast<int>(kVectorBytes / sizeof(Value)); ++i) {
    most = part[i] > most ? part[i] : most;
  }
  return most;
}

template <typename Value>
inline Value lowest_lane(const Lanes<Value>& lanes) {
  auto part = lanes.part[0];
  for (int i = 1; i < Lanes<Value>::kParts; ++i) {
    part = lanes.part[i] < part ? lanes.part[i] : part;
  }
  Value least = part[0];
  for (int i = 1; i < static_cast<int>(kVectorBytes / sizeof(Value)); ++i) {
    least = part[i] < least ? part[i] : least;
  }
  return least;
}
