// Body of a level: probabilities, cross-entropies and gradients. Included within its namespace, which
// defines kWidth, the floats of a vector, and kHasFusedMultiplyAdd before.
//
// float runs in vectors of the compiler's own type: left to find them by itself, it moves one side of a
// condition into a branch on some levels, and is ten times slower. double is rare, and goes one by one.

typedef float Floats __attribute__((vector_size(kWidth * sizeof(float))));
typedef int32_t Masks __attribute__((vector_size(kWidth * sizeof(float))));  // 0 or -1

inline Floats load(const float* from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline double load(const double* from) {
  return *from;
}

inline void store(float* to, Floats value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

inline void store(double* to, double value) {
  *to = value;
}

// What holds the reals that are worked on together, and a truth value for each.
template <typename Real>
struct PackOf;

template <>
struct PackOf<float> {
  using Reals = Floats;
  static constexpr int32_t kSize = kWidth;

  static Masks is_set(const int32_t* mask) {
    Masks masks;
    __builtin_memcpy(&masks, mask, sizeof(masks));
    return masks != 0;
  }
  // The first `num` of them; 0 for the others.
  static Floats first(Floats value, int32_t num) {
    Masks lane;
    for (int i = 0; i < kWidth; ++i) {
      lane[i] = i;
    }
    return lane < num ? value : Floats{};
  }
};

template <>
struct PackOf<double> {
  using Reals = double;
  static constexpr int32_t kSize = 1;

  static bool is_set(const int32_t* mask) {
    return *mask != 0;
  }
  static double first(double value, int32_t num) {
    return num > 0 ? value : 0.0;
  }
};

inline Floats multiply_add(Floats a, Floats b, Floats c) {
  if constexpr (kHasFusedMultiplyAdd) {
    Floats result;
    for (int lane = 0; lane < kWidth; ++lane) {
      result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    }
    return result;
  } else {
    return a * b + c;
  }
}

inline Floats constant(float value) {
  return Floats{} + value;
}

inline Floats absolute(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Masks>(x) & 0x7fffffff);
}

inline double absolute(double x) {
  return __builtin_fabs(x);
}

// exp(-magnitude) for magnitude >= 0 or NaN, to about 1e-7 relative; 0 where float32 would be subnormal.
inline Floats exp_negative(Floats magnitude) {
  constexpr float kLargest = 88.0f;      // its exponent below is 0, and so is the result
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Floats a = magnitude > kLargest ? constant(kLargest) : magnitude;
  const Floats shifted = a * -1.44269504f + kShift;
  const Floats n = shifted - kShift;
  // ln 2 in two parts, the first short enough for n times it to be exact.
  const Floats r = multiply_add(n, constant(2.12194440e-4f), -a - n * 0.693359375f);
  Floats series = constant(1.0f / 5040.0f);
  series = multiply_add(series, r, constant(1.0f / 720.0f));
  series = multiply_add(series, r, constant(1.0f / 120.0f));
  series = multiply_add(series, r, constant(1.0f / 24.0f));
  series = multiply_add(series, r, constant(1.0f / 6.0f));
  series = multiply_add(series, r, constant(0.5f));
  series = multiply_add(series, r, constant(1.0f));
  series = multiply_add(series, r, constant(1.0f));
  const Masks exponent = reinterpret_cast<Masks>(shifted) - __builtin_bit_cast(int32_t, kShift) + 127;
  return series * reinterpret_cast<Floats>(exponent << 23);
}

inline double exp_negative(double magnitude) {
  return exp(-magnitude);
}

// log(1 + e) for 0 <= e <= 1 or NaN, to about 1e-7 relative.
inline Floats log_one_plus(Floats e) {
  // 2 artanh(s) = 2 (s + s^3 / 3 + ...), with s <= 1/3: the first term left out is 2e-9 of the sum.
  const Floats s = e / (e + 2.0f);
  const Floats square = s * s;
  Floats series = constant(1.0f / 15.0f);
  series = multiply_add(series, square, constant(1.0f / 13.0f));
  series = multiply_add(series, square, constant(1.0f / 11.0f));
  series = multiply_add(series, square, constant(1.0f / 9.0f));
  series = multiply_add(series, square, constant(1.0f / 7.0f));
  series = multiply_add(series, square, constant(1.0f / 5.0f));
  series = multiply_add(series, square, constant(1.0f / 3.0f));
  const Floats twice = s + s;
  return multiply_add(twice * square, series, twice);
}

inline double log_one_plus(double e) {
  return log1p(e);
}

template <typename Real>
void add_lanes(const Real* __restrict value, int64_t num, double* __restrict lanes) {
  for (; num >= kLanes; num -= kLanes, value += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += value[lane];
    }
  }
  if (num > 0) {
    Real rest[kLanes];
    for (int32_t lane = 0; lane < kLanes; lane += PackOf<Real>::kSize) {
      store(rest + lane, PackOf<Real>::first(load(value + lane), static_cast<int32_t>(num) - lane));
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += rest[lane];
    }
  }
}

