// The passes with what every machine of the architecture has.

#include "level.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define BREAKEVEN_AVX2 0
#define BREAKEVEN_AVX512 0
namespace breakeven::edt {
namespace {
#include "level_body.h"
}  // namespace

const Level& portable_level() {
  return kLevel;
}
}  // namespace breakeven::edt
