// The second pass: columns through all planes of a volume, along D.

// Zero bits of one row of 64 columns in every plane; words full of them were never written.
template <typename Value>
struct PlaneWords {
  const SiteWord* first;
  int64_t stride;
  bool are_known;

  PlaneWords(const Problem<Value>& problem, int64_t volume, int64_t row, int64_t word)
      : first(problem.zeros + (volume * problem.D * problem.num_words() + word) * problem.H + row),
        stride(problem.num_words() * problem.H), are_known(problem.skips_full_words() && !problem.is_flat()) {
  }

  uint64_t operator[](int64_t z) const { return first[z * stride].sites; }
};

// A value is of the side that its sign tells; on the other side the voxel is a site itself.
template <typename Value>
void split_sides(
    const Problem<Value>& problem, const Value* fetched, int64_t volume, int64_t column, int64_t width,
    const Workspace<Value>& work) {
  const int64_t plane_size = problem.H * problem.W;
  const Lanes<Value> zero = in_all_lanes(Value{0});
  for (int64_t z = 0; z < problem.D; ++z) {
    const Lanes<Value> values = load(fetched + z * kLanes);
    if (problem.is_signed) {
      store(work.source[0] + z * kLanes, higher_of(values, zero));
      store(work.source[1] + z * kLanes, difference(zero, lower_of(values, zero)));
    }
    if (problem.nearest == nullptr) {
      continue;
    }
    const int64_t own = z * plane_size + column;
    const int64_t* const nearest = problem.nearest + (volume * problem.D + z) * plane_size + column;
    for (int64_t lane = 0; lane < width; ++lane) {
      const Value value = fetched[z * kLanes + lane];
      const int64_t lead = z * plane_size + nearest[lane];
      work.lead[0][z * kLanes + lane] = value > 0 || !problem.is_signed ? lead : own + lane;
      if (problem.is_signed) {
        work.lead[1][z * kLanes + lane] = value < 0 ? lead : own + lane;
      }
    }
  }
}

// `num_columns` columns from `column` of the plane on, chunk after chunk. What comes next is asked for
// meanwhile.
template <typename Value>
void fetch_columns(
    const Problem<Value>& problem, const PlaneWords<Value>& zeros, uint64_t full, int64_t volume,
    int64_t column, int64_t num_columns, Value* to) {
  for (int64_t z = 0; z < problem.D; ++z) {
    const int64_t voxel = (volume * problem.D + z) * problem.H * problem.W + column;
    const bool is_zero = zeros.are_known && zeros[z] == full;
    for (int64_t done = 0; done < num_columns; done += kLanes) {
      Value* const row = to + done * problem.D + z * kLanes;
      if (is_zero) {
        store(row, in_all_lanes(Value{0}));
      } else {
        fetch(problem, voxel + done, num_columns - done < kLanes ? num_columns - done : kLanes, row);
      }
    }
  }
}

template <typename Value>
void pass_depth(
    const Problem<Value>& problem, int64_t volume, int64_t row, int64_t word, const Workspace<Value>& work) {
  const int64_t D = problem.D;
  const int64_t rest_of_row = problem.depth_width() - word * kWordBits;
  const int64_t num_columns = rest_of_row < kWordBits ? rest_of_row : kWordBits;
  const int64_t first = row * problem.depth_width() + word * kWordBits;
  const uint64_t full = low_bits(num_columns);
  const PlaneWords<Value> zeros(problem, volume, row, word);
  uint64_t common_zeros = zeros.are_known ? full : 0;
  for (int64_t z = 0; zeros.are_known && z < D; ++z) {
    common_zeros &= zeros[z];
  }
  if (common_zeros == full) {
    return;
  }
  const int64_t most_fetched = problem.depth_chunks() * kLanes;
  for (int64_t done = 0; done < num_columns; done += kLanes) {
    if (done % most_fetched == 0) {
      const int64_t rest = num_columns - done;
      fetch_columns(
          problem, zeros, full, volume, first + done, rest < most_fetched ? rest : most_fetched,
          work.fetched);
    }
    const Value* const fetched = work.fetched + done % most_fetched * D;
    const int64_t width = num_columns - done < kLanes ? num_columns - done : kLanes;
    if (problem.is_signed || problem.nearest != nullptr) {
      split_sides(problem, fetched, volume, first + done, width, work);
    }
    const uint64_t bits = low_bits(width) << done;
    if (zeros.are_known && (common_zeros & bits) == bits) {
      fill_rows(D, Value{0}, work.result[0]);
    } else {
      for (int64_t side = 0; side < (problem.is_signed ? 2 : 1); ++side) {
        solve(
            problem.is_signed ? work.source[side] : fetched, problem.depth, work.result[side],
            problem.nearest != nullptr ? work.place[side] : nullptr, work);
      }
    }
    for (int64_t z = 0; z < D; ++z) {
      if (!zeros.are_known || zeros[z] != full) {
        put(problem, work, z, (volume * D + z) * problem.H * problem.W + first + done, width, true);
      }
    }
  }
}
