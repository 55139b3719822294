// Values between two passes, and the distances they become: to and from one row of up to kLanes voxels.

inline __attribute__((always_inline)) typename VectorOf<double>::Type root_of(typename VectorOf<double>::Type values) {
#if BREAKEVEN_AVX512
  return (typename VectorOf<double>::Type)_mm512_maskz_sqrt_pd(0xff, (__m512d)values);
#elif BREAKEVEN_AVX2
  return (typename VectorOf<double>::Type)_mm256_sqrt_pd((__m256d)values);
#elif defined(__SSE2__)
  return (typename VectorOf<double>::Type)_mm_sqrt_pd((__m128d)values);
#else
  return typename VectorOf<double>::Type{__builtin_sqrt(values[0]), __builtin_sqrt(values[1])};
#endif
}

// Distances to the voxels inside, minus those to the voxels outside: one of both is 0.
template <typename Value>
inline void to_distances(const Value* values, double unit, int64_t width, float* to) {
  alignas(64) double wide[kLanes];
  alignas(64) float distances[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = static_cast<double>(values[lane]);
    wide[lane] = value < 0 ? -value : value;
  }
  for (int lane = 0; lane < kLanes; lane += kVectorBytes / sizeof(double)) {
    auto* vector = reinterpret_cast<typename VectorOf<double>::Type*>(wide + lane);
    *vector = root_of(*vector);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    distances[lane] = static_cast<float>(values[lane] < 0 ? -unit * wide[lane] : unit * wide[lane]);
  }
  __builtin_memcpy(to, distances, width * sizeof(float));
}

// In int32 a value takes the place of the distance to be; a double keeps its lower half elsewhere.
inline void keep(const Problem<int32_t>& problem, const int32_t* values, int64_t voxel, int64_t width) {
  __builtin_memcpy(problem.distances + voxel, values, width * sizeof(int32_t));
}

inline void keep(const Problem<double>& problem, const double* values, int64_t voxel, int64_t width) {
  uint32_t upper[kLanes], lower[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t bits;
    __builtin_memcpy(&bits, values + lane, sizeof bits);
    upper[lane] = static_cast<uint32_t>(bits >> 32);
    lower[lane] = static_cast<uint32_t>(bits);
  }
  __builtin_memcpy(problem.distances + voxel, upper, width * sizeof(uint32_t));
  __builtin_memcpy(problem.lower_halves + voxel, lower, width * sizeof(uint32_t));
}

// Lanes past the width get 0: they then never lengthen a search.
inline void fetch(const Problem<int32_t>& problem, int64_t voxel, int64_t width, int32_t* values) {
  if (width < kLanes) {
    __builtin_memset(values, 0, kLanes * sizeof(int32_t));
  }
  __builtin_memcpy(values, problem.distances + voxel, width * sizeof(int32_t));
}

inline void fetch(const Problem<double>& problem, int64_t voxel, int64_t width, double* values) {
  uint32_t upper[kLanes] = {}, lower[kLanes] = {};
  __builtin_memcpy(upper, problem.distances + voxel, width * sizeof(uint32_t));
  __builtin_memcpy(lower, problem.lower_halves + voxel, width * sizeof(uint32_t));
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
    const Lanes<Value> outside = load(work.result[1] + row * kLanes);
    for (int i = 0; i < Lanes<Value>::kParts; ++i) {
      values.part[i] -= outside.part[i];
    }
  }
  alignas(64) Value lanes[kLanes];
  store(lanes, values);
  if (is_last) {
    to_distances(lanes, problem.unit, width, problem.distances + voxel);
  } else {
    keep(problem, lanes, voxel, width);
  }
  for (int64_t lane = 0; problem.nearest != nullptr && lane < width; ++lane) {
    const int64_t side = lanes[lane] < 0 ? 1 : 0;
    const auto place = static_cast<int64_t>(work.place[side][row * kLanes + lane]);
    problem.nearest[voxel + lane] = work.lead[side][place * kLanes + lane];
  }
}
