// Exact Euclidean distance transform on the CPU: one axis after the other.
//
// The squared distance along the last axis comes from the runs of a row. Each further axis is a min-plus
// product with a parabola, out[q] = min_p f[p] + w^2 (q - p)^2 (Felzenszwalb and Huttenlocher, 2012), for tiles
// of neighbouring columns: a search outwards that ends once w^2 r^2 reaches the largest value of the tile,
// and, where this search turns out long, the lower envelope of the parabolas, column by column.
//
// Axes: volumes are [N, D, H, W], contiguous; absent leading axes have size 1.

#include "distance_transform.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

// One binary for all machines of an architecture: the loader takes the widest version that runs here.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define BREAKEVEN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BREAKEVEN_CLONES
#endif

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kLanes = 16;       // columns searched together: one cache line
constexpr int64_t kGroups = 4;       // of lanes, fetched together, so that prefetching helps
constexpr int64_t kStepsPerCheck = 8;
constexpr int64_t kSearchBudget = 96;  // mean radius above which envelopes are cheaper

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

// One row of a lane group, aligned as Lanes needs it.
struct alignas(kLanes * sizeof(float)) LaneRow {
  float values[kLanes];
};

struct Volumes {
  int64_t N, D, H, W;
  std::array<double, 3> spacing;  // D, H, W; divided by `scale`
  double scale;
};

// A power of two about midway between the spacings: their squares then stay within float32, and values are
// unchanged but for the exponent.
double middle_scale(const std::vector<double>& spacing) {
  const auto [least, most] = std::minmax_element(spacing.begin(), spacing.end());
  return std::exp2(std::round((std::log2(*least) + std::log2(*most)) / 2));
}

Volumes describe(const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims) {
  std::array<int64_t, 3> shape{1, 1, 1};
  Volumes volumes{1, 1, 1, 1, {1, 1, 1}, middle_scale(spacing)};
  const int64_t num_batch_axes = mask.dim() - spatial_dims;
  for (int64_t axis = 0; axis < num_batch_axes; ++axis) {
    volumes.N *= mask.size(axis);
  }
  for (int64_t axis = 0; axis < spatial_dims; ++axis) {
    const int64_t to = 3 - spatial_dims + axis;
    shape[to] = mask.size(num_batch_axes + axis);
    volumes.spacing[to] = spacing[axis] / volumes.scale;
  }
  volumes.D = shape[0];
  volumes.H = shape[1];
  volumes.W = shape[2];
  return volumes;
}

// ---- last axis ----

using RowReader = void (*)(const void* mask, int64_t first, int64_t count, uint8_t* bits);

// `ignored` holds the sign bit of floating types: -0.0 is a zero.
template <typename Word, Word ignored>
void read_row(const void* mask, int64_t first, int64_t count, uint8_t* bits) {
  const Word* words = static_cast<const Word*>(mask) + first;
  for (int64_t i = 0; i < count; ++i) {
    bits[i] = static_cast<Word>(words[i] & static_cast<Word>(~ignored)) != 0;
  }
}

RowReader row_reader(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      return read_row<uint8_t, 0>;
    case ScalarType::Short:
    case ScalarType::UInt16:
      return read_row<uint16_t, 0>;
    case ScalarType::Int:
    case ScalarType::UInt32:
      return read_row<uint32_t, 0>;
    case ScalarType::Long:
    case ScalarType::UInt64:
      return read_row<uint64_t, 0>;
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return read_row<uint16_t, 0x8000u>;
    case ScalarType::Float:
      return read_row<uint32_t, 0x80000000u>;
    case ScalarType::Double:
      return read_row<uint64_t, 0x8000000000000000u>;
    default:
      STD_TORCH_CHECK(
          false, "distance_transform: mask must be boolean, integer or floating, got ",
          torch::headeronly::toString(dtype));
      return nullptr;
  }
}

int64_t find(const uint8_t* bits, int64_t from, int64_t count, uint8_t wanted) {
  const void* found = std::memchr(bits + from, wanted, count - from);
  return found ? static_cast<const uint8_t*>(found) - bits : count;
}

// Squared distance to the nearest zero of the row; squares[r] = w^2 r^2.
void transform_row(const uint8_t* bits, int64_t count, const float* squares, float* out) {
  int64_t at = 0;
  while (at < count) {
    const int64_t first = find(bits, at, count, 1);
    std::fill(out + at, out + first, 0.0f);
    const int64_t end = find(bits, first, count, 0);
    at = end;
    const bool opens = first == 0;
    const bool closes = end == count;
    if (opens && closes) {
      std::fill(out, out + count, kInfinity);
      return;
    }
    const int64_t middle = opens ? first : closes ? end : (first + end + 1) / 2;
    std::copy(squares + 1, squares + 1 + (middle - first), out + first);
    for (int64_t i = middle; i < end; ++i) {
      out[i] = squares[end - i];
    }
  }
}

