// The chunk arithmetic for every machine, and the choice among the levels.

#include "chunk.h"

#include "cpu_level.h"
#include "lesion_loss.h"

#include <cmath>
#include <cstdint>

namespace breakeven {
namespace portable {
namespace {

using torch::headeronly::ScalarType;

constexpr int kWidth = 4;
// Where the instruction set has none, a fused multiply-add is a slow call.
constexpr bool kHasFusedMultiplyAdd = false;

#include "chunk_read.h"
#include "chunk_arithmetic.h"

}  // namespace
}  // namespace portable

const ChunkLevel& chunk_level_portable() {
  return portable::kLevel;
}

const ChunkLevel& chunk_level() {
  switch (cpu_level()) {
#if defined(BREAKEVEN_HAS_CPU_LEVELS)
    case CpuLevel::avx512:
      return chunk_level_avx512();
    case CpuLevel::avx2:
      return chunk_level_avx2();
#endif
    default:
      return chunk_level_portable();
  }
}

}  // namespace breakeven
