#include "transform.h"

#include "level.h"
#include "pack.h"
#include "threads.h"
#include "units.h"

#include "cpu_level.h"
#include "huge_pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace breakeven::edt {

namespace {

using torch::stable::Tensor;

constexpr int64_t kBlocksPerThread = 8;
constexpr int64_t kRowsPerBlock = 256;

struct Layout {
  Shape shape;
  std::array<double, 3> spacing;  // of D, H, W
};

// Spatial axes of size 1 change nothing: without them the others come last, where work is best shared.
Layout lay_out(const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims) {
  const int64_t num_batch_axes = mask.dim() - spatial_dims;
  Layout layout{{1, 1, 1, 1}, {1, 1, 1}};
  for (int64_t axis = 0; axis < num_batch_axes; ++axis) {
    layout.shape.N *= mask.size(axis);
  }
  std::array<int64_t, 3> sizes{1, 1, 1};
  int64_t to = 2;
  for (int64_t axis = spatial_dims - 1; axis >= 0; --axis) {
    if (mask.size(num_batch_axes + axis) > 1) {
      sizes[to] = mask.size(num_batch_axes + axis);
      layout.spacing[to] = spacing[axis];
      --to;
    }
  }
  layout.shape.D = sizes[0];
  layout.shape.H = sizes[1];
  layout.shape.W = sizes[2];
  return layout;
}

const Level& level_of_this_machine() {
  switch (cpu_level()) {
    case CpuLevel::avx512:
      return avx512_level();
    case CpuLevel::avx2:
      return avx2_level();
    default:
      return portable_level();
  }
}

template <typename Value>
std::vector<Value> squares_of(double step, int64_t length) {
  std::vector<Value> squares(2 * length + 1);
  for (int64_t r = -length; r <= length; ++r) {
    const double distance = step * static_cast<double>(r);
    squares[r + length] = static_cast<Value>(distance * distance);
  }
  return squares;
}

// A thread's buffers, in one piece.
template <typename Value>
class Buffers {
 public:
  explicit Buffers(const Problem<Value>& problem) {
    const int64_t rows = std::max(problem.D, problem.H);
    const int64_t row_bytes = kLanes * sizeof(Value);
    const int64_t num_sides = problem.is_signed ? 2 : 1;
    const bool wants_nearest = problem.nearest != nullptr;
    // The first round counts, the second gives.
    for (std::byte* base : {static_cast<std::byte*>(nullptr), static_cast<std::byte*>(nullptr)}) {
      if (num_bytes_ > 0) {
        memory_ = std::make_unique_for_overwrite<Line[]>(num_bytes_ / sizeof(Line));
        base = reinterpret_cast<std::byte*>(memory_.get());
      }
      num_bytes_ = 0;
      take(base, problem.D > 1 ? problem.depth_chunks() * problem.D * row_bytes : 0, work_.fetched);
      for (int64_t side = 0; side < num_sides; ++side) {
        take(base, rows * row_bytes, work_.source[side]);
        take(base, rows * row_bytes, work_.result[side]);
        take(base, wants_nearest ? rows * row_bytes : 0, work_.place[side]);
        take(base, wants_nearest ? rows * kLanes * sizeof(int64_t) : 0, work_.lead[side]);
      }
      take(base, 2 * rows * sizeof(int32_t), work_.range);
      take(base, rows * sizeof(int64_t), work_.apex);
    }
  }

