// What a pass for a GPU needs and a CPU can run as well: bit counts and atomic operations by one name.
//
// A pass is a small struct of pointers and sizes whose call operator does the work of one index. nvcc
// compiles it for the GPU; a test compiles it with g++ and runs its indices in random order, on several
// threads, under ThreadSanitizer. So what threads share is only touched through the functions below.
//
// All atomic operations are relaxed: passes end at a barrier (the end of a launch), and within one pass
// only the values of single words matter, not their order.
#pragma once

#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <atomic>
#include <bit>
#endif

#if defined(BREAKEVEN_INTERLEAVE)
// Of a test that wants other threads to run between any two atomic operations.
namespace breakeven {
void interleave();
}
#define BREAKEVEN_BEFORE_ATOMIC() ::breakeven::interleave()
#else
#define BREAKEVEN_BEFORE_ATOMIC() static_cast<void>(0)
#endif

#if defined(__CUDACC__)
#define BREAKEVEN_HOST_DEVICE __host__ __device__ inline
#else
#define BREAKEVEN_HOST_DEVICE inline
#endif

namespace breakeven {

// Zeros below the lowest set bit; `word` is not 0.
BREAKEVEN_HOST_DEVICE int lowest_bit(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(word)) - 1;
#else
  return std::countr_zero(word);
#endif
}

// Index of the highest set bit; `word` is not 0.
BREAKEVEN_HOST_DEVICE int highest_bit(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return 31 - __clz(static_cast<int>(word));
#else
  return 31 - std::countl_zero(word);
#endif
}

BREAKEVEN_HOST_DEVICE int num_bits(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

// Bits 0 to count - 1; count from 0 to 32.
BREAKEVEN_HOST_DEVICE uint32_t bits_below(int count) {
  return count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

// A division of two numbers >= 0. 64 bits take a GPU five times as long as 32, which mostly suffice.
BREAKEVEN_HOST_DEVICE int64_t quotient(int64_t dividend, int64_t divisor) {
  const auto a = static_cast<uint64_t>(dividend);
  const auto b = static_cast<uint64_t>(divisor);
  return (a | b) >> 32 == 0 ? static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b))
                            : dividend / divisor;
}

// CUDA knows 64-bit integers by the names of C alone.
template <typename Word>
struct AtomicWord;
template <>
struct AtomicWord<uint32_t> {
  using type = unsigned int;
};
template <>
struct AtomicWord<uint64_t> {
  using type = unsigned long long;
};
template <>
struct AtomicWord<int64_t> {
  using type = long long;
};

template <typename Word>
BREAKEVEN_HOST_DEVICE Word atomic_load(const Word* address) {
#if defined(__CUDA_ARCH__)
  return *static_cast<const volatile Word*>(address);
#else
  BREAKEVEN_BEFORE_ATOMIC();
  return std::atomic_ref<Word>(*const_cast<Word*>(address)).load(std::memory_order_relaxed);
#endif
}

template <typename Word>
BREAKEVEN_HOST_DEVICE void atomic_store(Word* address, Word value) {
#if defined(__CUDA_ARCH__)
  *static_cast<volatile Word*>(address) = value;
#else
  BREAKEVEN_BEFORE_ATOMIC();
  std::atomic_ref<Word>(*address).store(value, std::memory_order_relaxed);
#endif
}

// Writes `wanted` where `expected` is found; returns what was found.
template <typename Word>
BREAKEVEN_HOST_DEVICE Word atomic_exchange_if(Word* address, Word expected, Word wanted) {
#if defined(__CUDA_ARCH__)
  using Native = typename AtomicWord<Word>::type;
  return static_cast<Word>(atomicCAS(
      reinterpret_cast<Native*>(address), static_cast<Native>(expected), static_cast<Native>(wanted)));
#else
  BREAKEVEN_BEFORE_ATOMIC();
  std::atomic_ref<Word>(*address).compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
  return expected;
#endif
}

// Wraps around, so that it serves signed words too: CUDA adds unsigned ones alone.
BREAKEVEN_HOST_DEVICE void atomic_add(int64_t* address, int64_t value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
#else
  BREAKEVEN_BEFORE_ATOMIC();
  std::atomic_ref<int64_t>(*address).fetch_add(value, std::memory_order_relaxed);
#endif
}

BREAKEVEN_HOST_DEVICE void atomic_or(uint32_t* address, uint32_t value) {
#if defined(__CUDA_ARCH__)
  atomicOr(address, value);
#else
  BREAKEVEN_BEFORE_ATOMIC();
  std::atomic_ref<uint32_t>(*address).fetch_or(value, std::memory_order_relaxed);
#endif
}

// The look before saves most of the traffic: a minimum is seldom lowered.
BREAKEVEN_HOST_DEVICE void atomic_lower(int64_t* address, int64_t value) {
  if (atomic_load(address) <= value) {
    return;
  }
#if defined(__CUDA_ARCH__)
  atomicMin(reinterpret_cast<long long*>(address), static_cast<long long>(value));
#else
  BREAKEVEN_BEFORE_ATOMIC();
  int64_t found = atomic_load(address);
  while (value < found &&
         !std::atomic_ref<int64_t>(*address).compare_exchange_weak(found, value, std::memory_order_relaxed)) {
  }
#endif
}

BREAKEVEN_HOST_DEVICE void atomic_raise(int64_t* address, int64_t value) {
  if (atomic_load(address) >= value) {
    return;
  }
#if defined(__CUDA_ARCH__)
  atomicMax(reinterpret_cast<long long*>(address), static_cast<long long>(value));
#else
  BREAKEVEN_BEFORE_ATOMIC();
  int64_t found = atomic_load(address);
  while (value > found &&
         !std::atomic_ref<int64_t>(*address).compare_exchange_weak(found, value, std::memory_order_relaxed)) {
  }
#endif
}

}  // namespace breakeven
