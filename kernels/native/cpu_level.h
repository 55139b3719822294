// Which instruction set a kernel may use: one binary serves all machines of an architecture.
//
// A kernel is compiled once a level and called by the level that this returns. $BREAKEVEN_CPU_LEVEL
// (portable, avx2 or avx512) asks for a lower one, so that a test reaches each of them.
#pragma once

#include <torch/headeronly/util/Exception.h>

#include <cstdlib>
#include <string_view>

namespace breakeven {

enum class CpuLevel { portable = 0, avx2 = 1, avx512 = 2 };

// What `#pragma GCC target(...)` names in code of each level. Written out there: the pragma of g++ 12 expands
// no macro, and then compiles portable code without an error. Put it before the code and leave it in force to
// the end of the file, where templates are compiled.
#define BREAKEVEN_TARGET_AVX2 "avx2,bmi,bmi2,fma,lzcnt,popcnt"
#define BREAKEVEN_TARGET_AVX512 \
  "avx2,bmi,bmi2,fma,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"

inline CpuLevel detect_cpu_level() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return CpuLevel::avx512;
    }
    return CpuLevel::avx2;
  }
#endif
  return CpuLevel::portable;
}

// The widest level that this machine has and the environment allows; read anew at each call.
inline CpuLevel cpu_level() {
  static const CpuLevel widest = detect_cpu_level();
  const char* const variable = std::getenv("BREAKEVEN_CPU_LEVEL");
  if (variable == nullptr || *variable == '\0') {
    return widest;
  }
  const std::string_view wanted = variable;
  STD_TORCH_CHECK(
      wanted == "portable" || wanted == "avx2" || wanted == "avx512",
      "BREAKEVEN_CPU_LEVEL must be portable, avx2 or avx512, got ", variable);
  const CpuLevel level = wanted == "avx512" ? CpuLevel::avx512
      : wanted == "avx2"                    ? CpuLevel::avx2
                                            : CpuLevel::portable;
  STD_TORCH_CHECK(
      level <= widest,
      "BREAKEVEN_CPU_LEVEL: this machine has no ", variable, "; unset it or name a lower one");
  return level;
}

}  // namespace breakeven
