// The passes with what every machine of the architecture has.

#include "level.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace breakeven::edt {
namespace {
#include "level_body.h"
}  // namespace

const Level& portable_level() { return kLevel; }
}  // namespace breakeven::edt
