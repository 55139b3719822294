// Work shared out among threads by blocks, as each becomes free: sparse masks are uneven.
#pragma once

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace breakeven::edt {

// Calls make_worker() once a thread and what it returns with (begin, end) of block after block.
template <typename MakeWorker>
void share_out(int64_t count, int64_t block, const MakeWorker& make_worker) {
  const int64_t num_blocks = (count + block - 1) / block;
  const int64_t num_workers = std::min<int64_t>(torch::stable::get_num_threads(), num_blocks);
  std::atomic<int64_t> next{0};
  torch::stable::parallel_for(0, num_workers, 1, [&](int64_t first, int64_t end) {
    // A thread may be given more than one worker's part; the first one then leaves nothing.
    for (int64_t worker = first; worker < end && next.load() < num_blocks; ++worker) {
      auto&& work = make_worker();
      for (int64_t taken = next++; taken < num_blocks; taken = next++) {
        work(taken * block, std::min(count, (taken + 1) * block));
      }
    }
  });
}

}  // namespace breakeven::edt
