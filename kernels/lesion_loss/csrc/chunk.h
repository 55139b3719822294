// Arithmetic on a chunk of voxels: the part worth vectorising, compiled once for each CPU level.
//
// Chunks are long enough to call through a pointer, and short enough for all their arrays to stay in the
// first-level cache. Arrays have kChunk elements; those beyond `num` are filled so that they add nothing.
// A run is a stretch of voxels of one slot within a chunk.

#pragma once

#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>

// The levels above the portable one; clang takes no GCC pragma, and builds the portable path alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BREAKEVEN_HAS_CPU_LEVELS 1
#endif

namespace breakeven {

constexpr int64_t kChunk = 256;
// Sums run in this many lanes, voxel i in lane i mod kLanes, on every level.
constexpr int64_t kLanes = 16;

struct ChunkLabels {
  const int32_t* label;
  uint64_t bits;  // the OR of all labels, negative ones included
};

// Sums over a region while its block is read; voxel i of a run is in lane i mod kLanes.
struct alignas(64) RegionLanes {
  double probability[kLanes] = {};
  double cross_entropy[kLanes] = {};
  double lesion_probability = 0;
  int64_t num_voxels = 0;
  int64_t num_lesion_voxels = 0;
};

// Reading: each function takes the tensor's data and dtype and the first of `num` voxels.
struct ChunkReaders {
  // As int32, in place where possible.
  ChunkLabels (*labels)(
      const void* data, torch::headeronly::ScalarType type, int64_t begin, int64_t num, int32_t* buffer);
  // 1 where the value is not 0. Returns whether there is any.
  bool (*mask)(
      const void* data, torch::headeronly::ScalarType type, int64_t begin, int64_t num, uint8_t* is_set);
  // Writes where each run of equal labels begins, and `num` at the end; returns the number of runs.
  int64_t (*runs)(const int32_t* label, int64_t num, int16_t* begins);
};

// Arithmetic in `Real`, float or double. e = exp(-|x|) gives sigmoid(x) = 1 / (1 + e) or e / (1 + e) and
// its derivative e / (1 + e)^2: no cancellation in either, however large |x|.
template <typename Real>
struct ChunkArithmetic {
  // Logits as Real, in place where possible; -inf beyond `num`, for which p is 0.
  const Real* (*read)(
      const void* data, torch::headeronly::ScalarType type, int64_t begin, int64_t num, Real* buffer);
  void (*write)(
      const Real* value, torch::headeronly::ScalarType type, int64_t begin, int64_t num, void* data);
  // p; where `label` is 0 it is added to `lanes`.
  void (*background)(const Real* x, const int32_t* label, Real* probability, double* lanes);
  // p, and the cross-entropy -log p of lesion voxels and -log(1 - p) of others.
  void (*cross_entropy)(const Real* x, const uint8_t* is_lesion, Real* probability, Real* cross_entropy);
  // Adds the values of run r to regions[slot[begins[r]]]; kLanes values beyond the chunk must be readable.
  void (*add_runs)(
      const Real* probability,
      const Real* cross_entropy,
      const int32_t* slot,
      const int16_t* begins,
      int64_t num_runs,
      RegionLanes* regions);
  // dice * p (1 - p).
  void (*dice_gradient)(const Real* x, const Real* dice, Real* gradient);
  // dice * p (1 - p) + entropy * (p - is_lesion).
  void (*full_gradient)(
      const Real* x, const uint8_t* is_lesion, const Real* dice, const Real* entropy, Real* gradient);
};

struct ChunkLevel {
  ChunkReaders readers;
  ChunkArithmetic<float> single;
  ChunkArithmetic<double> twofold;

  template <typename Real>
  const ChunkArithmetic<Real>& arithmetic() const;
};

template <>
inline const ChunkArithmetic<float>& ChunkLevel::arithmetic<float>() const {
  return single;
}

template <>
inline const ChunkArithmetic<double>& ChunkLevel::arithmetic<double>() const {
  return twofold;
}

const ChunkLevel& chunk_level_portable();
#if defined(BREAKEVEN_HAS_CPU_LEVELS)
const ChunkLevel& chunk_level_avx2();
const ChunkLevel& chunk_level_avx512();
#endif

// Of the level that native/cpu_level.h chooses for this call.
const ChunkLevel& chunk_level();

}  // namespace breakeven