template <typename Real>
void sum_background(
    const Real* __restrict x,
    const int32_t* __restrict label,
    Real* __restrict probability,
    double* __restrict lanes) {
  using Reals = typename PackOf<Real>::Reals;
  Real background[kChunk];
  for (int64_t i = 0; i < kChunk; i += PackOf<Real>::kSize) {
    const Reals logit = load(x + i);
    const Reals e = exp_negative(absolute(logit));
    const Reals p = (logit < Real(0) ? e : Reals{} + Real(1)) / (e + Real(1));
    store(probability + i, p);
    store(background + i, PackOf<Real>::is_set(label + i) ? Reals{} : p);
  }
  add_lanes(background, kChunk, lanes);
}

// Bytes, as the compiler cannot widen them within a vector that it did not make.
inline void widen(const uint8_t* __restrict byte, int32_t* __restrict mask) {
  for (int64_t i = 0; i < kChunk; ++i) {
    mask[i] = byte[i];
  }
}

template <typename Real>
void find_cross_entropy(
    const Real* __restrict x,
    const uint8_t* __restrict is_lesion,
    Real* __restrict probability,
    Real* __restrict cross_entropy) {
  using Reals = typename PackOf<Real>::Reals;
  int32_t lesion[kChunk];
  widen(is_lesion, lesion);
  for (int64_t i = 0; i < kChunk; i += PackOf<Real>::kSize) {
    const Reals logit = load(x + i);
    const Reals e = exp_negative(absolute(logit));
    store(probability + i, (logit < Real(0) ? e : Reals{} + Real(1)) / (e + Real(1)));
    const Reals wrong = PackOf<Real>::is_set(lesion + i) ? -logit : logit;
    store(cross_entropy + i, (wrong > Real(0) ? wrong : Reals{}) + log_one_plus(e));
  }
}

template <typename Real>
void add_runs(
    const Real* probability,
    const Real* cross_entropy,
    const int32_t* slot,
    const int16_t* begins,
    int64_t num_runs,
    RegionLanes* regions) {
  for (int64_t run = 0; run < num_runs; ++run) {
    const int64_t begin = begins[run];
    const int64_t num = begins[run + 1] - begin;
    RegionLanes& region = regions[slot[begin]];
    add_lanes(probability + begin, num, region.probability);
    add_lanes(cross_entropy + begin, num, region.cross_entropy);
    region.num_voxels += num;
  }
}

template <typename Real>
void scale_derivative(
    const Real* __restrict x, const Real* __restrict dice, Real* __restrict gradient) {
  using Reals = typename PackOf<Real>::Reals;
  for (int64_t i = 0; i < kChunk; i += PackOf<Real>::kSize) {
    const Reals e = exp_negative(absolute(load(x + i)));
    const Reals inverse = Real(1) / (e + Real(1));
    store(gradient + i, load(dice + i) * (e * inverse * inverse));
  }
}

template <typename Real>
void add_derivatives(
    const Real* __restrict x,
    const uint8_t* __restrict is_lesion,
    const Real* __restrict dice,
    const Real* __restrict entropy,
    Real* __restrict gradient) {
  using Reals = typename PackOf<Real>::Reals;
  int32_t lesion[kChunk];
  widen(is_lesion, lesion);
  for (int64_t i = 0; i < kChunk; i += PackOf<Real>::kSize) {
    const Reals logit = load(x + i);
    const Reals e = exp_negative(absolute(logit));
    const Reals inverse = Real(1) / (e + Real(1));
    // |p - t| is the probability of the wrong answer.
    const auto is_set = PackOf<Real>::is_set(lesion + i);
    const Reals wrong = is_set ? -logit : logit;
    const Reals slope = is_set ? -load(entropy + i) : load(entropy + i);
    const Reals error = (wrong < Real(0) ? e : Reals{} + Real(1)) * inverse;
    store(gradient + i, load(dice + i) * (e * inverse * inverse) + slope * error);
  }
}

template <typename Real>
constexpr ChunkArithmetic<Real> make_arithmetic() {
  return {
      &read_logits<Real>,
      &write_values<Real>,
      &sum_background<Real>,
      &find_cross_entropy<Real>,
      &add_runs<Real>,
      &scale_derivative<Real>,
      &add_derivatives<Real>,
  };
}

inline const ChunkLevel kLevel{
    {&read_labels, &read_mask, &find_runs}, make_arithmetic<float>(), make_arithmetic<double>()};
