// Values between two passes, and the distances they become: to and from one row of up to kLanes voxels.

// Elements are of 4 bytes; a whole row is by far the most frequent, and its size a constant.
inline void copy_lanes(const void* lanes, int64_t width, void* to) {
  if (width == kLanes) {
    __builtin_memcpy(to, lanes, kLanes * 4);
  } else {
    __builtin_memcpy(to, lanes, width * 4);
  }
}

// Lanes past the width get 0: they then never lengthen a search.
inline void fetch_lanes(const void* from, int64_t width, void* lanes) {
  if (width == kLanes) {
    __builtin_memcpy(lanes, from, kLanes * 4);
  } else {
    __builtin_memset(lanes, 0, kLanes * 4);
    __builtin_memcpy(lanes, from, width * 4);
  }
}

inline VectorOf<double>::Type root_of(VectorOf<double>::Type values) {
#if BREAKEVEN_AVX512
  return (VectorOf<double>::Type)_mm512_maskz_sqrt_pd(0xff, (__m512d)values);
#elif BREAKEVEN_AVX2
  return (VectorOf<double>::Type)_mm256_sqrt_pd((__m256d)values);
#elif defined(__SSE2__)
  return (VectorOf<double>::Type)_mm_sqrt_pd((__m128d)values);
#else
  return VectorOf<double>::Type{__builtin_sqrt(values[0]), __builtin_sqrt(values[1])};
#endif
}

// As many values as one vector of double holds.
inline VectorOf<double>::Type doubles_at(const double* values) {
  return *reinterpret_cast<const VectorOf<double>::Type*>(values);
}

inline VectorOf<double>::Type doubles_at(const int32_t* values) {
  using Ints = int32_t __attribute__((vector_size(kVectorBytes / 2)));
  Ints ints;
  __builtin_memcpy(&ints, values, sizeof ints);
  return __builtin_convertvector(ints, VectorOf<double>::Type);
}

// Distances of a sign: minus those where the value is negative.
template <typename Value>
inline void to_distances(const Lanes<Value>& lanes, double unit, int64_t width, float* to) {
  using Doubles = VectorOf<double>::Type;
  using Floats = float __attribute__((vector_size(kVectorBytes / 2)));
  constexpr int kStep = kVectorBytes / sizeof(double);
  alignas(64) Value values[kLanes];
  alignas(64) float distances[kLanes];
  store(values, lanes);
  for (int lane = 0; lane < kLanes; lane += kStep) {
    const Doubles value = doubles_at(values + lane);
    const Doubles distance = root_of(value < 0 ? -value : value) * unit;
    const Floats result = __builtin_convertvector(value < 0 ? -distance : distance, Floats);
    __builtin_memcpy(distances + lane, &result, sizeof result);
  }
  copy_lanes(distances, width, to);
}

// In int32 a value takes the place of the distance to be; a double keeps its lower half elsewhere.
inline void keep(const Problem<int32_t>& problem, const Lanes<int32_t>& lanes, int64_t voxel, int64_t width) {
  alignas(64) int32_t values[kLanes];
  store(values, lanes);
  copy_lanes(values, width, problem.distances + voxel);
}

inline void keep(const Problem<double>& problem, const Lanes<double>& lanes, int64_t voxel, int64_t width) {
  alignas(64) double values[kLanes];
  store(values, lanes);
  uint32_t upper[kLanes], lower[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t bits;
    __builtin_memcpy(&bits, values + lane, sizeof bits);
    upper[lane] = static_cast<uint32_t>(bits >> 32);
    lower[lane] = static_cast<uint32_t>(bits);
  }
  copy_lanes(upper, width, problem.distances + voxel);
  copy_lanes(lower, width, problem.lower_halves + voxel);
}

inline void fetch(const Problem<int32_t>& problem, int64_t voxel, int64_t width, int32_t* values) {
  fetch_lanes(problem.distances + voxel, width, values);
}

inline void fetch(const Problem<double>& problem, int64_t voxel, int64_t width, double* values) {
  uint32_t upper[kLanes], lower[kLanes];
  fetch_lanes(problem.distances + voxel, width, upper);
  fetch_lanes(problem.lower_halves + voxel, width, lower);
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t bits = static_cast<uint64_t>(upper[lane]) << 32 | lower[lane];
    __builtin_memcpy(values + lane, &bits, sizeof bits);
  }
}

// Row `row` of the results to the voxels from `voxel` on: as distances, or as values for the next pass.
template <typename Value>
inline void put(
    const Problem<Value>& problem, const Workspace<Value>& work, int64_t row, int64_t voxel, int64_t width,
    bool is_last) {
  Lanes<Value> values = load(work.result[0] + row * kLanes);
  if (problem.is_signed) {
    values = difference(values, load(work.result[1] + row * kLanes));
  }
  if (is_last) {
    to_distances(values, problem.unit, width, problem.distances + voxel);
  } else {
    keep(problem, values, voxel, width);
  }
  if (problem.nearest == nullptr) {
    return;
  }
  alignas(64) Value lanes[kLanes];
  store(lanes, values);
  for (int64_t lane = 0; lane < width; ++lane) {
    const int64_t side = lanes[lane] < 0 ? 1 : 0;
    const auto place = static_cast<int64_t>(work.place[side][row * kLanes + lane]);
    problem.nearest[voxel + lane] = work.lead[side][place * kLanes + lane];
  }
}
