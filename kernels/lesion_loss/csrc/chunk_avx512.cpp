// The chunk arithmetic of level avx512.

#include "chunk.h"

#if defined(BREAKEVEN_HAS_CPU_LEVELS)

#include "cpu_level.h"
#include "lesion_loss.h"

#include <cmath>
#include <cstdint>

#pragma GCC push_options
// BREAKEVEN_TARGET_AVX512: the pragma expands no macro.
#pragma GCC target("avx2,bmi,bmi2,fma,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")

namespace breakeven::avx512 {
namespace {

using torch::headeronly::ScalarType;

constexpr int kWidth = 16;
constexpr bool kHasFusedMultiplyAdd = true;

#include "chunk_read.h"
#include "chunk_arithmetic.h"

}  // namespace
}  // namespace breakeven::avx512

#pragma GCC pop_options

namespace breakeven {

const ChunkLevel& chunk_level_avx512() {
  return avx512::kLevel;
}

}  // namespace breakeven

#endif
