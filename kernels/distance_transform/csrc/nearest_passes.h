// Exact nearest voxels on a GPU: one axis after the other, each by monotone search.
//
//   columns   per voxel, from packed bits: the nearest voxel of the other kind in its row
//   rows      the nearest one in its slice: over rows p, the least (x - column of p)^2 + (y - p)^2
//   slices    the nearest one in its volume, likewise over slices
//   finish    the distance to it
//
// The row that a voxel's nearest one lies in never decreases from one voxel of a column to the next: squares
// grow faster the farther they are (Aggarwal et al., 1987, for any such matrix). So the middle voxel of a
// column is searched for first, then those between it and the ends, and so on, each level a launch: what is
// known of the neighbours bounds the search, and all searches of a level look at the column once. Within
// its bounds a search goes outwards and ends where the axis alone costs more than the best so far. Nothing
// is divided, no envelope is kept, and neighbouring threads read neighbouring columns.
//
// A voxel needs the nearest one of the other kind only: to one of that kind the nearest is the voxel itself.
// Therefore one search serves signed distances as it does unsigned ones.
//
// Ties go to the smaller place along each axis, so to the smallest flat index. Beyond distances and bits it
// takes one `Place` a voxel: 4 bytes, or 8 where a slice has an axis of 2^16 voxels or more.
#pragma once

#include "bit_passes.h"
#include "host_device.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace breakeven {

constexpr int32_t kNowhere = -1;

// Row and column of a voxel in its slice, in one unsigned number; `none` where there is no such voxel.
template <typename Place>
struct PlaceInSlice {
  static constexpr int kBits = sizeof(Place) * 4;
  static constexpr Place none = static_cast<Place>(~Place{0});
  static constexpr int64_t kMaxSize = (int64_t{1} << kBits) - 1;

  BREAKEVEN_HOST_DEVICE static Place pack(int64_t y, int64_t x) {
    return static_cast<Place>(static_cast<Place>(y) << kBits | static_cast<Place>(x));
  }
  BREAKEVEN_HOST_DEVICE static int64_t y(Place place) {
    return static_cast<int64_t>(place >> kBits);
  }
  BREAKEVEN_HOST_DEVICE static int64_t x(Place place) {
    return static_cast<int64_t>(place & kMaxSize);
  }
};

// `Value` counts squared distances: int32_t where steps are whole and all squares fit, else double.
template <typename Value, typename Place>
struct NearestProblem {
  BitGrid grid;
  const uint32_t* words;  // set where a voxel is inside
  bool is_signed;
  Value steps[3];         // z, y, x, in units
  double unit;
  int32_t* columns;       // the memory of the distances; later on, slices
  Place* places;

  // Squared distance of so many steps along an axis.
  BREAKEVEN_HOST_DEVICE Value square(int axis, int64_t distance) const {
    const Value length = steps[axis] * static_cast<Value>(distance);
    return length * length;
  }

  // `row` counts all rows of the batch.
  BREAKEVEN_HOST_DEVICE bool is_inside(int64_t row, int64_t x) const {
    return (words[row * grid.words_per_row() + x / kWordBits] >> (x % kWordBits) & 1) != 0;
  }

  // Unsigned distances are 0 outside: nothing is searched for there.
  BREAKEVEN_HOST_DEVICE bool has_search(bool inside) const {
    return inside || is_signed;
  }
};

template <typename Value>
constexpr Value kFarthest = std::numeric_limits<Value>::max();

// ---- the last axis, from bits ----

