// Along the last axis: from bits to the distance of each of sixteen voxels to the nearest site of its row.

// Place of the highest bit of each lane, for 0 < value < 2^24; anything for 0.
inline Lanes<int32_t> highest_bit(const Lanes<int32_t>& lanes) {
  Lanes<int32_t> bit;
  for (int i = 0; i < Lanes<int32_t>::kParts; ++i) {
#if BREAKEVEN_AVX512
    bit.part[i] = 31 - (Lanes<int32_t>::Vector)_mm512_lzcnt_epi32((__m512i)lanes.part[i]);
#else
    // The exponent of the float of that value.
    using Floats = float __attribute__((vector_size(kVectorBytes)));
    const Floats as_float = __builtin_convertvector(lanes.part[i], Floats);
    bit.part[i] = ((Lanes<int32_t>::Vector)as_float >> 23) - 127;
#endif
  }
  return bit;
}

struct alignas(64) LaneConstants {
  int32_t number[kLanes];  // of the lane
  int32_t up_to[kLanes];   // bits of it and those before
  int32_t from[kLanes];    // bits of it and those behind, of sixteen
};

constexpr LaneConstants make_lane_constants() {
  LaneConstants lanes{};
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes.number[lane] = lane;
    lanes.up_to[lane] = (2 << lane) - 1;
    lanes.from[lane] = 0xffff & ~((1 << lane) - 1);
  }
  return lanes;
}

constexpr LaneConstants kLane = make_lane_constants();

// Steps to the last site at or before each lane, and to the first at or after it; both exceed the length of
// the row where there is none.
struct Steps {
  Lanes<int32_t> back, ahead;
};

inline Steps steps_to_sites(const SiteWord& word, int64_t first, int chunk) {
  const int shift = chunk * static_cast<int>(kLanes);
  const auto here = static_cast<int32_t>(word.sites >> shift & 0xffff);
  const uint64_t below = word.sites & ((uint64_t{1} << shift) - 1);
  const uint64_t above = shift + kLanes < kWordBits ? word.sites >> (shift + kLanes) : 0;
  const auto start = static_cast<int32_t>(first) + shift;
  // From lane 0 back, and from lane 0 ahead.
  const int32_t carried_back = below ? shift - (63 - __builtin_clzll(below)) : start - word.before;
  const int32_t carried_ahead =
      above ? static_cast<int32_t>(kLanes) + __builtin_ctzll(above) : word.after - start;
  using Vector = Lanes<int32_t>::Vector;
  const Lanes<int32_t> number = load(kLane.number), up_to = load(kLane.up_to), from = load(kLane.from);
  Lanes<int32_t> before, behind;
  for (int i = 0; i < Lanes<int32_t>::kParts; ++i) {
    before.part[i] = up_to.part[i] & here;
    const auto ahead = from.part[i] & here;
    behind.part[i] = ahead & -ahead;
  }
  const Lanes<int32_t> last = highest_bit(before), next = highest_bit(behind);
  Steps steps;
  for (int i = 0; i < Lanes<int32_t>::kParts; ++i) {
    const Vector last_place = before.part[i] == 0 ? -carried_back - Vector{} : last.part[i];
    const Vector next_place = behind.part[i] == 0 ? carried_ahead - Vector{} : next.part[i];
    steps.back.part[i] = number.part[i] - last_place;
    steps.ahead.part[i] = next_place - number.part[i];
  }
  return steps;
}

// Squared distances of lanes [first + 16 chunk, + 16); kUnreached in a row without a site.
template <typename Value>
inline void square_steps(const Steps& steps, int64_t length, Value square, Value* to) {
  const Lanes<int32_t> nearest = lower_of(steps.back, steps.ahead);
  alignas(64) int32_t count[kLanes];
  store(count, nearest);
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool is_reached = count[lane] <= length;
    const Value num_steps = is_reached ? count[lane] : 0;
    to[lane] = is_reached ? num_steps * num_steps * square : kUnreached<Value>;
  }
}
