// Ask for large pages before a fresh output is written: touching small ones costs more than the kernels do.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace breakeven {

constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;

// A hint: where the system grants none, nothing changes. Only whole huge pages inside the range are meant.
inline void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t num_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + num_bytes) & ~(kHugePageBytes - 1);
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace breakeven