template <typename Value, typename Place>
struct FindColumns {
  NearestProblem<Value, Place> problem;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t voxel) const {
    const int64_t row = quotient(voxel, problem.grid.width);
    const int64_t x = voxel - row * problem.grid.width;
    const bool inside = problem.is_inside(row, x);
    if (problem.has_search(inside)) {
      problem.columns[voxel] = static_cast<int32_t>(nearest(row, x, inside));
    }
  }

 private:
  BREAKEVEN_HOST_DEVICE int64_t nearest(int64_t row, int64_t x, bool inside) const {
    const int64_t width = problem.grid.width;
    const int64_t left = before(row, x, inside);
    const int64_t right = after(row, x, inside, left < 0 ? width : x + (x - left));
    return right < 0 ? left : left < 0 || right - x < x - left ? right : left;
  }

  // Columns of a word whose voxels are of the other kind.
  BREAKEVEN_HOST_DEVICE uint32_t others(int64_t row, int64_t word, bool inside) const {
    const int64_t words = problem.grid.words_per_row();
    const uint32_t set = problem.words[row * words + word];
    const int64_t columns = problem.grid.width - word * kWordBits;
    return (inside ? ~set : set) & bits_below(columns < kWordBits ? static_cast<int>(columns) : kWordBits);
  }

  BREAKEVEN_HOST_DEVICE int64_t before(int64_t row, int64_t x, bool inside) const {
    int64_t word = x / kWordBits;
    uint32_t found = others(row, word, inside) & bits_below(static_cast<int>(x % kWordBits));
    while (found == 0 && word > 0) {
      found = others(row, --word, inside);
    }
    return found == 0 ? kNowhere : word * kWordBits + highest_bit(found);
  }

  // Looks no farther than up to column `end`.
  BREAKEVEN_HOST_DEVICE int64_t after(int64_t row, int64_t x, bool inside, int64_t end) const {
    int64_t word = x / kWordBits;
    uint32_t found = others(row, word, inside) & ~bits_below(static_cast<int>(x % kWordBits));
    while (found == 0 && word + 1 < problem.grid.words_per_row() && (word + 1) * kWordBits < end) {
      found = others(row, ++word, inside);
    }
    return found == 0 ? kNowhere : word * kWordBits + lowest_bit(found);
  }
};

// ---- the other axes: search within bounds ----

// The place p of [low, high] with the least cost(p) + square(|p - q|), of equal ones the smallest.
// `Costs` has `Value cost(int64_t p)`, kFarthest where p offers nothing.
template <typename Value, typename Costs, typename Squares>
BREAKEVEN_HOST_DEVICE int64_t search_outwards(
    int64_t q, int64_t low, int64_t high, const Costs& costs, const Squares& squares) {
  Value best = kFarthest<Value>;
  int64_t best_place = kNowhere;
  int64_t distance = low > q ? low - q : q > high ? q - high : 0;
  for (; q - distance >= low || q + distance <= high; ++distance) {
    const Value square = squares(distance);
    if (square > best) {
      break;
    }
    // The place before q is smaller than all places so far, the one behind it greater.
    if (q - distance >= low && q - distance <= high) {
      const Value cost = costs(q - distance);
      if (cost != kFarthest<Value> && cost + square <= best) {
        best = cost + square;
        best_place = q - distance;
      }
    }
    if (distance > 0 && q + distance <= high && q + distance >= low) {
      const Value cost = costs(q + distance);
      if (cost != kFarthest<Value> && cost + square < best) {
        best = cost + square;
        best_place = q + distance;
      }
    }
  }
  return best_place;
}

// Levels of an axis: places stride - 1, 3 stride - 1, 5 stride - 1 ... for each power of two, the largest
// first. Both neighbours at distance `stride` are of levels before, or beyond the ends.
BREAKEVEN_HOST_DEVICE int64_t first_stride(int64_t size) {
  int64_t stride = 1;
  while (stride * 2 <= size) {
    stride *= 2;
  }
  return stride;
}

BREAKEVEN_HOST_DEVICE int64_t num_of_level(int64_t size, int64_t stride) {
  return (size + stride) / (2 * stride);
}

// One level of the rows of each slice.
template <typename Value, typename Place>
struct FindRows {
  using Places = PlaceInSlice<Place>;

  NearestProblem<Value, Place> problem;
  int64_t stride;