  const Workspace<Value>& work() const { return work_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  template <typename Element>
  void take(std::byte* base, int64_t num_bytes, Element*& to) {
    to = base == nullptr ? nullptr : reinterpret_cast<Element*>(base + num_bytes_);
    num_bytes_ += (num_bytes + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line);
  }

  int64_t num_bytes_ = 0;
  std::unique_ptr<Line[]> memory_;
  Workspace<Value> work_{};
};

bool is_mixed(const Packed& packed, int64_t volume) {
  return packed.kinds[volume] == (kHasZeros | kHasOnes);
}

// Volumes of one kind of voxel: distances are infinite to what is not there, and 0 to what is.
template <typename Value>
void fill_uniform_volumes(const Problem<Value>& problem, const Packed& packed) {
  const int64_t rows_of_volume = problem.D * problem.H;
  share_out(problem.N * rows_of_volume, kRowsPerBlock, [&] {
    return [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t volume = row / rows_of_volume;
        const bool is_inside = packed.kinds[volume] == kHasOnes;
        if (is_mixed(packed, volume) || (!is_inside && problem.skips_full_words())) {
          continue;
        }
        const bool is_infinite = is_inside || problem.is_signed;
        float* const distances = problem.distances + row * problem.W;
        std::fill(distances, distances + problem.W, !is_infinite ? 0 : is_inside ? INFINITY : -INFINITY);
        for (int64_t x = 0; problem.nearest != nullptr && x < problem.W; ++x) {
          problem.nearest[row * problem.W + x] = is_infinite ? -1 : row % rows_of_volume * problem.W + x;
        }
      }
    };
  });
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

template <typename Value>
void run(
    const Tensor& mask, const Layout& layout, const Units& units, bool is_signed, float* distances,
    int64_t* nearest, const Level& level, const Passes<Value>& passes) {
  const Shape& shape = layout.shape;
  const auto squares_D = squares_of<Value>(units.steps[0], shape.D);
  const auto squares_H = squares_of<Value>(units.steps[1], shape.H);
  Problem<Value> problem{
      shape.N,
      shape.D,
      shape.H,
      shape.W,
      {shape.D, squares_D.data() + shape.D},
      {shape.H, squares_H.data() + shape.H},
      static_cast<Value>(units.steps[2] * units.steps[2]),
      units.unit,
      is_signed,
      nullptr,
      nullptr,
      distances,
      nullptr,
      nearest};
  const Packed packed = pack(mask, shape, level, is_signed, problem.skips_full_words() ? distances : nullptr);
  problem.zeros = packed.zeros.get();
  problem.ones = packed.ones.get();
  std::unique_ptr<uint32_t, FreeMemory> lower_halves;
  if (std::is_same_v<Value, double> && shape.D > 1) {
    const size_t count = shape.num_rows() * shape.W;
    lower_halves.reset(static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t))));
    if (lower_halves == nullptr) {
      throw std::bad_alloc();
    }
    prefer_huge_pages(lower_halves.get(), count * sizeof(uint32_t));
    problem.lower_halves = lower_halves.get();
  }
  fill_uniform_volumes(problem, packed);
  // Items of one row of words are neighbours in memory: a thread takes all of them where rows are many.
  const auto pass = [&](int64_t num_rows, int64_t items_of_row, const auto& work_on) {
    const int64_t items_of_volume = num_rows * items_of_row;
    const bool are_many = shape.N * num_rows >= kBlocksPerThread * torch::stable::get_num_threads();
    share_out(shape.N * items_of_volume, are_many ? items_of_row : 1, [&] {
      return [&, buffers = Buffers<Value>(problem)](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          if (is_mixed(packed, item / items_of_volume)) {
            work_on(item, buffers.work());
          }
        }
      };
    });
  };
  const int64_t num_words = problem.num_words();
  pass(shape.D, num_words, [&](int64_t item, const Workspace<Value>& work) {
    passes.plane(problem, item / num_words, item % num_words, work);
  });
  if (shape.D > 1) {
    const int64_t num_rows = problem.depth_rows(), num_depth_words = problem.depth_words();
    pass(num_rows, num_depth_words, [&](int64_t item, const Workspace<Value>& work) {
      const int64_t row = item / num_depth_words;
      passes.depth(problem, row / num_rows, row % num_rows, item % num_depth_words, work);
    });
  }
}

}  // namespace

void transform(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed,
    float* distances, int64_t* nearest) {
  const Layout layout = lay_out(mask, spacing, spatial_dims);
  const Shape& shape = layout.shape;
  const Units units = choose_units(layout.spacing, {shape.D, shape.H, shape.W});
  const Level& level = level_of_this_machine();
  if (units.fit_int32) {
    run(mask, layout, units, is_signed, distances, nearest, level, level.whole);
  } else {
    run(mask, layout, units, is_signed, distances, nearest, level, level.real);
  }
}

}  // namespace breakeven::edt
