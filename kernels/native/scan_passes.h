// Running totals on a GPU, the same at every run: sums of blocks, totals of those, totals within blocks.
#pragma once

#include "host_device.h"

#include <cstdint>

namespace breakeven {

constexpr int kScanThreads = 256;
constexpr int kScanItems = 16;  // of a thread, next to each other
constexpr int64_t kScanBlock = int64_t{kScanThreads} * kScanItems;
constexpr int kScanSteps = 8;
static_assert(1 << kScanSteps == kScanThreads);

BREAKEVEN_HOST_DEVICE int64_t num_scan_blocks(int64_t count) {
  return (count + kScanBlock - 1) / kScanBlock;
}

// Words of memory that `exclusive_scan` needs beside the values.
BREAKEVEN_HOST_DEVICE int64_t scan_workspace(int64_t count) {
  int64_t words = 0;
  for (int64_t blocks = num_scan_blocks(count); blocks > 1; blocks = num_scan_blocks(blocks)) {
    words += blocks;
  }
  return words;
}

// Steps by which 256 partial sums, one a thread, become running totals: thread by thread, each adds what
// is 1, 2, 4 ... before it.
template <typename Value>
struct ThreadTotals {
  Value of[2][kScanThreads];

  BREAKEVEN_HOST_DEVICE void step(int number, int thread) {
    const int distance = 1 << number;
    const Value* const from = of[number % 2];
    of[1 - number % 2][thread] = thread >= distance ? from[thread] + from[thread - distance] : from[thread];
  }
  // After all steps: what the threads before this one hold together.
  BREAKEVEN_HOST_DEVICE Value before(int thread) const {
    return thread == 0 ? Value(0) : of[kScanSteps % 2][thread - 1];
  }
  BREAKEVEN_HOST_DEVICE Value all() const {
    return of[kScanSteps % 2][kScanThreads - 1];
  }
};

// sums[block] = sum of the block's values.
template <typename Value>
struct SumBlocks {
  static constexpr int kThreads = kScanThreads;
  static constexpr int kPhases = kScanSteps + 2;
  using Shared = ThreadTotals<Value>;

  const Value* values;
  int64_t count;
  Value* sums;

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      const int64_t begin = block * kScanBlock + int64_t{thread} * kScanItems;
      Value sum = 0;
      for (int64_t i = begin; i < begin + kScanItems && i < count; ++i) {
        sum += values[i];
      }
      shared.of[0][thread] = sum;
    } else if (phase <= kScanSteps) {
      shared.step(phase - 1, thread);
    } else if (thread == 0) {
      sums[block] = shared.all();
    }
  }
};

// values[i] becomes the sum of the values before it, plus `offsets[block]` where there are offsets.
// values[count], which must exist, becomes the sum of all where this is the only block or the last one.
template <typename Value>
struct ScanBlocks {
  static constexpr int kThreads = kScanThreads;
  static constexpr int kPhases = kScanSteps + 2;
  using Shared = ThreadTotals<Value>;

  Value* values;
  int64_t count;
  const Value* offsets;
  bool has_end;

  BREAKEVEN_HOST_DEVICE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int64_t begin = block * kScanBlock + int64_t{thread} * kScanItems;
    if (phase == 0) {
      Value sum = 0;
      for (int64_t i = begin; i < begin + kScanItems && i < count; ++i) {
        sum += values[i];
      }
      shared.of[0][thread] = sum;
    } else if (phase <= kScanSteps) {
      shared.step(phase - 1, thread);
    } else {
      Value total = shared.before(thread) + (offsets == nullptr ? Value(0) : offsets[block]);
      for (int64_t i = begin; i < begin + kScanItems && i < count; ++i) {
        const Value value = values[i];
        values[i] = total;
        total += value;
      }
      if (has_end && begin < count && begin + kScanItems >= count) {
        values[count] = total;
      }
    }
  }
};

// values[i] becomes the sum of the `count` > 0 values before it; unsigned sums wrap around. With
// `has_end`, values[count] becomes the sum of all. `workspace` has scan_workspace(count) words.
template <typename Launcher, typename Value>
void exclusive_scan(const Launcher& launch, Value* values, int64_t count, bool has_end, Value* workspace) {
  const int64_t blocks = num_scan_blocks(count);
  if (blocks <= 1) {
    launch.blocks(ScanBlocks<Value>{values, count, nullptr, has_end}, blocks);
    return;
  }
  launch.blocks(SumBlocks<Value>{values, count, workspace}, blocks);
  exclusive_scan(launch, workspace, blocks, false, workspace + blocks);
  launch.blocks(ScanBlocks<Value>{values, count, workspace, has_end}, blocks);
}

}  // namespace breakeven
