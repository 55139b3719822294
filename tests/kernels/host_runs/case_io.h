// Cases in on standard input, results out on standard output, as raw numbers of this machine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace breakeven {

// False at the end of the input.
template <typename Number>
bool try_read(Number& number) {
  return std::fread(&number, sizeof(number), 1, stdin) == 1;
}

template <typename Number>
std::vector<Number> read_many(int64_t count) {
  std::vector<Number> numbers(count);
  if (std::fread(numbers.data(), sizeof(Number), numbers.size(), stdin) != numbers.size()) {
    std::fputs("the input ended within a case\n", stderr);
    std::exit(2);
  }
  return numbers;
}

template <typename Number>
Number read_one() {
  return read_many<Number>(1)[0];
}

template <typename Number>
void write_many(const std::vector<Number>& numbers) {
  std::fwrite(numbers.data(), sizeof(Number), numbers.size(), stdout);
}

}  // namespace breakeven