  BREAKEVEN_HOST_DEVICE int64_t count() const {
    const BitGrid& grid = problem.grid;
    return grid.num_volumes * grid.depth * num_of_level(grid.height, stride) * grid.width;
  }

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BitGrid& grid = problem.grid;
    const int64_t line = quotient(index, grid.width);
    const int64_t x = index - line * grid.width;
    const int64_t per_slice = num_of_level(grid.height, stride);
    const int64_t slice = quotient(line, per_slice);
    const int64_t y = (2 * (line - slice * per_slice) + 1) * stride - 1;
    const Column column{problem, slice * grid.height, x, problem.is_inside(slice * grid.height + y, x)};
    if (problem.has_search(column.inside)) {
      problem.places[(column.first_row + y) * grid.width + x] = find(column, y);
    }
  }

 private:
  // What the rows of one column offer to a voxel in it.
  struct Column {
    const NearestProblem<Value, Place>& problem;
    int64_t first_row;
    int64_t x;
    bool inside;

    BREAKEVEN_HOST_DEVICE int64_t offered(int64_t y) const {
      const int64_t row = first_row + y;
      return problem.is_inside(row, x) != inside ? x : problem.columns[row * problem.grid.width + x];
    }
    BREAKEVEN_HOST_DEVICE Value operator()(int64_t y) const {
      const int64_t at = offered(y);
      return at < 0 ? kFarthest<Value> : problem.square(2, at < x ? x - at : at - x);
    }
    // The row that the nearest voxel of row y lies in.
    BREAKEVEN_HOST_DEVICE int64_t known(int64_t y) const {
      const int64_t row = first_row + y;
      if (problem.is_inside(row, x) != inside) {
        return y;
      }
      const Place place = problem.places[row * problem.grid.width + x];
      return place == Places::none ? kNowhere : Places::y(place);
    }
  };

  struct Squares {
    const NearestProblem<Value, Place>& problem;

    BREAKEVEN_HOST_DEVICE Value operator()(int64_t distance) const {
      return problem.square(1, distance);
    }
  };

  BREAKEVEN_HOST_DEVICE Place find(const Column& column, int64_t y) const {
    const int64_t low = y - stride < 0 ? 0 : column.known(y - stride);
    const int64_t high = y + stride < problem.grid.height ? column.known(y + stride) : problem.grid.height - 1;
    // A neighbour with no voxel to go to: the slice has none.
    if (low < 0 || high < 0) {
      return Places::none;
    }
    const int64_t found = search_outwards<Value>(y, low, high, column, Squares{problem});
    return found < 0 ? Places::none : Places::pack(found, column.offered(found));
  }
};

// One level of the slices of each volume; these are written where the columns were.
template <typename Value, typename Place>
struct FindSlices {
  using Places = PlaceInSlice<Place>;

  NearestProblem<Value, Place> problem;
  int64_t stride;

  BREAKEVEN_HOST_DEVICE int64_t count() const {
    const BitGrid& grid = problem.grid;
    return grid.num_volumes * num_of_level(grid.depth, stride) * grid.height * grid.width;
  }

  BREAKEVEN_HOST_DEVICE void operator()(int64_t index) const {
    const BitGrid& grid = problem.grid;
    const int64_t line = quotient(index, grid.width);
    const int64_t x = index - line * grid.width;
    const int64_t plane = quotient(line, grid.height);
    const int64_t y = line - plane * grid.height;
    const int64_t per_volume = num_of_level(grid.depth, stride);
    const int64_t volume = quotient(plane, per_volume);
    const int64_t z = (2 * (plane - volume * per_volume) + 1) * stride - 1;
    const int64_t first_row = volume * grid.depth * grid.height + y;
    const Column column{problem, first_row, y, x, problem.is_inside(first_row + z * grid.height, x)};
    if (problem.has_search(column.inside)) {
      problem.columns[column.voxel(z)] = static_cast<int32_t>(find(column, z));
    }
  }

 private:
  // What the slices above and below a voxel offer to it.
  struct Column {
    const NearestProblem<Value, Place>& problem;
    int64_t first_row;  // of slice 0
    int64_t y;
    int64_t x;
    bool inside;

    BREAKEVEN_HOST_DEVICE int64_t row(int64_t z) const {
      return first_row + z * problem.grid.height;
    }
    BREAKEVEN_HOST_DEVICE int64_t voxel(int64_t z) const {
      return row(z) * problem.grid.width + x;
    }
    BREAKEVEN_HOST_DEVICE Value operator()(int64_t z) const {
      if (problem.is_inside(row(z), x) != inside) {
        return 0;
      }
      const Place place = problem.places[voxel(z)];
      if (place == Places::none) {
        return kFarthest<Value>;
      }
      const int64_t dy = Places::y(place) - y;
      const int64_t dx = Places::x(place) - x;
      return problem.square(2, dx) + problem.square(1, dy);
    }
    BREAKEVEN_HOST_DEVICE int64_t known(int64_t z) const {
      return problem.is_inside(row(z), x) != inside ? z : problem.columns[voxel(z)];
    }
  };

