// Many indices at once on one thread: control passes at random before atomic operations.
//
// A CPU of a few cores seldom shows what thousands of GPU threads in flight do to each other. Fibers do,
// and the same way again from the same seed.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace breakeven {

class Fibers {
 public:
  Fibers(uint64_t seed, std::vector<int64_t> order, std::function<void(int64_t)> work)
      : random_(seed), order_(std::move(order)), work_(std::move(work)) {}

  void run() {
    const auto count = std::min<size_t>(kMaxFibers, order_.size());
    for (size_t i = 0; i < count; ++i) {
      fibers_.push_back(std::make_unique<Fiber>());
      ucontext_t& context = fibers_.back()->context;
      getcontext(&context);
      context.uc_stack.ss_sp = fibers_.back()->stack;
      context.uc_stack.ss_size = kStackBytes;
      context.uc_link = &scheduler_;
      makecontext(&context, &Fibers::enter, 0);
    }
    current_ = this;
    while (!fibers_.empty()) {
      running_ = random_() % fibers_.size();
      swapcontext(&scheduler_, &fibers_[running_]->context);
      if (fibers_[running_]->is_done) {
        std::swap(fibers_[running_], fibers_.back());
        fibers_.pop_back();
      }
    }
    current_ = nullptr;
  }

  // Lets another fiber go on, every second time; nothing outside of one.
  static void pass_on() {
    if (current_ != nullptr && current_->random_() % 2 == 0) {
      swapcontext(&current_->fibers_[current_->running_]->context, &current_->scheduler_);
    }
  }

 private:
  static constexpr size_t kMaxFibers = 48;
  static constexpr size_t kStackBytes = size_t{1} << 16;

  struct Fiber {
    ucontext_t context;
    bool is_done = false;
    alignas(64) unsigned char stack[kStackBytes];
  };

  static void enter() {
    Fibers& all = *current_;
    while (all.next_ < all.order_.size()) {
      all.work_(all.order_[all.next_++]);
    }
    all.fibers_[all.running_]->is_done = true;
  }

  static inline Fibers* current_ = nullptr;

  std::mt19937_64 random_;
  std::vector<int64_t> order_;
  std::function<void(int64_t)> work_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t scheduler_;
  size_t running_ = 0;
  size_t next_ = 0;
};

}  // namespace breakeven