// ---- further axes ----

struct Workspace {
  std::vector<LaneRow> source, result;  // [kGroups, length]
  std::vector<int64_t> apex;            // of the parabolas in the envelope
  std::vector<double> start;            // where each of them becomes the lowest

  explicit Workspace(int64_t length)
      : source(kGroups * length), result(kGroups * length), apex(length), start(length) {}
};

void lower_envelope(
    const float* f, int64_t length, double w, int64_t stride, float* out, Workspace& work) {
  int64_t count = 0;
  for (int64_t q = 0; q < length; ++q) {
    const double fq = f[q * stride];
    if (fq == kInfinity) {
      continue;
    }
    double from = -std::numeric_limits<double>::infinity();
    while (count > 0) {
      const int64_t p = work.apex[count - 1];
      // Divided before it is subtracted: f + w^2 q^2 would lose the small differences on long axes.
      from = ((fq - f[p * stride]) / (w * w * (q - p)) + (q + p)) / 2;
      if (from > work.start[count - 1]) {
        break;
      }
      --count;
    }
    if (count == 0) {
      from = -std::numeric_limits<double>::infinity();
    }
    work.apex[count] = q;
    work.start[count] = from;
    ++count;
  }
  int64_t lowest = 0;
  for (int64_t q = 0; q < length; ++q) {
    if (count == 0) {
      out[q * stride] = kInfinity;
      continue;
    }
    while (lowest + 1 < count && work.start[lowest + 1] < q) {
      ++lowest;
    }
    const int64_t p = work.apex[lowest];
    const double step = w * (q - p);
    out[q * stride] = static_cast<float>(f[p * stride] + step * step);
  }
}

inline __attribute__((always_inline)) void lower_to(Lanes& lanes, const Lanes& other) {
  lanes = other < lanes ? other : lanes;
}

inline __attribute__((always_inline)) float largest(const Lanes& lanes) {
  float most = lanes[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) {
    most = lanes[lane] > most ? lanes[lane] : most;
  }
  return most;
}

// out[q] = min_p f[p] + squares[|q - p|] for the first rows; returns how many rows the budget allowed.
BREAKEVEN_CLONES int64_t
search_outwards(const float* source, int64_t length, const float* squares, float* result) {
  const Lanes* f = reinterpret_cast<const Lanes*>(source);
  Lanes* out = reinterpret_cast<Lanes*>(result);
  int64_t num_steps = 0;
  for (int64_t q = 0; q < length; ++q) {
    Lanes lowest = f[q];
    const int64_t near_end = std::min(q, length - 1 - q);
    const int64_t far_end = std::max(q, length - 1 - q);
    const int64_t direction = q < length - 1 - q ? 1 : -1;
    int64_t r = 1;
    while (r <= far_end && squares[r] < largest(lowest)) {
      const int64_t until = std::min(r + kStepsPerCheck, far_end + 1);
      num_steps += until - r;
      for (const int64_t both = std::min(until, near_end + 1); r < both; ++r) {
        Lanes pair = f[q - r];
        lower_to(pair, f[q + r]);
        lower_to(lowest, pair + squares[r]);
      }
      for (; r < until; ++r) {
        lower_to(lowest, f[q + direction * r] + squares[r]);
      }
    }
    out[q] = lowest;
    if (num_steps > kSearchBudget * length) {
      return q + 1;
    }
  }
  return length;
}

BREAKEVEN_CLONES void root(float* values, int64_t count, float scale) {
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::sqrt(values[i]) * scale;
  }
}

void transform_group(
    const LaneRow* source, int64_t length, double w, const float* squares, LaneRow* result,
    Workspace& work) {
  const float* f = source->values;
  float* out = result->values;
  const int64_t count = length * kLanes;
  if (std::all_of(f, f + count, [](float value) { return value == kInfinity; })) {
    std::copy(f, f + count, out);
  } else if (search_outwards(f, length, squares, out) < length) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lower_envelope(f + lane, length, w, kLanes, out + lane, work);
    }
  }
}

// One axis of a block of columns, in place. Columns are neighbours in memory.
struct Axis {
  int64_t length;
  int64_t stride;
  int64_t num_columns;
  double spacing;
  bool is_last_pass;
  double scale;
  std::vector<float> squares;

  Axis(int64_t length, int64_t stride, double spacing, bool is_last_pass, double scale)
      : length(length), stride(stride), num_columns(stride), spacing(spacing),
        is_last_pass(is_last_pass), scale(scale), squares(length + 1) {
    for (int64_t r = 0; r <= length; ++r) {
      const double step = spacing * r;
      squares[r] = static_cast<float>(step * step);
    }
  }

