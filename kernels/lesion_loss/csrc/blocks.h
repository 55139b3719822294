// How the voxels of a batch are shared out, and the tensors of a call as the passes read them.
//
// A sample is cut into blocks of a fixed size, a block into chunks. Blocks may run in any order on any
// thread; what they add up to is combined in raster order: no result depends on the number of threads.

#pragma once

#include "chunk.h"
#include "lesion_loss.h"

#include <algorithm>
#include <cstdint>

namespace breakeven {

constexpr int64_t kBlock = 16384;
constexpr int64_t kBlocksPerTask = 2;
static_assert(kBlock % kChunk == 0);

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

// A contiguous tensor's data.
struct Array {
  const void* data = nullptr;
  torch::headeronly::ScalarType type = torch::headeronly::ScalarType::Undefined;

  Array() = default;
  explicit Array(const torch::stable::Tensor& tensor)
      : data(tensor.const_data_ptr()), type(tensor.scalar_type()) {}
};

// The inputs of a call, contiguous.
struct LossInputs {
  Array logits;
  Array slots;   // the target for "blob", the regions for "cc_dice_ce"
  Array lesion;  // the target as a mask, for "cc_dice_ce"
  Array ignore;  // data is null without it
};

}  // namespace breakeven
