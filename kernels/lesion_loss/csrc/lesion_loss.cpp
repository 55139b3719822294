// breakeven::lesion_loss: schema and CPU implementation.
//
// The loss needs, for each sample, the sum of probabilities over the background and over each lesion,
// and each lesion's size; its gradient needs one coefficient for each of these. So one pass over the
// voxels makes the sums and another one the gradient, however many lesions there are.
//
// A sample is cut into blocks of a fixed size, a block into chunks. Blocks may run in any order on any
// thread; their sums, in double, are combined in raster order: the result does not depend on threads.

#include "lesion_loss.h"
#include "chunk.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace breakeven {
namespace {

using torch::headeronly::BFloat16;
using torch::headeronly::Half;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t kBlock = 16384;
constexpr int64_t kBlocksPerTask = 2;
static_assert(kBlock % kChunk == 0);

// What one lesion, or the part of it in one block, adds up to.
struct Segment {
  double probability = 0;
  int64_t size = 0;
};

struct LabelledSegment {
  int32_t label;
  Segment segment;
};

struct BlockSums {
  double background = 0;
  std::vector<LabelledSegment> lesions;
  bool has_bad_label = false;
};

// Arithmetic in double for double, in float otherwise; sums are double throughout.
template <typename Value>
using RealOf = std::conditional_t<std::is_same_v<Value, double>, double, float>;

// `num` values as kChunk reals, in place where possible; the rest is filled, and adds nothing.
template <typename Real, typename Value>
const Real* load_logits(const Value* logits, int64_t num, Real* buffer) {
  if constexpr (std::is_same_v<Real, Value>) {
    if (num == kChunk) {
      return logits;
    }
  }
  for (int64_t i = 0; i < num; ++i) {
    buffer[i] = static_cast<Real>(logits[i]);
  }
  std::fill(buffer + num, buffer + kChunk, -std::numeric_limits<Real>::infinity());
  return buffer;
}

struct ChunkLabels {
  const int32_t* label;
  bool is_in_range;
  bool is_background;
};

template <typename Label>
ChunkLabels load_labels(const Label* labels, int64_t num, int32_t* buffer) {
  std::make_unsigned_t<Label> bits = 0;
  for (int64_t i = 0; i < num; ++i) {
    bits |= static_cast<std::make_unsigned_t<Label>>(labels[i]);
  }
  ChunkLabels chunk{buffer, bits <= static_cast<uint64_t>(kMaxLabel), bits == 0};
  if constexpr (std::is_same_v<Label, int32_t>) {
    if (num == kChunk) {
      chunk.label = labels;
      return chunk;
    }
  }
  for (int64_t i = 0; i < num; ++i) {
    buffer[i] = static_cast<int32_t>(labels[i]);
  }
  std::fill(buffer + num, buffer + kChunk, 0);
  return chunk;
}

// Adds up blocks; its table by label is kept between them, empty.
template <typename Value, typename Label>
class BlockSummer {
 public:
  BlockSums sum(const Value* logits, const Label* labels, int64_t num) {
    BlockSums sums;
    std::array<double, kLanes> lanes{};
    for (int64_t begin = 0; begin < num; begin += kChunk) {
      const int64_t num_here = std::min(kChunk, num - begin);
      const ChunkLabels chunk = load_labels(labels + begin, num_here, label_.data());
      if (!chunk.is_in_range) {
        sums.has_bad_label = true;
        break;
      }
      const auto* x = load_logits(logits + begin, num_here, logit_.data());
      sum_background_chunk(x, chunk.label, probability_.data(), lanes.data());
      if (!chunk.is_background) {
        add_lesion_voxels(chunk.label, num_here);
      }
    }
    for (const double lane : lanes) {
      sums.background += lane;
    }
    take_lesions(sums);
    return sums;
  }

 private:
  void add_lesion_voxels(const int32_t* label, int64_t num) {
    for (int64_t i = 0; i < num; ++i) {
      const int32_t lesion = label[i];
      if (lesion == 0) {
        continue;
      }
      if (lesion >= static_cast<int64_t>(segments_.size())) {
        segments_.resize(lesion + 1);
      }
      Segment& segment = segments_[lesion];
      if (segment.size == 0) {
        touched_.push_back(lesion);
      }
      segment.probability += probability_[i];
      ++segment.size;
    }
  }

  void take_lesions(BlockSums& sums) {
    sums.lesions.reserve(touched_.size());
    for (const int32_t lesion : touched_) {
      sums.lesions.push_back({lesion, segments_[lesion]});
      segments_[lesion] = Segment{};
    }
    touched_.clear();
  }

