// The unit that squared distances are counted in.
#pragma once

#include <array>
#include <cstdint>

namespace breakeven::edt {

struct Units {
  std::array<double, 3> steps;  // of D, H, W, in units; whole numbers where that is possible
  double unit;
  bool fit_int32;  // all squared distances are whole and below kUnreached<int32_t>
};

// Steps in ratios of whole numbers up to 1024, to within 2^-24, which moves no distance by more than half a
// unit in the last place of float32, are counted in their common part: equal steps as 1, 2.5, 1 and 0.8 as
// 25, 10 and 8. Others keep their values, divided by a power of two so that squares stay in range. Axes of
// size 1 count for nothing.
Units choose_units(const std::array<double, 3>& spacing, const std::array<int64_t, 3>& lengths);

}  // namespace breakeven::edt
