// The weighted soft Dice loss and its gradient: sums in double, over chunks of one size, so that
// their bits do not depend on the number of threads.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kChunk = 2048;
constexpr int64_t kMostAxes = 64;

struct Sums {
  double common = 0;   // of w p t
  double squares = 0;  // of w (p^2 + t^2)
};

template <class Real>
struct Fields {
  const Real* data[3];        // p, t, w
  const int64_t* strides[3];  // in elements; 0 where w is broadcast
  const int64_t* sizes;
  int64_t num_axes;

  int64_t count() const {
    int64_t product = 1;
    for (int64_t axis = 0; axis < num_axes; ++axis) product *= sizes[axis];
    return product;
  }
};

// Goes through the elements in raster order.
template <class Real>
class Walk {
 public:
  Walk(const Fields<Real>& fields, int64_t start) : fields_(fields) {
    for (int64_t axis = fields.num_axes - 1; axis >= 0; --axis) {
      index_[axis] = start % fields.sizes[axis];
      start /= fields.sizes[axis];
      for (int field = 0; field < 3; ++field) {
        offsets_[field] += index_[axis] * fields.strides[field][axis];
      }
    }
  }

  double value(int field) const {
    return static_cast<double>(fields_.data[field][offsets_[field]]);
  }

  void step() {
    for (int64_t axis = fields_.num_axes - 1; axis >= 0; --axis) {
      const bool is_last = index_[axis] + 1 == fields_.sizes[axis];
      const int64_t steps = is_last ? -index_[axis] : 1;
      index_[axis] += steps;
      for (int field = 0; field < 3; ++field) {
        offsets_[field] += steps * fields_.strides[field][axis];
      }
      if (!is_last) return;
    }
  }

 private:
  const Fields<Real>& fields_;
  int64_t index_[kMostAxes] = {};
  int64_t offsets_[3] = {};
};

// Calls work(chunk, first, last) for all chunks; threads take the next ones that are left.
void for_each_chunk(int64_t count, int64_t num_threads,
                    const std::function<void(int64_t, int64_t, int64_t)>& work) {
  const int64_t num_chunks = (count + kChunk - 1) / kChunk;
  std::atomic<int64_t> next{0};
  const auto take = [&] {
    for (int64_t chunk = next++; chunk < num_chunks; chunk = next++) {
      work(chunk, chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
    }
  };
  std::vector<std::thread> threads;
  for (int64_t other = 1; other < std::min(num_threads, num_chunks); ++other) {
    threads.emplace_back(take);
  }
  take();
  for (std::thread& thread : threads) thread.join();
}

template <class Real>
Sums sum_chunk(const Fields<Real>& fields, int64_t first, int64_t last) {
  Sums sums;
  Walk<Real> walk(fields, first);
  for (int64_t place = first; place < last; ++place, walk.step()) {
    const double p = walk.value(0), t = walk.value(1), w = walk.value(2);
    sums.common += w * p * t;
    sums.squares += w * (p * p + t * t);
  }
  return sums;
}

template <class Real>
Sums sum_all(const Fields<Real>& fields, int64_t num_threads) {
  std::vector<Sums> parts((fields.count() + kChunk - 1) / kChunk);
  for_each_chunk(fields.count(), num_threads, [&](int64_t chunk, int64_t first, int64_t last) {
    parts[chunk] = sum_chunk(fields, first, last);
  });
  Sums total;
  for (const Sums& part : parts) {
    total.common += part.common;
    total.squares += part.squares;
  }
  return total;
}

// Into the chunk of contiguous gradients; that of w before it is summed where w is broadcast.
template <class Real>
void differentiate_chunk(const Fields<Real>& fields, double above, double below, double incoming,
                         int64_t first, int64_t last, Real* gradient_p, Real* gradient_t,
                         double* gradient_w) {
  const double scale = -incoming / (below * below);
  Walk<Real> walk(fields, first);
  for (int64_t place = first; place < last; ++place, walk.step()) {
    const double p = walk.value(0), t = walk.value(1), w = walk.value(2);
    gradient_p[place] = static_cast<Real>(scale * 2 * w * (t * below - p * above));
    gradient_t[place] = static_cast<Real>(scale * 2 * w * (p * below - t * above));
    gradient_w[place] = scale * (2 * p * t * below - (p * p + t * t) * above);
  }
}

template <class Real>
Fields<Real> fields_of(const void* const* data, const int64_t* strides, const int64_t* sizes,
                       int64_t num_axes) {
  Fields<Real> fields{{}, {}, sizes, num_axes};
  for (int field = 0; field < 3; ++field) {
    fields.data[field] = static_cast<const Real*>(data[field]);
    fields.strides[field] = strides + field * num_axes;
  }
  return fields;
}

template <class Real>
int forward(const void* const* data, const int64_t* strides, const int64_t* sizes,
            int64_t num_axes, int64_t num_threads, double* loss) {
  try {
    const Sums sums = sum_all(fields_of<Real>(data, strides, sizes, num_axes), num_threads);
    *loss = 1 - (2 * sums.common + 1) / (sums.squares + 1);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

template <class Real>
int backward(const void* const* data, const int64_t* strides, const int64_t* sizes,
             int64_t num_axes, int64_t num_threads, double incoming, void* gradient_p,
             void* gradient_t, double* gradient_w) {
  try {
    const auto fields = fields_of<Real>(data, strides, sizes, num_axes);
    const Sums sums = sum_all(fields, num_threads);
    const double above = 2 * sums.common + 1, below = sums.squares + 1;
    for_each_chunk(fields.count(), num_threads, [&](int64_t, int64_t first, int64_t last) {
      differentiate_chunk(fields, above, below, incoming, first, last,
                          static_cast<Real*>(gradient_p), static_cast<Real*>(gradient_t),
                          gradient_w);
    });
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace

// 0: done; 1: no memory.
extern "C" int wdice_forward(int is_double, const void* const* data, const int64_t* strides,
                             const int64_t* sizes, int64_t num_axes, int64_t num_threads,
                             double* loss) {
  return is_double ? forward<double>(data, strides, sizes, num_axes, num_threads, loss)
                   : forward<float>(data, strides, sizes, num_axes, num_threads, loss);
}

// 0: done; 1: no memory.
extern "C" int wdice_backward(int is_double, const void* const* data, const int64_t* strides,
                              const int64_t* sizes, int64_t num_axes, int64_t num_threads,
                              double incoming, void* gradient_p, void* gradient_t,
                              double* gradient_w) {
  return is_double ? backward<double>(data, strides, sizes, num_axes, num_threads, incoming,
                                      gradient_p, gradient_t, gradient_w)
                   : backward<float>(data, strides, sizes, num_axes, num_threads, incoming,
                                     gradient_p, gradient_t, gradient_w);
}