  struct Squares {
    const NearestProblem<Value, Place>& problem;

    BREAKEVEN_HOST_DEVICE Value operator()(int64_t distance) const {
      return problem.square(0, distance);
    }
  };

  BREAKEVEN_HOST_DEVICE int64_t find(const Column& column, int64_t z) const {
    const int64_t low = z - stride < 0 ? 0 : column.known(z - stride);
    const int64_t high = z + stride < problem.grid.depth ? column.known(z + stride) : problem.grid.depth - 1;
    if (low < 0 || high < 0) {
      return kNowhere;
    }
    return search_outwards<Value>(z, low, high, column, Squares{problem});
  }
};

// Distances, and flat indices in the volume where `nearest` is not null. `distances` is the memory of the
// columns: each voxel reads its own number before it writes there.
template <typename Value, typename Place>
struct FinishNearest {
  using Places = PlaceInSlice<Place>;

  NearestProblem<Value, Place> problem;
  float* distances;
  int64_t* nearest;

  BREAKEVEN_HOST_DEVICE void operator()(int64_t voxel) const {
    const BitGrid& grid = problem.grid;
    const int64_t row = quotient(voxel, grid.width);
    const int64_t x = voxel - row * grid.width;
    const int64_t volume = quotient(row, grid.depth * grid.height);
    const int64_t row_of_volume = row - volume * grid.depth * grid.height;
    const int64_t z = quotient(row_of_volume, grid.height);
    const int64_t y = row_of_volume - z * grid.height;
    const bool inside = problem.is_inside(row, x);
    if (!problem.has_search(inside)) {
      write(voxel, 0.0f, voxel - volume * grid.voxels_per_volume());
      return;
    }
    const double sign = inside ? 1 : -1;
    const int64_t at_z = grid.depth > 1 ? problem.columns[voxel] : z;
    if (at_z < 0) {
      write(voxel, static_cast<float>(sign * std::numeric_limits<double>::infinity()), kNowhere);
      return;
    }
    const int64_t at_row = row + (at_z - z) * grid.height;
    Place place = Places::pack(y, x);
    if (problem.is_inside(at_row, x) == inside) {
      place = problem.places[at_row * grid.width + x];
    }
    if (place == Places::none) {
      write(voxel, static_cast<float>(sign * std::numeric_limits<double>::infinity()), kNowhere);
      return;
    }
    const Value square = problem.square(2, Places::x(place) - x) + problem.square(1, Places::y(place) - y) +
        problem.square(0, at_z - z);
    const double distance = problem.unit * std::sqrt(static_cast<double>(square));
    const int64_t flat = (at_z * grid.height + Places::y(place)) * grid.width + Places::x(place);
    write(voxel, static_cast<float>(sign * distance), flat);
  }

 private:
  BREAKEVEN_HOST_DEVICE void write(int64_t voxel, float distance, int64_t at) const {
    distances[voxel] = distance;
    if (nearest != nullptr) {
      nearest[voxel] = at;
    }
  }
};

// From packed words to distances; `problem.columns` is the memory of `distances`.
template <typename Value, typename Place, typename Launcher>
void find_nearest(
    const Launcher& launch, const NearestProblem<Value, Place>& problem, float* distances, int64_t* nearest) {
  const BitGrid& grid = problem.grid;
  const int64_t voxels = grid.num_volumes * grid.voxels_per_volume();
  launch.flat(FindColumns<Value, Place>{problem}, voxels);
  for (int64_t stride = first_stride(grid.height); stride > 0; stride /= 2) {
    const FindRows<Value, Place> level{problem, stride};
    launch.flat(level, level.count());
  }
  for (int64_t stride = first_stride(grid.depth); grid.depth > 1 && stride > 0; stride /= 2) {
    const FindSlices<Value, Place> level{problem, stride};
    launch.flat(level, level.count());
  }
  launch.flat(FinishNearest<Value, Place>{problem, distances, nearest}, voxels);
}

}  // namespace breakeven