  using Real = RealOf<Value>;
  std::array<int32_t, kChunk> label_;
  std::array<Real, kChunk> logit_;
  std::array<Real, kChunk> probability_;
  std::vector<Segment> segments_;
  std::vector<int32_t> touched_;
};

// Loss of one sample from its blocks; `coefficients` (kTableWidth, zero on entry) receives, by label,
// the derivative of `weight` * loss with respect to a voxel's probability.
double finish_sample(
    const BlockSums* blocks,
    int64_t num_blocks,
    double weight,
    double* coefficients) {
  double background = 0;
  std::vector<Segment> lesions(1);
  for (const BlockSums* block = blocks; block != blocks + num_blocks; ++block) {
    background += block->background;
    for (const LabelledSegment& part : block->lesions) {
      if (part.label >= static_cast<int64_t>(lesions.size())) {
        lesions.resize(part.label + 1);
      }
      lesions[part.label].probability += part.segment.probability;
      lesions[part.label].size += part.segment.size;
    }
  }
  const int64_t num_lesions = std::count_if(
      lesions.begin(), lesions.end(), [](const Segment& lesion) { return lesion.size > 0; });
  if (num_lesions == 0) {
    coefficients[0] = weight / ((1 + background) * (1 + background));
    return background / (1 + background);
  }
  const double share = weight / static_cast<double>(num_lesions);
  double loss = 0;
  for (size_t label = 1; label < lesions.size(); ++label) {
    const Segment& lesion = lesions[label];
    if (lesion.size == 0) {
      continue;
    }
    const double size = static_cast<double>(lesion.size);
    const double all = lesion.probability + background + size;
    loss += (background + size - lesion.probability) / all;
    coefficients[label] = share * -2 * (background + size) / (all * all);
    coefficients[0] += share * 2 * lesion.probability / (all * all);
  }
  return loss / static_cast<double>(num_lesions);
}

template <typename Label>
[[noreturn]] void report_bad_label(const Label* labels, int64_t num) {
  for (int64_t i = 0; i < num; ++i) {
    check_lesion_loss_label(static_cast<int64_t>(labels[i]));
  }
  STD_TORCH_CHECK(false, "lesion_loss: labels changed while they were read");
}

struct BlockPartition {
  explicit BlockPartition(const LossShape& loss_shape)
      : shape(loss_shape), per_sample((loss_shape.num_voxels + kBlock - 1) / kBlock) {}

  int64_t num_blocks() const {
    return shape.num_samples * per_sample;
  }
  int64_t sample(int64_t block) const {
    return block / per_sample;
  }
  int64_t begin(int64_t block) const {
    return sample(block) * shape.num_voxels + block % per_sample * kBlock;
  }
  int64_t size(int64_t block) const {
    return std::min(kBlock, shape.num_voxels - block % per_sample * kBlock);
  }

  LossShape shape;
  int64_t per_sample;
};

template <typename Value, typename Label>
double loss_of(const Tensor& logits, const Tensor& labels, const LossShape& shape, double* table) {
  const Value* const value = static_cast<const Value*>(logits.const_data_ptr());
  const Label* const label = static_cast<const Label*>(labels.const_data_ptr());
  const BlockPartition blocks(shape);
  std::vector<BlockSums> sums(blocks.num_blocks());
  torch::stable::parallel_for(
      0, blocks.num_blocks(), kBlocksPerTask, [&](int64_t first, int64_t last) {
        BlockSummer<Value, Label> summer;
        for (int64_t block = first; block < last; ++block) {
          const int64_t begin = blocks.begin(block);
          sums[block] = summer.sum(value + begin, label + begin, blocks.size(block));
        }
      });
  for (const BlockSums& block : sums) {
    if (block.has_bad_label) {
      report_bad_label(label, shape.num_samples * shape.num_voxels);
    }
  }
  const double weight = 1.0 / static_cast<double>(std::max<int64_t>(shape.num_samples, 1));
  double loss = 0;
  for (int64_t sample = 0; sample < shape.num_samples; ++sample) {
    loss += finish_sample(
        sums.data() + sample * blocks.per_sample,
        blocks.per_sample,
        weight,
        table + sample * kTableWidth);
  }
  return loss * weight;
}

template <typename Value, typename Label>
void write_gradient(
    const Tensor& logits,
    const Tensor& labels,
    const LossShape& shape,
    const double* table,
    double scale,
    const Tensor& gradient) {
  using Real = RealOf<Value>;
  const Value* const value = static_cast<const Value*>(logits.const_data_ptr());
  const Label* const label = static_cast<const Label*>(labels.const_data_ptr());
  Value* const out = static_cast<Value*>(gradient.mutable_data_ptr());
  std::vector<Real> scaled(shape.num_samples * kTableWidth);
  std::transform(table, table + scaled.size(), scaled.begin(), [scale](double coefficient) {
    return static_cast<Real>(scale * coefficient);
  });
  std::atomic<bool> has_bad_label{false};
  const BlockPartition blocks(shape);
  const auto write_block = [&](int64_t block) {
    std::array<int32_t, kChunk> label_buffer;
    std::array<Real, kChunk> logit_buffer;
    std::array<Real, kChunk> coefficient;
    std::array<Real, kChunk> result;
    const Real* const sample_table = scaled.data() + blocks.sample(block) * kTableWidth;
    const int64_t end = blocks.begin(block) + blocks.size(block);
    for (int64_t begin = blocks.begin(block); begin < end; begin += kChunk) {
      const int64_t num = std::min(kChunk, end - begin);
      const ChunkLabels chunk = load_labels(label + begin, num, label_buffer.data());
      if (!chunk.is_in_range) {
        has_bad_label = true;
        return;
      }
      if (chunk.is_background) {
        coefficient.fill(sample_table[0]);
      } else {
        for (int64_t i = 0; i < kChunk; ++i) {
          coefficient[i] = sample_table[chunk.label[i]];
        }
      }
      const Real* const x = load_logits(value + begin, num, logit_buffer.data());
      if constexpr (std::is_same_v<Real, Value>) {
        if (num == kChunk) {
          scale_derivative_chunk(x, coefficient.data(), out + begin);
          continue;
        }
      }
      scale_derivative_chunk(x, coefficient.data(), result.data());
      for (int64_t i = 0; i < num; ++i) {
        out[begin + i] = static_cast<Value>(result[i]);
      }
    }
  };
  torch::stable::parallel_for(
      0, blocks.num_blocks(), kBlocksPerTask, [&](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
          write_block(block);
        }
      });
  if (has_bad_label) {
    report_bad_label(label, shape.num_samples * shape.num_voxels);
  }
}

