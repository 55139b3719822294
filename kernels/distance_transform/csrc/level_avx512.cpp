// The passes with AVX-512.

#include "level.h"

#include "cpu_level.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target(BREAKEVEN_TARGET_AVX512)
namespace breakeven::edt {
namespace {
#include "level_body.h"
}  // namespace

const Level& avx512_level() { return kLevel; }
}  // namespace breakeven::edt
#pragma GCC pop_options

#else

namespace breakeven::edt {
const Level& avx512_level() { return portable_level(); }
}  // namespace breakeven::edt

#endif
