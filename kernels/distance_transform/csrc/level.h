// The functions that exist once for each instruction set.
#pragma once

#include "problem.h"

namespace breakeven::edt {

template <typename Value>
struct Passes {
  // Columns [64 word, 64 word + 64) of one plane, along W and H.
  void (*plane)(const Problem<Value>&, int64_t plane, int64_t word, const Workspace<Value>&);
  // The same columns of one row of all planes of a volume, along D.
  void (*depth)(const Problem<Value>&, int64_t volume, int64_t row, int64_t word, const Workspace<Value>&);
};

struct Level {
  // Bits of the bytes that are 0; bits past `count` are 0.
  void (*find_zeros)(const uint8_t* bytes, int64_t count, uint64_t* words);
  Passes<int32_t> whole;
  Passes<double> real;
};

const Level& portable_level();
const Level& avx2_level();
const Level& avx512_level();

}  // namespace breakeven::edt
