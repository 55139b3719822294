// The pass that adds up: for each block, sums over every slot in it; from them the loss.

#include "cpu.h"
#include "region_table.h"
#include "slot_table.h"
#include "voxels.h"

#include <torch/csrc/stable/ops.h>

#include <array>
#include <vector>

namespace breakeven {
namespace {

struct BlockSums {
  std::vector<LabelledSums> slots;
  bool has_bad_slot = false;
};

template <typename Real>
class BlockSummer {
 public:
  BlockSummer(const LossInputs& inputs, LossKind kind, const ChunkLevel& level)
      : inputs_(inputs), kind_(kind), level_(level), arithmetic_(level.arithmetic<Real>()) {}

  BlockSums sum(int64_t begin, int64_t num) {
    BlockSums sums;
    for (int64_t done = 0; done < num; done += kChunk) {
      const int64_t num_here = std::min(kChunk, num - done);
      if (!chunk_.read(level_, kind_, inputs_, begin + done, num_here)) {
        sums.has_bad_slot = true;
        break;
      }
      if (kind_ == LossKind::blob) {
        add_blob();
      } else {
        add_regions(num_here);
      }
    }
    if (kind_ == LossKind::blob) {
      // Nobody asks how many voxels the background has.
      sums.slots.push_back({0, {.probability = sum_lanes(background_.data())}});
      background_.fill(0);
      lesion_.leave(lesions_);
      lesions_.take(sums.slots);
    } else {
      regions_.take(sums.slots);
    }
    return sums;
  }

 private:
  void add_blob() {
    arithmetic_.background(chunk_.x, chunk_.slot, probability_.data(), background_.data());
    if (chunk_.bits == 0) {
      return;
    }
    level_.readers.mask(
        chunk_.slot, torch::headeronly::ScalarType::Int, 0, kChunk, chunk_.is_lesion.data());
    Run run = lesion_;
    for_each_set(chunk_.is_lesion.data(), [&](int64_t i) {
      run.enter(chunk_.slot[i], lesions_);
      run.sums.probability += probability_[i];
      ++run.sums.num_voxels;
    });
    lesion_ = run;
  }

  void add_regions(int64_t num) {
    arithmetic_.cross_entropy(chunk_.x, chunk_.is_lesion.data(), probability_.data(), cross_entropy_.data());
    const int64_t num_runs = level_.readers.runs(chunk_.slot, num, begins_.data());
    RegionLanes* const regions = regions_.reach(chunk_.bits, chunk_.slot, begins_.data(), num_runs);
    arithmetic_.add_runs(
        probability_.data(), cross_entropy_.data(), chunk_.slot, begins_.data(), num_runs, regions);
    if (chunk_.has_lesion) {
      for_each_set(chunk_.is_lesion.data(), [&](int64_t i) {
        RegionLanes& region = regions[chunk_.slot[i]];
        region.lesion_probability += probability_[i];
        ++region.num_lesion_voxels;
      });
    }
  }

  const LossInputs& inputs_;
  const LossKind kind_;
  const ChunkLevel& level_;
  const ChunkArithmetic<Real>& arithmetic_;
  VoxelChunk<Real> chunk_;
  std::array<Real, kChunk + kLanes> probability_{};
  std::array<Real, kChunk + kLanes> cross_entropy_{};
  // For "blob".
  std::array<double, kLanes> background_{};
  Run lesion_;
  SlotTable lesions_;
  // For "cc_dice_ce".
  std::array<int16_t, kChunk + 1> begins_;
  RegionTable regions_;
};

// Blocks of one sample, in raster order, by slot.
std::vector<SlotSums> combine(const BlockSums* blocks, int64_t num_blocks) {
  std::vector<SlotSums> slots(1);
  for (const BlockSums* block = blocks; block != blocks + num_blocks; ++block) {
    for (const LabelledSums& part : block->slots) {
      if (part.slot >= static_cast<int64_t>(slots.size())) {
        slots.resize(part.slot + 1);
      }
      slots[part.slot].add(part.sums);
    }
  }
  return slots;
}

template <typename Real>
std::vector<BlockSums> sum_blocks(const LossInputs& inputs, const BlockPartition& blocks) {
  std::vector<BlockSums> sums(blocks.num_blocks());
  const ChunkLevel& level = chunk_level();  // here: what a thread throws loses its message
  torch::stable::parallel_for(
      0, blocks.num_blocks(), kBlocksPerTask, [&](int64_t first, int64_t last) {
        BlockSummer<Real> summer(inputs, blocks.shape.kind, level);
        for (int64_t block = first; block < last; ++block) {
          sums[block] = summer.sum(blocks.begin(block), blocks.size(block));
        }
      });
  return sums;
}

}  // namespace

double sum_loss(
    const LossInputs& inputs, const LossShape& shape, const std::vector<double>& weights, double* table) {
  const BlockPartition blocks(shape);
  const std::vector<BlockSums> sums = inputs.logits.type == torch::headeronly::ScalarType::Double
      ? sum_blocks<double>(inputs, blocks)
      : sum_blocks<float>(inputs, blocks);
  for (const BlockSums& block : sums) {
    if (block.has_bad_slot) {
      report_bad_slot(slots_name(shape.kind), inputs.slots, shape);
    }
  }
  double loss = 0;
  for (int64_t sample = 0; sample < shape.num_samples; ++sample) {
    const double weight = weights[sample] / static_cast<double>(shape.num_samples);
    const std::vector<SlotSums> slots = combine(sums.data() + sample * blocks.per_sample, blocks.per_sample);
    loss += weight *
        finish_sample(
                shape.kind,
                slots.data(),
                static_cast<int64_t>(slots.size()),
                weight,
                table + sample * num_rows(shape.kind) * kTableWidth);
  }
  return loss;
}

}  // namespace breakeven
