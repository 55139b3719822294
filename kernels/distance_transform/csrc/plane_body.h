// The first pass: columns of a plane, along W from bits and along H.

// What there is to do for sixteen columns; `nothing` where all of them are sites, throughout.
enum class Task { nothing, unreachable, search };

inline Task task_of(uint64_t common_sites, int64_t chunk, int64_t width, bool any_site_in_plane) {
  const uint64_t bits = low_bits(width) << (chunk * kLanes);
  return (common_sites & bits) == bits ? Task::nothing : any_site_in_plane ? Task::search : Task::unreachable;
}

// Squared distances along W of sixteen columns, and, where wanted, the sites in the plane that they lead to.
template <typename Value>
void read_columns(
    const Problem<Value>& problem, const SiteWord* words, int64_t first, int64_t chunk, int64_t width,
    Value* source, int64_t* lead) {
  const int64_t shift = chunk * kLanes;
  for (int64_t y = 0; y < problem.H; ++y) {
    Value* const row = source + y * kLanes;
    const SiteWord& word = words[y];
    if (lead == nullptr && (word.sites >> shift & 0xffff) == 0xffff) {
      store(row, in_all_lanes(Value{0}));
      continue;
    }
    const Steps steps = steps_to_sites(word, first, chunk);
    square_steps(steps, problem.W, problem.square_W, row);
    // Lanes past the width then never lengthen a search.
    for (int64_t lane = width; lane < kLanes; ++lane) {
      row[lane] = 0;
    }
    if (lead != nullptr) {
      alignas(64) int32_t back[kLanes], ahead[kLanes];
      store(back, steps.back);
      store(ahead, steps.ahead);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t x = first + shift + lane;
        lead[y * kLanes + lane] =
            y * problem.W + (back[lane] <= ahead[lane] ? x - back[lane] : x + ahead[lane]);
      }
    }
  }
}

template <typename Value>
void fill_rows(int64_t num_rows, Value value, Value* rows) {
  for (int64_t row = 0; row < num_rows; ++row) {
    store(rows + row * kLanes, in_all_lanes(value));
  }
}

template <typename Value>
void pass_plane(const Problem<Value>& problem, int64_t plane, int64_t word, const Workspace<Value>& work) {
  const int64_t first = word * kWordBits;
  const int64_t num_columns = problem.W - first < kWordBits ? problem.W - first : kWordBits;
  const int64_t num_sides = problem.is_signed ? 2 : 1;
  const bool wants_nearest = problem.nearest != nullptr;
  const SiteWord* words[2];
  uint64_t common_sites[2];
  bool any_site_in_plane[2];
  for (int64_t side = 0; side < num_sides; ++side) {
    words[side] =
        (side == 0 ? problem.zeros : problem.ones) + (plane * problem.num_words() + word) * problem.H;
    common_sites[side] = ~uint64_t{0};
    any_site_in_plane[side] = false;
    for (int64_t y = 0; y < problem.H; ++y) {
      common_sites[side] &= words[side][y].sites;
      any_site_in_plane[side] |= !words[side][y].has_none_in_row();
    }
  }
  const uint64_t full = low_bits(num_columns);
  if (problem.skips_full_words() && common_sites[0] == full) {
    return;
  }
  for (int64_t chunk = 0; chunk * kLanes < num_columns; ++chunk) {
    const int64_t rest = num_columns - chunk * kLanes;
    const int64_t width = rest < kLanes ? rest : kLanes;
    for (int64_t side = 0; side < num_sides; ++side) {
      Value* const place = wants_nearest ? work.place[side] : nullptr;
      const Task task = task_of(common_sites[side], chunk, width, any_site_in_plane[side]);
      if (task == Task::search || (task == Task::nothing && wants_nearest)) {
        read_columns(
            problem, words[side], first, chunk, width, work.source[side],
            wants_nearest ? work.lead[side] : nullptr);
        solve(work.source[side], problem.height, work.result[side], place, work);
        continue;
      }
      fill_rows(problem.H, task == Task::nothing ? Value{0} : kUnreached<Value>, work.result[side]);
      if (wants_nearest) {
        // Other planes are nearer: any lead will do.
        fill_rows(problem.H, Value{0}, place);
        __builtin_memset(work.lead[side], 0, kLanes * sizeof(int64_t));
      }
    }
    for (int64_t y = 0; y < problem.H; ++y) {
      if (!problem.skips_full_words() || words[0][y].sites != full) {
        put(problem, work, y, (plane * problem.H + y) * problem.W + first + chunk * kLanes, width,
            problem.D == 1);
      }
    }
  }
}
