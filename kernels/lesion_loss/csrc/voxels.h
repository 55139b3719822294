// One chunk of voxels, read: logits in Real, slots in int32, masks in bytes; ignored voxels taken out.

#pragma once

#include "blocks.h"

#include <array>
#include <cstring>
#include <limits>

namespace breakeven {

// Voxels that are in no sum have it as their slot, where the kind counts voxels of slot 0.
constexpr int32_t kNoSlot = -1;

template <typename Real>
struct VoxelChunk {
  const Real* x;
  const int32_t* slot;
  uint64_t bits;  // the OR of all slots
  bool has_ignored;
  bool has_lesion;  // for "cc_dice_ce"
  std::array<uint8_t, kChunk> is_ignored;
  std::array<uint8_t, kChunk> is_lesion;  // for "cc_dice_ce"

  // Reads `num` voxels from `begin` on; false where a slot is out of range.
  bool read(
      const ChunkLevel& level, LossKind kind, const LossInputs& inputs, int64_t begin, int64_t num) {
    const ChunkReaders& readers = level.readers;
    const ChunkLabels labels =
        readers.labels(inputs.slots.data, inputs.slots.type, begin, num, slot_buffer_.data());
    slot = labels.label;
    bits = labels.bits;
    x = level.arithmetic<Real>().read(
        inputs.logits.data, inputs.logits.type, begin, num, logit_buffer_.data());
    has_lesion = kind == LossKind::cc_dice_ce &&
        readers.mask(inputs.lesion.data, inputs.lesion.type, begin, num, is_lesion.data());
    has_ignored = inputs.ignore.data != nullptr &&
        readers.mask(inputs.ignore.data, inputs.ignore.type, begin, num, is_ignored.data());
    if (has_ignored) {
      take_out_ignored(kind);
    }
    return bits <= static_cast<uint64_t>(kMaxLabel);
  }

 private:
  // p = 0 and no lesion: an ignored voxel adds nothing, whatever its logit.
  void take_out_ignored(LossKind kind) {
    const int32_t none = kind == LossKind::blob ? 0 : kNoSlot;
    for (int64_t i = 0; i < kChunk; ++i) {
      const bool is_out = is_ignored[i] != 0;
      logit_buffer_[i] = is_out ? -std::numeric_limits<Real>::infinity() : x[i];
      slot_buffer_[i] = is_out ? none : slot[i];
    }
    x = logit_buffer_.data();
    slot = slot_buffer_.data();
    if (kind == LossKind::cc_dice_ce) {
      for (int64_t i = 0; i < kChunk; ++i) {
        is_lesion[i] = is_ignored[i] != 0 ? 0 : is_lesion[i];
      }
    }
  }

  std::array<int32_t, kChunk> slot_buffer_;
  std::array<Real, kChunk> logit_buffer_;
};

// Calls use(i) for each set voxel of the chunk, in order; mostly there are few.
template <typename Use>
void for_each_set(const uint8_t* is_set, const Use& use) {
  for (int64_t begin = 0; begin < kChunk; begin += sizeof(uint64_t)) {
    uint64_t any;
    std::memcpy(&any, is_set + begin, sizeof(any));
    if (any == 0) {
      continue;
    }
    for (int64_t i = begin; i < begin + static_cast<int64_t>(sizeof(any)); ++i) {
      if (is_set[i] != 0) {
        use(i);
      }
    }
  }
}

}  // namespace breakeven