  int64_t num_tiles() const {
    return (num_columns + kGroups * kLanes - 1) / (kGroups * kLanes);
  }

  void transform_tile(float* volume, int64_t tile, Workspace& work) const {
    const int64_t first = tile * kGroups * kLanes;
    const int64_t width = std::min(num_columns - first, kGroups * kLanes);
    const int64_t num_groups = (width + kLanes - 1) / kLanes;
    float* columns = volume + first;
    for (int64_t p = 0; p < length; ++p) {
      for (int64_t group = 0; group < num_groups; ++group) {
        const float* from = columns + p * stride + group * kLanes;
        float* to = work.source[group * length + p].values;
        const int64_t count = std::min(width - group * kLanes, kLanes);
        std::copy(from, from + count, to);
        // Spare lanes repeat a real one: they then never lengthen a search.
        std::fill(to + count, to + kLanes, from[0]);
      }
    }
    for (int64_t group = 0; group < num_groups; ++group) {
      LaneRow* result = &work.result[group * length];
      transform_group(
          &work.source[group * length], length, spacing, squares.data(), result, work);
      if (is_last_pass) {
        root(result->values, length * kLanes, static_cast<float>(scale));
      }
    }
    for (int64_t p = 0; p < length; ++p) {
      for (int64_t group = 0; group < num_groups; ++group) {
        const float* from = work.result[group * length + p].values;
        const int64_t count = std::min(width - group * kLanes, kLanes);
        std::copy(from, from + count, columns + p * stride + group * kLanes);
      }
    }
  }
};

void transform_rows(
    const Tensor& mask, RowReader read, const Axis& axis, int64_t first, int64_t end, float* out) {
  std::vector<uint8_t> bits(axis.length);
  for (int64_t row = first; row < end; ++row) {
    read(mask.const_data_ptr(), row * axis.length, axis.length, bits.data());
    transform_row(bits.data(), axis.length, axis.squares.data(), out + row * axis.length);
  }
}

// Any mode, line by line in double: slow and plain.
struct Sought {
  std::vector<double> squared;
  std::vector<int64_t> nearest;
};

Sought seek(const std::vector<uint8_t>& is_site, const Volumes& v) {
  Sought now{std::vector<double>(is_site.size()), std::vector<int64_t>(is_site.size())};
  const int64_t num_voxels = v.D * v.H * v.W;
  for (size_t i = 0; i < is_site.size(); ++i) {
    now.squared[i] = is_site[i] ? 0 : std::numeric_limits<double>::infinity();
    now.nearest[i] = is_site[i] ? static_cast<int64_t>(i) % num_voxels : -1;
  }
  const std::array<int64_t, 3> lengths{v.D, v.H, v.W};
  const std::array<int64_t, 3> strides{v.H * v.W, v.W, 1};
  for (int axis = 2; axis >= 0; --axis) {
    const Sought before = now;
    const int64_t n = lengths[axis], stride = strides[axis];
    for (int64_t i = 0; i < static_cast<int64_t>(is_site.size()); ++i) {
      const int64_t q = i / stride % n;
      const int64_t base = i - q * stride;
      const double unit = v.spacing[axis] * v.spacing[axis];
      double lowest = before.squared[i];
      int64_t at = q;
      for (int64_t r = 1; r < n && unit * (r * r) <= lowest; ++r) {
        if (q - r >= 0 && before.squared[base + (q - r) * stride] + unit * (r * r) <= lowest) {
          lowest = before.squared[base + (q - r) * stride] + unit * (r * r);
          at = q - r;
        }
        if (q + r < n && before.squared[base + (q + r) * stride] + unit * (r * r) < lowest) {
          lowest = before.squared[base + (q + r) * stride] + unit * (r * r);
          at = q + r;
        }
      }
      now.squared[i] = lowest;
      now.nearest[i] = before.nearest[base + at * stride];
    }
  }
  return now;
}

void transform_plainly(
    const Tensor& any_mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed, float* out,
    int64_t* nearest) {
  const Tensor mask = torch::stable::contiguous(any_mask);
  std::vector<uint8_t> inside(mask.numel()), outside(mask.numel());
  row_reader(mask.scalar_type())(mask.const_data_ptr(), 0, mask.numel(), inside.data());
  for (size_t i = 0; i < inside.size(); ++i) {
    outside[i] = !inside[i];
  }
  const Volumes volumes = describe(mask, spacing, spatial_dims);
  const Sought to_zero = seek(outside, volumes);
  const Sought to_other = is_signed ? seek(inside, volumes) : Sought{};
  for (size_t i = 0; i < inside.size(); ++i) {
    const bool is_negative = is_signed && !inside[i];
    const double root = std::sqrt(is_negative ? to_other.squared[i] : to_zero.squared[i]) * volumes.scale;
    out[i] = static_cast<float>(is_negative ? -root : root);
    if (nearest) {
      nearest[i] = is_negative ? to_other.nearest[i] : to_zero.nearest[i];
    }
  }
}

