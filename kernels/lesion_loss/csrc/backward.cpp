// The pass that writes the gradient: no sum, one look at the coefficients for each run of voxels.

#include "cpu.h"
#include "voxels.h"

#include <torch/csrc/stable/ops.h>

#include <array>
#include <atomic>

namespace breakeven {
namespace {

template <typename Real>
class GradientWriter {
 public:
  GradientWriter(
      const LossInputs& inputs, LossKind kind, double scale, void* gradient, const ChunkLevel& level)
      : inputs_(inputs),
        kind_(kind),
        scale_(scale),
        gradient_(gradient),
        level_(level),
        arithmetic_(level.arithmetic<Real>()) {}

  // One block; false where a slot is out of range. `table` is that of the block's sample.
  bool write(const double* table, int64_t begin, int64_t num) {
    table_ = table;
    for (int64_t done = 0; done < num; done += kChunk) {
      const int64_t num_here = std::min(kChunk, num - done);
      if (!chunk_.read(level_, kind_, inputs_, begin + done, num_here)) {
        return false;
      }
      write_chunk(begin + done, num_here);
    }
    return true;
  }

 private:
  void write_chunk(int64_t begin, int64_t num) {
    constexpr auto kType = std::is_same_v<Real, double> ? torch::headeronly::ScalarType::Double
                                                        : torch::headeronly::ScalarType::Float;
    const bool is_in_place = num == kChunk && inputs_.logits.type == kType && !chunk_.has_ignored;
    Real* const result = is_in_place ? static_cast<Real*>(gradient_) + begin : result_.data();
    if (kind_ == LossKind::blob) {
      look_up_blob();
      arithmetic_.dice_gradient(chunk_.x, dice_.data(), result);
    } else {
      look_up_regions(num);
      arithmetic_.full_gradient(chunk_.x, chunk_.is_lesion.data(), dice_.data(), entropy_.data(), result);
    }
    if (chunk_.has_ignored) {
      for_each_set(chunk_.is_ignored.data(), [&](int64_t i) { result[i] = 0; });
    }
    if (!is_in_place) {
      arithmetic_.write(result, inputs_.logits.type, begin, num, gradient_);
    }
  }

  void look_up_blob() {
    dice_.fill(coefficient(0, 0));
    if (chunk_.bits == 0) {
      return;
    }
    level_.readers.mask(
        chunk_.slot, torch::headeronly::ScalarType::Int, 0, kChunk, chunk_.is_lesion.data());
    for_each_set(chunk_.is_lesion.data(), [&](int64_t i) { dice_[i] = coefficient(0, chunk_.slot[i]); });
  }

  void look_up_regions(int64_t num) {
    const int64_t num_runs = level_.readers.runs(chunk_.slot, num, begins_.data());
    for (int64_t run = 0; run < num_runs; ++run) {
      const int32_t slot = chunk_.slot[begins_[run]];
      fill_run(coefficient(0, slot), begins_[run], begins_[run + 1], dice_.data());
      fill_run(coefficient(2, slot), begins_[run], begins_[run + 1], entropy_.data());
    }
    if (chunk_.has_lesion) {
      for_each_set(chunk_.is_lesion.data(), [&](int64_t i) { dice_[i] = coefficient(1, chunk_.slot[i]); });
    }
  }

  // Whole lanes; what is written too far, the next run writes again.
  static void fill_run(Real value, int64_t begin, int64_t end, Real* to) {
    for (int64_t i = begin; i < end; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        to[i + lane] = value;
      }
    }
  }

  Real coefficient(int64_t row, int32_t slot) const {
    return slot < 0 ? Real(0) : static_cast<Real>(scale_ * table_[row * kTableWidth + slot]);
  }

  const LossInputs& inputs_;
  const LossKind kind_;
  const double scale_;
  void* const gradient_;
  const ChunkLevel& level_;
  const ChunkArithmetic<Real>& arithmetic_;
  const double* table_ = nullptr;
  VoxelChunk<Real> chunk_;
  std::array<int16_t, kChunk + 1> begins_;
  std::array<Real, kChunk + kLanes> dice_;
  std::array<Real, kChunk + kLanes> entropy_;
  std::array<Real, kChunk> result_;
};

template <typename Real>
bool write_blocks(
    const LossInputs& inputs, const BlockPartition& blocks, const double* table, double scale, void* gradient) {
  std::atomic<bool> has_bad_slot{false};
  const ChunkLevel& level = chunk_level();  // here: what a thread throws loses its message
  torch::stable::parallel_for(
      0, blocks.num_blocks(), kBlocksPerTask, [&](int64_t first, int64_t last) {
        const int64_t table_size = num_rows(blocks.shape.kind) * kTableWidth;
        GradientWriter<Real> writer(inputs, blocks.shape.kind, scale, gradient, level);
        for (int64_t block = first; block < last; ++block) {
          const double* const sample_table = table + blocks.sample(block) * table_size;
          if (!writer.write(sample_table, blocks.begin(block), blocks.size(block))) {
            has_bad_slot = true;
          }
        }
      });
  return !has_bad_slot;
}

}  // namespace

void write_gradient(
    const LossInputs& inputs, const LossShape& shape, const double* table, double scale, void* gradient) {
  const BlockPartition blocks(shape);
  const bool is_good = inputs.logits.type == torch::headeronly::ScalarType::Double
      ? write_blocks<double>(inputs, blocks, table, scale, gradient)
      : write_blocks<float>(inputs, blocks, table, scale, gradient);
  if (!is_good) {
    report_bad_slot(slots_name(shape.kind), inputs.slots, shape);
  }
}

}  // namespace breakeven
