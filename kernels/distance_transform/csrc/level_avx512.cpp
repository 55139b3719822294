// The passes with AVX-512.

#include "level.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

// BREAKEVEN_TARGET_AVX512 of cpu_level.h: a macro is not expanded here. To the end of the file, where
// templates are compiled. Before version 13, g++ does not define __AVX2__ and the like with it.
#pragma GCC target("avx2,bmi,bmi2,fma,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#define BREAKEVEN_AVX2 1
#define BREAKEVEN_AVX512 1
namespace breakeven::edt {
namespace {
#include "level_body.h"
}  // namespace

const Level& avx512_level() {
  return kLevel;
}
}  // namespace breakeven::edt

#else

namespace breakeven::edt {
const Level& avx512_level() {
  return portable_level();
}
}  // namespace breakeven::edt

#endif
