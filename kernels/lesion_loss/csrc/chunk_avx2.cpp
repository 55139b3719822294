// The chunk arithmetic of level avx2.

#include "chunk.h"

#if defined(BREAKEVEN_HAS_CPU_LEVELS)

#include "cpu_level.h"
#include "lesion_loss.h"

#include <cmath>
#include <cstdint>

#pragma GCC push_options
// BREAKEVEN_TARGET_AVX2: the pragma expands no macro.
#pragma GCC target("avx2,bmi,bmi2,fma,lzcnt,popcnt")

namespace breakeven::avx2 {
namespace {

using torch::headeronly::ScalarType;

constexpr int kWidth = 8;
constexpr bool kHasFusedMultiplyAdd = true;

#include "chunk_read.h"
#include "chunk_arithmetic.h"

}  // namespace
}  // namespace breakeven::avx2

#pragma GCC pop_options

namespace breakeven {

const ChunkLevel& chunk_level_avx2() {
  return avx2::kLevel;
}

}  // namespace breakeven

#endif