void transform(
    const Tensor& any_mask, const std::vector<double>& spacing, int64_t spatial_dims, float* out) {
  const RowReader read = row_reader(any_mask.scalar_type());
  const Tensor mask = torch::stable::contiguous(any_mask);
  const auto [N, D, H, W, steps, scale] = describe(mask, spacing, spatial_dims);
  const Axis axis_W(W, 1, steps[2], false, scale);
  const Axis axis_H(H, W, steps[1], false, scale);
  const Axis axis_D(D, H * W, steps[0], true, scale);

  if (N * D >= torch::stable::get_num_threads()) {
    // Rows and the second axis of a slice together, while it is in the cache.
    torch::stable::parallel_for(0, N * D, 1, [&](int64_t begin, int64_t end) {
      Workspace work(H);
      for (int64_t slice = begin; slice < end; ++slice) {
        transform_rows(mask, read, axis_W, slice * H, (slice + 1) * H, out);
        for (int64_t tile = 0; tile < axis_H.num_tiles(); ++tile) {
          axis_H.transform_tile(out + slice * H * W, tile, work);
        }
      }
    });
  } else {
    torch::stable::parallel_for(0, N * D * H, 1, [&](int64_t begin, int64_t end) {
      transform_rows(mask, read, axis_W, begin, end, out);
    });
    const int64_t num_tiles = axis_H.num_tiles();
    torch::stable::parallel_for(0, N * D * num_tiles, 1, [&](int64_t begin, int64_t end) {
      Workspace work(H);
      for (int64_t item = begin; item < end; ++item) {
        axis_H.transform_tile(out + item / num_tiles * H * W, item % num_tiles, work);
      }
    });
  }
  const int64_t num_tiles = axis_D.num_tiles();
  torch::stable::parallel_for(0, N * num_tiles, 1, [&](int64_t begin, int64_t end) {
    Workspace work(D);
    for (int64_t item = begin; item < end; ++item) {
      axis_D.transform_tile(out + item / num_tiles * D * H * W, item % num_tiles, work);
    }
  });
}

void write_distances(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed, Tensor& out) {
  row_reader(mask.scalar_type());
  if (out.numel() == 0) {
    return;
  }
  float* distances = static_cast<float*>(out.mutable_data_ptr());
  if (is_signed) {
    transform_plainly(mask, spacing, spatial_dims, true, distances, nullptr);
  } else {
    transform(mask, spacing, spatial_dims, distances);
  }
}

// Tensor[..., D, H, W] -> float32 Tensor of the same shape, contiguous.
Tensor distance_transform(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  breakeven::check_distance_transform(mask, spacing, spatial_dims);
  Tensor out = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Float);
  write_distances(mask, spacing, spatial_dims, is_signed, out);
  return out;
}

Tensor distance_transform_out(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed, Tensor out) {
  breakeven::check_distance_transform(mask, spacing, spatial_dims);
  breakeven::check_out(mask, out);
  write_distances(mask, spacing, spatial_dims, is_signed, out);
  return out;
}

std::tuple<Tensor, Tensor> distance_transform_nearest(
    const Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims, bool is_signed) {
  breakeven::check_distance_transform(mask, spacing, spatial_dims);
  row_reader(mask.scalar_type());
  Tensor out = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Float);
  Tensor nearest = torch::stable::new_empty(mask, mask.sizes(), ScalarType::Long);
  if (out.numel() > 0) {
    transform_plainly(
        mask, spacing, spatial_dims, is_signed, static_cast<float*>(out.mutable_data_ptr()),
        static_cast<int64_t*>(nearest.mutable_data_ptr()));
  }
  return {out, nearest};
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def("distance_transform(Tensor mask, float[] spacing, int spatial_dims, bool signed=False) -> Tensor");
  m.def(
      "distance_transform.out(Tensor mask, float[] spacing, int spatial_dims, bool signed=False, *, "
      "Tensor(a!) out) -> Tensor(a!)");
  m.def(
      "distance_transform_nearest(Tensor mask, float[] spacing, int spatial_dims, bool signed=False) -> "
      "(Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("distance_transform", TORCH_BOX(&distance_transform));
  m.impl("distance_transform.out", TORCH_BOX(&distance_transform_out));
  m.impl("distance_transform_nearest", TORCH_BOX(&distance_transform_nearest));
}
