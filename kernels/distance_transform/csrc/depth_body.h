// The second pass: columns through all planes of a volume, along D.

// Zero bits of one row of 64 columns in every plane; words full of them were never written.
template <typename Value>
struct PlaneWords {
  const SiteWord* first;
  int64_t stride;
  bool are_known;

  PlaneWords(const Problem<Value>& problem, int64_t volume, int64_t row, int64_t word)
      : first(problem.zeros + (volume * problem.D * problem.num_words() + word) * problem.H + row),
        stride(problem.num_words() * problem.H),
        are_known(problem.skips_full_words() && !problem.is_flat()) {}

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

template <typename Value>
void pass_depth(
    const Problem<Value>& problem, int64_t volume, int64_t row, int64_t word, const Workspace<Value>& work) {
  const int64_t D = problem.D;
  const int64_t plane_size = problem.H * problem.W;
  const int64_t rest_of_row = problem.depth_width() - word * kWordBits;
  const int64_t num_columns = rest_of_row < kWordBits ? rest_of_row : kWordBits;
  const int64_t first = row * problem.depth_width() + word * kWordBits;
  const uint64_t full = low_bits(num_columns);
  const PlaneWords<Value> zeros(problem, volume, row, word);
  uint64_t common_zeros = 0;
  if (zeros.are_known) {
    common_zeros = full;
    for (int64_t z = 0; z < D; ++z) {
      common_zeros &= zeros[z];
    }
    if (common_zeros == full) {
      return;
    }
  }
  for (int64_t done = 0; done < num_columns; done += problem.depth_chunks() * kLanes) {
    const int64_t ahead = num_columns - done;
    const int64_t num_fetched = ahead < problem.depth_chunks() * kLanes ? ahead : problem.depth_chunks() * kLanes;
    for (int64_t z = 0; z < D; ++z) {
      const int64_t voxel = (volume * D + z) * plane_size + first + done;
      const bool is_skipped = zeros.are_known && zeros[z] == full;
      for (int64_t column = 0; column < num_fetched; column += kLanes) {
        Value* const to = work.fetched + column * D + z * kLanes;
        const int64_t width = num_fetched - column < kLanes ? num_fetched - column : kLanes;
        if (is_skipped) {
          store(to, in_all_lanes(Value{0}));
        } else {
          fetch(problem, voxel + column, width, to);
        }
      }
    }
    for (int64_t column = 0; column < num_fetched; column += kLanes) {
      const int64_t width = num_fetched - column < kLanes ? num_fetched - column : kLanes;
      const uint64_t bits = low_bits(width) << (done + column);
      const Value* const fetched = work.fetched + column * D;
      if (problem.is_signed || problem.nearest != nullptr) {
        split_sides(problem, fetched, volume, first + done + column, width, work);
      }
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
          put(problem, work, z, (volume * D + z) * plane_size + first + done + column, width, true);
        }
      }
    }
  }
}
