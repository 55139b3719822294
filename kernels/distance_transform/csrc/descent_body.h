// lowest[q] = min_p f[p] + squares[q - p] by halving: the best p never falls as q grows, so that it lies
// between those of two neighbours that are known already. One range serves all lanes, from the least to the
// largest.

// Mean number of candidates above which one lower envelope a column is cheaper; measured.
constexpr int64_t kMeanCandidates = 400;

template <bool kWantsPlaces, typename Value>
inline Lowest<Value> lowest_between(
    const Value* f, const Axis<Value>& axis, int64_t q, int64_t begin, int64_t end) {
  Lowest<Value> lowest{
      plus(load(f + begin * kLanes), axis.squares[q - begin]), in_all_lanes(static_cast<Value>(begin))};
  for (int64_t p = begin + 1; p < end; ++p) {
    const Lanes<Value> candidate = plus(load(f + p * kLanes), axis.squares[q - p]);
    if constexpr (kWantsPlaces) {
      lowest.take_lower(candidate, static_cast<Value>(p));
    } else {
      lowest.value = lower_of(lowest.value, candidate);
    }
  }
  return lowest;
}

// False where the ranges turned out wide and were left. `range` holds pairs. Every column has a finite value.
template <bool kWantsPlaces, typename Value>
bool descend(const Value* f, const Axis<Value>& axis, Value* result, Value* at, int32_t* range) {
  const int64_t n = axis.length;
  int64_t stride = 1;
  while (2 * stride <= n) {
    stride *= 2;
  }
  int64_t num_candidates = 0;
  for (; stride >= 1; stride /= 2) {
    for (int64_t q = stride - 1; q < n; q += 2 * stride) {
      const int64_t begin = q >= stride ? range[2 * (q - stride)] : 0;
      const int64_t end = q + stride < n ? range[2 * (q + stride) + 1] + 1 : n;
      num_candidates += end - begin;
      if (stride == 1 && !kWantsPlaces) {
        store(result + q * kLanes, lowest_between<false>(f, axis, q, begin, end).value);
        continue;
      }
      const Lowest<Value> lowest = lowest_between<true>(f, axis, q, begin, end);
      store(result + q * kLanes, lowest.value);
      range[2 * q] = static_cast<int32_t>(lowest_lane(lowest.at));
      range[2 * q + 1] = static_cast<int32_t>(highest_lane(lowest.at));
      if constexpr (kWantsPlaces) {
        store(at + q * kLanes, lowest.at);
      }
    }
    if (num_candidates > kMeanCandidates * n) {
      return false;
    }
  }
  return true;
}
