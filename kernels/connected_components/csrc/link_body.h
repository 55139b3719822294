// Find runs and join those that touch; included once a level, and by the merging of slabs.
//
// Joins are given to `join(run of the visited bundle, run of the other)`; every pair of touching runs is given
// once a word at the least.

struct BundleRow {
  const uint64_t* any;
  const uint64_t* starts;
  const uint32_t* before;

  // Number of the last run that starts at or before a column.
  uint32_t run_at(int64_t word, int bit) const {
    const uint64_t upto = ~uint64_t{0} >> (63 - bit);
    return before[word] + static_cast<uint32_t>(__builtin_popcountll(starts[word] & upto)) - 1;
  }
};

inline BundleRow bundle_row(const Layer& layer, int64_t bundle, int64_t words) {
  return {layer.any + bundle * words, layer.starts + bundle * words, layer.before + bundle * words};
}

// Fill `any`, `starts` and `before` of a bundle whose first run has the given number; return its runs.
inline uint32_t find_runs(const Grid& grid, const Layer& layer, int64_t bundle, uint32_t first) {
  const int64_t words = grid.words();
  uint64_t* const any = layer.any + bundle * words;
  uint64_t* const starts = layer.starts + bundle * words;
  uint32_t* const before = layer.before + bundle * words;
  const int64_t y = bundle * grid.bundle_height();
  const uint64_t* rows[4] = {layer.row(0, y, words), layer.row(0, y + 1, words), layer.zero_row, layer.zero_row};
  if (grid.bundling == Bundling::quad) {
    rows[2] = layer.row(1, y, words);
    rows[3] = layer.row(1, y + 1, words);
  }
  uint32_t next = first;
  uint64_t last = 0;
  for (int64_t word = 0; word < words; ++word) {
    uint64_t here;
    if (grid.bundling == Bundling::single) {
      here = any[word];
    } else {
      here = rows[0][word] | rows[1][word] | rows[2][word] | rows[3][word];
      any[word] = here;
    }
    starts[word] = here & ~(here << 1 | last);
    last = here >> 63;
    before[word] = next;
    next += static_cast<uint32_t>(__builtin_popcountll(starts[word]));
  }
  return next - first;
}

// Join the runs that contain a column of `contacts`: in every stretch of columns in which neither run changes,
// the first such column. Adding a one at the start of each stretch carries it to there.
template <class Join>
inline void join_contacts(const BundleRow& here, const BundleRow& other, int64_t word, uint64_t contacts, Join& join) {
  if (contacts == 0) {
    return;
  }
  const uint64_t changes = here.starts[word] | other.starts[word];
  uint64_t firsts = ((~contacts & ~(changes >> 1)) + (changes | 1)) & contacts;
  for (; firsts != 0; firsts &= firsts - 1) {
    const int bit = __builtin_ctzll(firsts);
    join(here.run_at(word, bit), other.run_at(word, bit));
  }
}

// Rows that face each other touch where they share a column.
template <class Facing, class OtherFacing, class Join>
inline void join_sharing(
    const BundleRow& here, const BundleRow& other, int64_t words, Facing facing, OtherFacing other_facing, Join& join) {
  for (int64_t word = 0; word < words; ++word) {
    join_contacts(here, other, word, facing(word) & other_facing(word), join);
  }
}

// A word between its neighbours, so that its columns can be shifted by one.
struct Sliding {
  uint64_t last;
  uint64_t here;
  uint64_t next;

  void advance(uint64_t value) {
    last = here;
    here = next;
    next = value;
  }
  uint64_t near() const {
    return here << 1 | last >> 63 | here >> 1 | next << 63;
  }
  uint64_t following() const {
    return here >> 1 | next << 63;
  }
};

// Pairs of facing rows that touch where they share a column or have adjacent ones; row 0 faces row 0 and 1
// row 1. With `across`, 0 and 1 touch as well, where they share a column.
template <int kPairs, bool kAcross, class Facing, class OtherFacing, class Join>
inline void join_adjacent(
    const BundleRow& here, const BundleRow& other, int64_t words, Facing facing, OtherFacing other_facing, Join& join) {
  Sliding mine[kPairs], theirs[kPairs], mine_alone[kPairs], theirs_alone[kPairs];
  for (int pair = 0; pair < kPairs; ++pair) {
    const uint64_t m = facing(pair, 0);
    const uint64_t t = other_facing(pair, 0);
    mine[pair] = {0, 0, m};
    theirs[pair] = {0, 0, t};
    mine_alone[pair] = {0, 0, m & ~other.any[0]};
    theirs_alone[pair] = {0, 0, t & ~here.any[0]};
  }
  for (int64_t word = 0; word < words; ++word) {
    const bool has_next = word + 1 < words;
    uint64_t contacts = 0;
    uint64_t ends_before = 0;  // A run of `here` ends in the column before that in which one of `other` starts,
    uint64_t starts_after = 0;  // or the other way round: corners that touch, with no column in common.
    uint64_t my_columns = 0;
    uint64_t their_columns = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
      const uint64_t m = has_next ? facing(pair, word + 1) : 0;
      const uint64_t t = has_next ? other_facing(pair, word + 1) : 0;
      mine[pair].advance(m);
      theirs[pair].advance(t);
      mine_alone[pair].advance(has_next ? m & ~other.any[word + 1] : 0);
      theirs_alone[pair].advance(has_next ? t & ~here.any[word + 1] : 0);
      contacts |= (mine[pair].here & theirs[pair].here) | (mine[pair].here & other.any[word] & theirs[pair].near()) |
          (theirs[pair].here & here.any[word] & mine[pair].near());
      ends_before |= mine_alone[pair].here & theirs_alone[pair].following();
      starts_after |= theirs_alone[pair].here & mine_alone[pair].following();
      my_columns |= mine[pair].here;
      their_columns |= theirs[pair].here;
    }
    if (kAcross) {
      contacts |= my_columns & their_columns;
    }
    join_contacts(here, other, word, contacts, join);
    for (; ends_before != 0; ends_before &= ends_before - 1) {
      const int bit = __builtin_ctzll(ends_before);
      join(here.run_at(word, bit), other.run_at(word, bit) + 1);
    }
    for (; starts_after != 0; starts_after &= starts_after - 1) {
      const int bit = __builtin_ctzll(starts_after);
      join(here.run_at(word, bit) + 1, other.run_at(word, bit));
    }
  }
}

