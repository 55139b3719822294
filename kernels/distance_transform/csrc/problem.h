// One call, as the passes over its axes see it.
#pragma once

#include "sites.h"

#include <cstdint>
#include <limits>

namespace breakeven::edt {

constexpr int64_t kLanes = 16;  // columns worked on together: one cache line of int32
constexpr int64_t kChunks = kWordBits / kLanes;
constexpr int64_t kLongColumn = 1024;

// Values are squared distances in units of `unit`: whole numbers in int32 where they fit, else double.
template <typename Value>
constexpr Value kUnreached = std::numeric_limits<Value>::infinity();
// Above all sums of squares, and its sum with one of them is in range.
template <>
constexpr int32_t kUnreached<int32_t> = int32_t{1} << 30;

// One spatial axis. squares[r] is the squared distance of r steps, for -length <= r <= length.
template <typename Value>
struct Axis {
  int64_t length;
  const Value* squares;
};

// Volumes [N, D, H, W], contiguous; absent axes have size 1. Values and flat indices of a plane, then of the
// volume, are kept where the results will be: in `distances` (their upper half, of a double) and `nearest`.
template <typename Value>
struct Problem {
  int64_t N, D, H, W;
  Axis<Value> depth, height;
  Value square_W;  // of one step along the last axis
  double unit;     // distance = root(value) * unit
  bool is_signed;
  const SiteWord* zeros;  // [N * D, words, H]: leads of the voxels inside
  const SiteWord* ones;   // the same of the voxels outside, where distances are signed
  float* distances;
  uint32_t* lower_halves;  // of double values, where D > 1
  int64_t* nearest;        // nullptr where not wanted

  int64_t num_words() const { return (W + kWordBits - 1) / kWordBits; }
  // Narrow planes are one long row to the pass along D: few columns would otherwise leave lanes unused.
  bool is_flat() const { return W < kWordBits; }
  int64_t depth_rows() const { return is_flat() ? 1 : H; }
  int64_t depth_width() const { return is_flat() ? H * W : W; }
  int64_t depth_words() const { return (depth_width() + kWordBits - 1) / kWordBits; }
  // Chunks fetched together: neighbours in memory, as long as they stay in the cache.
  int64_t depth_chunks() const { return D <= kLongColumn ? kChunks : 1; }
  // Words full of zeros are 0 in the result from the beginning; nobody looks at them again.
  bool skips_full_words() const { return !is_signed && nearest == nullptr; }
};

// What a thread works in: rows of kLanes values, as many as the longer of D and H. The two sides are the
// voxels inside and, where distances are signed, those outside; places and leads are there where `nearest` is
// wanted.
template <typename Value>
struct Workspace {
  Value* fetched;    // [depth_chunks(), rows], where D > 1
  Value* source[2];  // [rows]
  Value* result[2];
  Value* place[2];   // row of the source that gave the lowest candidate
  int64_t* lead[2];  // flat index that each source stands for, in its plane or volume
  int32_t* range;    // [rows, 2]: least and largest place of a row
  int64_t* apex;     // [rows], of the lower envelope of one column
};

}  // namespace breakeven::edt
