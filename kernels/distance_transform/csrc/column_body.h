// One axis of sixteen neighbouring columns: the way that suits the values.

// source -> result, rows of kLanes values; `at`, where it is not nullptr, gets the place of the lowest
// candidate. Every column has a finite value.
template <bool kWantsPlaces, typename Value>
void solve(const Value* f, const Axis<Value>& axis, Value* result, Value* at, const Workspace<Value>& work) {
  if (search<kWantsPlaces>(f, axis, result, at)) {
    return;
  }
  if (descend<kWantsPlaces>(f, axis, result, at, work.range)) {
    return;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    take_envelope<kWantsPlaces>(f + lane, axis, result + lane, at + lane, work.apex);
  }
}

template <typename Value>
inline void solve(
    const Value* f, const Axis<Value>& axis, Value* result, Value* at, const Workspace<Value>& work) {
  if (at != nullptr) {
    solve<true>(f, axis, result, at, work);
  } else {
    solve<false>(f, axis, result, result, work);
  }
}