inline bool has_runs(const Layer& layer, int64_t bundle) {
  return layer.first_run[bundle] != layer.first_run[bundle + 1];
}

// A bundle and the one before it in height.
template <Bundling kBundling, class Join>
inline void join_beside(
    const Grid& grid, const Layer& layer, int64_t bundle, const Layer& other_layer, int64_t other_bundle, Join& join) {
  const int64_t words = grid.words();
  const BundleRow here = bundle_row(layer, bundle, words);
  const BundleRow other = bundle_row(other_layer, other_bundle, words);
  if constexpr (kBundling == Bundling::single) {
    join_sharing(
        here, other, words, [&](int64_t w) { return here.any[w]; }, [&](int64_t w) { return other.any[w]; }, join);
  } else {
    const int64_t y = 2 * bundle;
    const int64_t other_y = 2 * other_bundle + 1;
    const uint64_t* const mine[2] = {layer.row(0, y, words), layer.row(1, y, words)};
    const uint64_t* const theirs[2] = {other_layer.row(0, other_y, words), other_layer.row(1, other_y, words)};
    if constexpr (kBundling == Bundling::pair) {
      join_adjacent<1, false>(
          here, other, words, [&](int, int64_t w) { return mine[0][w]; },
          [&](int, int64_t w) { return theirs[0][w]; }, join);
    } else {
      join_adjacent<1, false>(
          here, other, words, [&](int, int64_t w) { return mine[0][w] | mine[1][w]; },
          [&](int, int64_t w) { return theirs[0][w] | theirs[1][w]; }, join);
    }
  }
}

// A bundle and those of the layer before it.
template <Bundling kBundling, class Join>
inline void join_above(const Grid& grid, const Layer& layer, int64_t bundle, const Layer& above, Join& join) {
  const int64_t words = grid.words();
  const BundleRow here = bundle_row(layer, bundle, words);
  const int64_t y = bundle * grid.bundle_height();
  if constexpr (kBundling == Bundling::single) {
    if (has_runs(above, bundle)) {
      const BundleRow other = bundle_row(above, bundle, words);
      join_sharing(
          here, other, words, [&](int64_t w) { return here.any[w]; }, [&](int64_t w) { return other.any[w]; }, join);
    }
  } else {
    const int64_t last_slice = above.slices - 1;
    const uint64_t* const mine[2] = {layer.row(0, y, words), layer.row(0, y + 1, words)};
    const uint64_t* const theirs[2] = {above.row(last_slice, y, words), above.row(last_slice, y + 1, words)};
    if (has_runs(above, bundle)) {
      const BundleRow other = bundle_row(above, bundle, words);
      if constexpr (kBundling == Bundling::pair) {
        join_adjacent<2, true>(
            here, other, words, [&](int pair, int64_t w) { return mine[pair][w]; },
            [&](int pair, int64_t w) { return theirs[pair][w]; }, join);
      } else {
        join_adjacent<1, false>(
            here, other, words, [&](int, int64_t w) { return mine[0][w] | mine[1][w]; },
            [&](int, int64_t w) { return theirs[0][w] | theirs[1][w]; }, join);
      }
    }
    const auto join_corner = [&](int64_t other_bundle, int64_t my_row, int64_t other_y) {
      const BundleRow other = bundle_row(above, other_bundle, words);
      const uint64_t* const facing = layer.row(0, my_row, words);
      const uint64_t* const other_facing = above.row(last_slice, other_y, words);
      if constexpr (kBundling == Bundling::pair) {
        join_sharing(
            here, other, words, [&](int64_t w) { return facing[w]; }, [&](int64_t w) { return other_facing[w]; },
            join);
      } else {
        join_adjacent<1, false>(
            here, other, words, [&](int, int64_t w) { return facing[w]; },
            [&](int, int64_t w) { return other_facing[w]; }, join);
      }
    };
    if (bundle > 0 && has_runs(above, bundle - 1)) {
      join_corner(bundle - 1, y, y - 1);
    }
    if (y + 2 < above.height && has_runs(above, bundle + 1)) {
      join_corner(bundle + 1, y + 1, y + 2);
    }
  }
}
