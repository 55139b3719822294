// lowest[q] = min_p f[p] + squares[q - p], one column after the other, by the lower envelope of the parabolas
// (Felzenszwalb and Huttenlocher, 2012; Maurer, Qi and Raghavan, 2003): linear in the length, whatever the
// values.

// Whether the parabola of v is nowhere lower than both of u and w, for u < v < w. Whole numbers stay exact.
template <typename Value>
inline bool is_hidden(const Value* f, Value square, int64_t u, int64_t v, int64_t w) {
  const auto to_u = v - u, to_w = w - v;
  if constexpr (sizeof(Value) == sizeof(int32_t)) {
    const auto at = [f](int64_t p) { return static_cast<int64_t>(f[p * kLanes]); };
    return (to_u + to_w) * at(v) - to_w * at(u) - to_u * at(w) > square * to_u * to_w * (to_u + to_w);
  } else {
    const double a = to_u, b = to_w;
    const double fu = f[u * kLanes], fv = f[v * kLanes], fw = f[w * kLanes];
    // Differences first: they lose nothing that counts.
    return (fv - fu) / a + (fv - fw) / b > square * (a + b);
  }
}

// `f` and results are those of one lane.
template <bool kWantsPlaces, typename Value>
void take_envelope(const Value* f, const Axis<Value>& axis, Value* result, Value* at, int64_t* apex) {
  const int64_t n = axis.length;
  int64_t count = 0;
  for (int64_t q = 0; q < n; ++q) {
    if (f[q * kLanes] >= kUnreached<Value>) {
      continue;
    }
    while (count > 1 && is_hidden(f, axis.squares[1], apex[count - 2], apex[count - 1], q)) {
      --count;
    }
    apex[count++] = q;
  }
  int64_t lowest = 0;
  const auto value_at = [&](int64_t number, int64_t q) {
    return f[apex[number] * kLanes] + axis.squares[q - apex[number]];
  };
  for (int64_t q = 0; q < n; ++q) {
    while (lowest + 1 < count && value_at(lowest + 1, q) < value_at(lowest, q)) {
      ++lowest;
    }
    result[q * kLanes] = value_at(lowest, q);
    if constexpr (kWantsPlaces) {
      at[q * kLanes] = static_cast<Value>(apex[lowest]);
    }
  }
}
