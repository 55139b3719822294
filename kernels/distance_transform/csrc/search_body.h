// lowest[q] = min_p f[p] + squares[q - p] by looking outwards from q, until no place can be lower.

// Mean radius above which `descend` is cheaper; measured.
constexpr int64_t kMeanRadius = 24;
constexpr int64_t kStepsPerCheck = 2;

template <bool kWantsPlaces, typename Value>
inline void take(Lowest<Value>& lowest, const Lanes<Value>& candidate, int64_t place, bool comes_before) {
  if constexpr (!kWantsPlaces) {
    lowest.value = lower_of(lowest.value, candidate);
  } else if (comes_before) {
    lowest.take_lower_or_equal(candidate, static_cast<Value>(place));
  } else {
    lowest.take_lower(candidate, static_cast<Value>(place));
  }
}

// Of equal candidates the first in the row is taken, so that one on the edge of the search has to be looked
// at.
template <bool kWantsPlaces, typename Value>
inline bool may_be_lowered(const Lowest<Value>& lowest, const Value& square) {
  if constexpr (kWantsPlaces && sizeof(Value) == sizeof(int32_t)) {
    return any_above(lowest.value, square - 1);
  } else if constexpr (kWantsPlaces) {
    return any_above(lowest.value, square * (1 - 0x1p-50));
  } else {
    return any_above(lowest.value, square);
  }
}

// Rows are of kLanes values. False where the search turned out long and was left.
template <bool kWantsPlaces, typename Value>
bool search(const Value* f, const Axis<Value>& axis, Value* result, Value* at) {
  const int64_t n = axis.length;
  int64_t num_steps = 0;
  for (int64_t q = 0; q < n; ++q) {
    Lowest<Value> lowest{load(f + q * kLanes), {}};
    if constexpr (kWantsPlaces) {
      lowest.at = in_all_lanes(static_cast<Value>(q));
    }
    const int64_t to_end = n - 1 - q;
    const int64_t near = q < to_end ? q : to_end;
    const int64_t far = q < to_end ? to_end : q;
    int64_t r = 1;
    while (r <= far && may_be_lowered<kWantsPlaces>(lowest, axis.squares[r])) {
      int64_t until = r + kStepsPerCheck;
      for (; r < until && r <= near; ++r) {
        const Lanes<Value> before = load(f + (q - r) * kLanes), behind = load(f + (q + r) * kLanes);
        if constexpr (kWantsPlaces) {
          take<true>(lowest, plus(before, axis.squares[r]), q - r, true);
          take<true>(lowest, plus(behind, axis.squares[r]), q + r, false);
        } else {
          take<false>(lowest, plus(lower_of(before, behind), axis.squares[r]), 0, false);
        }
      }
      for (; r < until && r <= far; ++r) {
        const int64_t p = q < to_end ? q + r : q - r;
        take<kWantsPlaces>(lowest, plus(load(f + p * kLanes), axis.squares[r]), p, p < q);
      }
    }
    num_steps += r - 1;
    store(result + q * kLanes, lowest.value);
    if constexpr (kWantsPlaces) {
      store(at + q * kLanes, lowest.at);
    }
    if (num_steps > kMeanRadius * (q + n / 8 + 8)) {
      return false;
    }
  }
  return true;
}