// Calls `use(Value{}, Label{})` with the element types of logits and labels.
template <typename Use>
void with_types(const Tensor& logits, const Tensor& labels, const Use& use) {
  const auto with_label = [&](auto value) {
    switch (labels.scalar_type()) {
      case ScalarType::Int:
        return use(value, int32_t{});
      case ScalarType::Long:
        return use(value, int64_t{});
      default:
        return use(value, uint8_t{});
    }
  };
  switch (logits.scalar_type()) {
    case ScalarType::Float:
      return with_label(float{});
    case ScalarType::Double:
      return with_label(double{});
    case ScalarType::Half:
      return with_label(Half{});
    default:
      return with_label(BFloat16{});
  }
}

std::tuple<Tensor, Tensor> lesion_loss(Tensor logits, Tensor labels, std::string kind) {
  const LossShape shape = check_lesion_loss(logits, labels);
  check_lesion_loss_kind(kind);
  logits = torch::stable::contiguous(logits);
  labels = torch::stable::contiguous(labels);
  const std::array<int64_t, 2> table_shape{shape.num_samples, kTableWidth};
  Tensor coefficients =
      torch::stable::new_zeros(logits, {table_shape.data(), 2}, ScalarType::Double);
  double value = 0;
  with_types(logits, labels, [&](auto logit, auto label) {
    value = loss_of<decltype(logit), decltype(label)>(
        logits, labels, shape, static_cast<double*>(coefficients.mutable_data_ptr()));
  });
  const bool is_double = logits.scalar_type() == ScalarType::Double;
  Tensor loss = torch::stable::new_empty(
      logits, {}, is_double ? ScalarType::Double : ScalarType::Float);
  torch::stable::fill_(loss, value);
  return {loss, coefficients};
}

Tensor lesion_loss_backward(Tensor grad, Tensor logits, Tensor labels, Tensor coefficients) {
  const LossShape shape = check_lesion_loss(logits, labels);
  check_lesion_loss_backward(grad, coefficients, shape);
  logits = torch::stable::contiguous(logits);
  labels = torch::stable::contiguous(labels);
  coefficients = torch::stable::contiguous(coefficients);
  const double scale = grad.scalar_type() == ScalarType::Double
      ? *static_cast<const double*>(grad.const_data_ptr())
      : *static_cast<const float*>(grad.const_data_ptr());
  Tensor gradient = torch::stable::new_empty(logits, logits.sizes());
  with_types(logits, labels, [&](auto logit, auto label) {
    write_gradient<decltype(logit), decltype(label)>(
        logits,
        labels,
        shape,
        static_cast<const double*>(coefficients.const_data_ptr()),
        scale,
        gradient);
  });
  return gradient;
}

} // namespace
} // namespace breakeven

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def("lesion_loss(Tensor logits, Tensor labels, str kind) -> (Tensor loss, Tensor coefficients)");
  m.def(
      "lesion_loss_backward(Tensor grad, Tensor logits, Tensor labels, Tensor coefficients)"
      " -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("lesion_loss", TORCH_BOX(&breakeven::lesion_loss));
  m.impl("lesion_loss_backward", TORCH_BOX(&breakeven::lesion_loss_backward));
}
