// Runs GPU passes on the CPU: indices in random order, with a barrier after each launch.
//
// It stands in for CudaLauncher (kernels/native/cuda_launch.h). Without threads the indices are fibers
// that take turns at each atomic operation; with threads they run at once, for ThreadSanitizer. Even
// seeds share out the blocks of a launch, odd ones the threads of each block.
#pragma once

#include "fibers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace breakeven {

inline void interleave() {
  Fibers::pass_on();
}

class HostLauncher {
 public:
  // `num_threads` 0 takes fibers.
  HostLauncher(uint64_t seed, int num_threads)
      : shares_blocks_(seed % 2 == 0), num_threads_(num_threads), random_(seed) {}

  template <typename Pass>
  void flat(const Pass& pass, int64_t count) const {
    at_once(count, [&](int64_t index) { pass(index); });
  }

  template <typename Pass>
  void blocks(const Pass& pass, int64_t count) const {
    if (shares_blocks_) {
      const uint64_t seed = random_();
      at_once(count, [&](int64_t block) { run_block(pass, block, seed); });
    } else {
      for (const int64_t block : shuffled(count, random_())) {
        run_block(pass, block, 0);
      }
    }
  }

  template <typename Value>
  Value read(const Value* address) const {
    return *address;
  }

 private:
  template <typename Pass>
  void run_block(const Pass& pass, int64_t block, uint64_t seed) const {
    using Shared = typename Pass::Shared;
    const auto shared = std::make_unique<Shared>();
    // On a GPU its memory holds anything at first.
    std::memset(static_cast<void*>(shared.get()), 0xA5, sizeof(Shared));
    for (int phase = 0; phase < Pass::kPhases; ++phase) {
      const auto work = [&](int64_t thread) { pass.run(phase, block, static_cast<int>(thread), *shared); };
      if (!shares_blocks_) {
        at_once(Pass::kThreads, work);
        continue;
      }
      for (const int64_t thread : shuffled(Pass::kThreads, seed + static_cast<uint64_t>(block + phase))) {
        work(thread);
      }
    }
  }

  static std::vector<int64_t> shuffled(int64_t count, uint64_t seed) {
    std::vector<int64_t> order(count);
    for (int64_t i = 0; i < count; ++i) {
      order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    return order;
  }

  template <typename Work>
  void at_once(int64_t count, const Work& work) const {
    const std::vector<int64_t> order = shuffled(count, random_());
    if (num_threads_ == 0) {
      Fibers(random_(), order, work).run();
      return;
    }
    const auto share = [&](int64_t first) {
      for (int64_t i = first; i < count; i += num_threads_) {
        work(order[i]);
      }
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < std::min<int64_t>(num_threads_, count); ++thread) {
      others.emplace_back(share, thread);
    }
    share(0);
    for (std::thread& other : others) {
      other.join();
    }
  }

  bool shares_blocks_;
  int num_threads_;
  mutable std::mt19937_64 random_;
};

}  // namespace breakeven
