#include "units.h"

#include "problem.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace breakeven::edt {

namespace {

constexpr int kMostParts = 1024;
// Of the shares of a step that two axes hold it to be; a little less than half a unit in the last place.
constexpr double kShareTolerance = 0x1p-24 * (1 - 0x1p-10);

bool fits_int32(const Units& units, const std::array<int64_t, 3>& lengths) {
  double most = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double reach = units.steps[axis] * static_cast<double>(lengths[axis] + 1);
    most += reach * reach;
  }
  return most < kUnreached<int32_t>;
}

}  // namespace

Units choose_units(const std::array<double, 3>& spacing, const std::array<int64_t, 3>& lengths) {
  std::vector<int> axes;
  for (int axis = 0; axis < 3; ++axis) {
    if (lengths[axis] > 1) {
      axes.push_back(axis);
    }
  }
  Units units{{1, 1, 1}, 1, true};
  if (axes.empty()) {
    return units;
  }
  double least = spacing[axes[0]], most = least;
  for (const int axis : axes) {
    least = std::min(least, spacing[axis]);
    most = std::max(most, spacing[axis]);
  }
  for (int parts = 1; parts <= kMostParts && most / least * parts < 0x1p20; ++parts) {
    double least_share = INFINITY, most_share = 0;
    for (const int axis : axes) {
      units.steps[axis] = std::round(spacing[axis] / least * parts);
      const double share = spacing[axis] / units.steps[axis];
      least_share = std::min(least_share, share);
      most_share = std::max(most_share, share);
    }
    if (most_share - least_share <= kShareTolerance * least_share) {
      units.unit = least_share + (most_share - least_share) / 2;
      units.fit_int32 = fits_int32(units, lengths);
      return units;
    }
  }
  units.unit = std::exp2(std::round((std::log2(least) + std::log2(most)) / 2));
  units.fit_int32 = false;
  for (const int axis : axes) {
    units.steps[axis] = spacing[axis] / units.unit;
  }
  return units;
}

}  // namespace breakeven::edt
