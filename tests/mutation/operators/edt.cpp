// The Euclidean distance transform, exact, one axis after another: steps to the nearest background
// along rows, then lower envelopes of parabolas along columns and along slices.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Mask {
  const char* data;
  int64_t depth, height, width;
  int64_t strides[3];  // in bytes
  int64_t item_size;
  uint64_t sign;      // 0 for whole numbers
  uint64_t infinity;  // 0 for whole numbers

  uint64_t bits(int64_t row, int64_t x) const {
    const char* row_data = data + row / height * strides[0] + row % height * strides[1];
    uint64_t value = 0;
    std::memcpy(&value, row_data + x * strides[2], item_size);
    return value & ~sign;
  }
};

// Calls work(line) for all of [0, num_lines); threads take the next ones that are left.
void for_each_line(int64_t num_lines, int64_t num_threads,
                   const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next{0};
  const auto take = [&] {
    for (int64_t line = next++; line < num_lines; line = next++) work(line);
  };
  std::vector<std::thread> threads;
  for (int64_t other = 1; other < std::min(num_threads, num_lines); ++other) {
    threads.emplace_back(take);
  }
  take();
  for (std::thread& thread : threads) thread.join();
}

// Squared distance of each voxel of a row to the nearest background in it. Whether a NaN is there.
bool measure_row(const Mask& mask, int64_t row, double spacing, double* squares) {
  bool has_nan = false;
  int64_t last = -1;  // the background voxel that was passed last
  for (int64_t x = 0; x < mask.width; ++x) {
    const uint64_t bits = mask.bits(row, x);
    has_nan |= mask.infinity != 0 && bits > mask.infinity;
    if (bits == 0) last = x;
    const double steps = static_cast<double>(x - last) * spacing;
    squares[x] = last >= 0 ? steps * steps : kInfinity;
  }
  last = -1;
  for (int64_t x = mask.width - 1; x >= 0; --x) {
    if (squares[x] == 0) last = x;
    const double steps = static_cast<double>(last - x) * spacing;
    if (last >= 0) squares[x] = std::min(squares[x], steps * steps);
  }
  return has_nan;
}

// The lowest of the parabolas values[i] + (x - i)^2 spacing^2 at every x of a line.
struct Envelope {
  std::vector<double> values;
  std::vector<int64_t> sites;  // whose parabolas are lowest somewhere, in order
  std::vector<double> starts;  // where each begins to be

  double crossing(int64_t left, int64_t right, double spacing) const {
    const double rise = (values[right] - values[left]) / (spacing * spacing);
    const double width = static_cast<double>(right - left);
    return (rise / width + static_cast<double>(right + left)) / 2;
  }

  void build(double spacing) {
    sites.clear();
    starts.clear();
    for (int64_t site = 0; site < static_cast<int64_t>(values.size()); ++site) {
      if (values[site] == kInfinity) continue;
      double start = -kInfinity;
      while (!sites.empty()) {
        start = crossing(sites.back(), site, spacing);
        if (start > starts.back()) break;
        sites.pop_back();
        starts.pop_back();
        start = -kInfinity;
      }
      sites.push_back(site);
      starts.push_back(start);
    }
  }

  // Writes the envelope to every `stride`-th place of `line`.
  void write(double spacing, int64_t stride, double* line) const {
    if (sites.empty()) return;
    size_t at = 0;
    for (int64_t x = 0; x < static_cast<int64_t>(values.size()); ++x) {
      while (at + 1 < sites.size() && starts[at + 1] < static_cast<double>(x)) ++at;
      const double steps = static_cast<double>(x - sites[at]) * spacing;
      line[x * stride] = values[sites[at]] + steps * steps;
    }
  }
};

// Replaces a line of squared distances by those that also go along it.
void sweep_line(double* line, int64_t length, int64_t stride, double spacing) {
  Envelope envelope;
  envelope.values.resize(length);
  for (int64_t place = 0; place < length; ++place) {
    envelope.values[place] = line[place * stride];
  }
  envelope.build(spacing);
  envelope.write(spacing, stride, line);
}

template <class Real>
void take_roots(const double* squares, int64_t count, Real* distances) {
  for (int64_t place = 0; place < count; ++place) {
    distances[place] = static_cast<Real>(std::sqrt(squares[place]));
  }
}

// Whether no NaN is in the mask.
bool transform(const Mask& mask, const double* spacing, int64_t num_threads, bool is_double,
               void* distances) {
  const int64_t num_rows = mask.depth * mask.height;
  const int64_t plane = mask.height * mask.width;
  std::vector<double> squares(num_rows * mask.width);
  std::atomic<bool> has_nan{false};

  for_each_line(num_rows, num_threads, [&](int64_t row) {
    if (measure_row(mask, row, spacing[2], squares.data() + row * mask.width)) has_nan = true;
  });
  if (has_nan) return false;

  for_each_line(mask.depth * mask.width, num_threads, [&](int64_t line) {
    double* start = squares.data() + line / mask.width * plane + line % mask.width;
    if (mask.height > 1) sweep_line(start, mask.height, mask.width, spacing[1]);
  });
  for_each_line(plane, num_threads, [&](int64_t line) {
    if (mask.depth > 1) sweep_line(squares.data() + line, mask.depth, plane, spacing[0]);
  });
  for_each_line(num_rows, num_threads, [&](int64_t row) {
    const int64_t first = row * mask.width;
    if (is_double) {
      take_roots(squares.data() + first, mask.width, static_cast<double*>(distances) + first);
    } else {
      take_roots(squares.data() + first, mask.width, static_cast<float*>(distances) + first);
    }
  });
  return true;
}

}  // namespace

// 0: done; 1: a NaN is in the mask; 2: no memory.
extern "C" int edt_transform(const void* data, const int64_t* sizes, const int64_t* strides,
                             int64_t item_size, uint64_t sign, uint64_t infinity,
                             const double* spacing, int64_t num_threads, int is_double,
                             void* distances) {
  const Mask mask{static_cast<const char*>(data),
                  sizes[0],
                  sizes[1],
                  sizes[2],
                  {strides[0], strides[1], strides[2]},
                  item_size,
                  sign,
                  infinity};
  try {
    return transform(mask, spacing, num_threads, is_double != 0, distances) ? 0 : 1;
  } catch (const std::exception&) {
    return 2;
  }
}
