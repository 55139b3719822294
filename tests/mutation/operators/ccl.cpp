// Connected components by union and find over slabs of rows, joined where they meet.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kLeastRows = 3;  // a slab's

struct Mask {
  const char* data;
  int64_t depth, height, width;
  int64_t strides[3];  // in bytes
  int64_t item_size;
  uint64_t sign;      // 0 for whole numbers
  uint64_t infinity;  // 0 for whole numbers

  int64_t num_rows() const { return depth * height; }

  uint64_t bits(int64_t row, int64_t x) const {
    const char* row_data = data + row / height * strides[0] + row % height * strides[1];
    uint64_t value = 0;
    std::memcpy(&value, row_data + x * strides[2], item_size);
    return value & ~sign;
  }
};

struct Neighbour {
  int64_t z, y, x;
};

std::vector<Neighbour> earlier_neighbours(int64_t connectivity) {
  std::vector<Neighbour> found;
  for (int64_t z = -1; z <= 0; ++z) {
    for (int64_t y = -1; y <= 1; ++y) {
      for (int64_t x = -1; x <= 1; ++x) {
        const bool is_earlier = z < 0 || y < 0 || (y == 0 && x < 0);
        const int64_t num_axes = std::abs(z) + std::abs(y) + std::abs(x);
        if (is_earlier && num_axes <= connectivity) found.push_back({z, y, x});
      }
    }
  }
  return found;
}

// Parents of voxels by their places, -1 for background. A root is its component's first voxel.
struct Forest {
  std::vector<int64_t> parents;

  int64_t find(int64_t place) {
    while (parents[place] != place) {
      parents[place] = parents[parents[place]];
      place = parents[place];
    }
    return place;
  }

  int64_t look_up(int64_t place) const {
    while (parents[place] != place) place = parents[place];
    return place;
  }

  void unite(int64_t one, int64_t other) {
    one = find(one);
    other = find(other);
    if (one < other) {
      parents[other] = one;
    } else {
      parents[one] = other;
    }
  }
};

// Links a row to neighbours in rows of [low, high).
void link_row(const Mask& mask, const std::vector<Neighbour>& neighbours, int64_t row, int64_t low,
              int64_t high, Forest& forest) {
  const int64_t z = row / mask.height, y = row % mask.height;
  for (const Neighbour& step : neighbours) {
    if (z + step.z < 0 || y + step.y < 0 || y + step.y >= mask.height) continue;
    const int64_t other_row = row + step.z * mask.height + step.y;
    if (other_row < low || other_row >= high) continue;
    const int64_t first = std::max<int64_t>(0, -step.x);
    const int64_t last = mask.width - std::max<int64_t>(0, step.x);
    for (int64_t x = first; x < last; ++x) {
      const int64_t one = row * mask.width + x;
      const int64_t other = other_row * mask.width + x + step.x;
      if (forest.parents[one] >= 0 && forest.parents[other] >= 0) forest.unite(one, other);
    }
  }
}

// Calls work(slab) for each, every one on a thread of its own.
void for_each_slab(int64_t num_slabs, const std::function<void(int64_t)>& work) {
  std::vector<std::thread> threads;
  for (int64_t slab = 1; slab < num_slabs; ++slab) threads.emplace_back(work, slab);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

bool read_rows(const Mask& mask, int64_t begin, int64_t end, Forest& forest) {
  bool has_nan = false;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t x = 0; x < mask.width; ++x) {
      const uint64_t bits = mask.bits(row, x);
      const int64_t place = row * mask.width + x;
      forest.parents[place] = bits != 0 ? place : -1;
      has_nan |= mask.infinity != 0 && bits > mask.infinity;
    }
  }
  return has_nan;
}

// Writes labels of roots, from `count` + 1 on.
int64_t number_roots(const Forest& forest, int64_t begin, int64_t end, int64_t count,
                     int64_t* labels) {
  for (int64_t place = begin; place < end; ++place) {
    if (forest.parents[place] == place) labels[place] = ++count;
  }
  return count;
}

void write_others(const Forest& forest, int64_t begin, int64_t end, int64_t* labels) {
  for (int64_t place = begin; place < end; ++place) {
    const int64_t parent = forest.parents[place];
    if (parent < 0) {
      labels[place] = 0;
    } else if (parent != place) {
      labels[place] = labels[forest.look_up(parent)];
    }
  }
}

int64_t count_roots(const Forest& forest, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t place = begin; place < end; ++place) count += forest.parents[place] == place;
  return count;
}

// Whether no NaN is in the mask.
bool label(const Mask& mask, int64_t connectivity, int64_t num_threads, int64_t* labels) {
  const int64_t num_rows = mask.num_rows();
  const int64_t most = std::max<int64_t>(1, num_rows / kLeastRows);
  const int64_t num_slabs = std::min(num_threads, most);
  const auto start = [&](int64_t slab) { return slab * num_rows / num_slabs; };
  const auto neighbours = earlier_neighbours(connectivity);
  Forest forest{std::vector<int64_t>(num_rows * mask.width)};
  std::vector<char> has_nan(num_slabs, 0);

  for_each_slab(num_slabs, [&](int64_t slab) {
    has_nan[slab] = read_rows(mask, start(slab), start(slab + 1), forest);
    for (int64_t row = start(slab); row < start(slab + 1); ++row) {
      link_row(mask, neighbours, row, start(slab), start(slab + 1), forest);
    }
  });
  if (std::count(has_nan.begin(), has_nan.end(), 1) > 0) return false;

  for (int64_t slab = 1; slab < num_slabs; ++slab) {
    const int64_t seam = start(slab);
    const int64_t last = std::min(num_rows, seam + mask.height + 1);
    for (int64_t row = seam; row < last; ++row) {
      link_row(mask, neighbours, row, 0, seam, forest);
    }
  }

  std::vector<int64_t> counts(num_slabs + 1, 0);
  for_each_slab(num_slabs, [&](int64_t slab) {
    counts[slab + 1] =
        count_roots(forest, start(slab) * mask.width, start(slab + 1) * mask.width);
  });
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  for_each_slab(num_slabs, [&](int64_t slab) {
    number_roots(forest, start(slab) * mask.width, start(slab + 1) * mask.width, counts[slab],
                 labels);
  });
  for_each_slab(num_slabs, [&](int64_t slab) {
    write_others(forest, start(slab) * mask.width, start(slab + 1) * mask.width, labels);
  });
  return true;
}

}  // namespace

// 0: done; 1: a NaN is in the mask; 2: no memory.
extern "C" int ccl_label(const void* data, const int64_t* sizes, const int64_t* strides,
                         int64_t item_size, uint64_t sign, uint64_t infinity, int64_t connectivity,
                         int64_t num_threads, int64_t* labels) {
  const Mask mask{static_cast<const char*>(data),
                  sizes[0],
                  sizes[1],
                  sizes[2],
                  {strides[0], strides[1], strides[2]},
                  item_size,
                  sign,
                  infinity};
  try {
    return label(mask, connectivity, num_threads, labels) ? 0 : 1;
  } catch (const std::exception&) {
    return 2;
  }
}
