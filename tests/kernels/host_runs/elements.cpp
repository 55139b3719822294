// What CUDA code does with single elements: 16-bit floats to float32 and back, elements of any size to bits.
//
// Writes all float16 and all bfloat16 as float32; then reads float32 numbers, their count first, and
// writes them as float16 and as bfloat16, uint16; then packs them, and them as double, in one row each.

#include "bit_passes.h"
#include "case_io.h"
#include "element_types.h"
#include "host_launcher.h"

#include <vector>

namespace breakeven {

template <typename Element, typename Number>
void write_packed(const std::vector<Number>& numbers, Element ignored) {
  const BitGrid grid{1, 1, 1, static_cast<int64_t>(numbers.size())};
  std::vector<uint32_t> words(grid.num_words());
  const PackBits<Element> pack{reinterpret_cast<const Element*>(numbers.data()), ignored, grid, words.data()};
  HostLauncher(1, 2).blocks(pack, pack.num_blocks());
  write_many(words);
}

}  // namespace breakeven

int main() {
  using namespace breakeven;
  std::vector<float> halves, brains;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    halves.push_back(to_float(Float16{static_cast<uint16_t>(bits)}));
    brains.push_back(to_float(BrainFloat16{static_cast<uint16_t>(bits)}));
  }
  write_many(halves);
  write_many(brains);
  const auto numbers = read_many<float>(read_one<int64_t>());
  std::vector<uint16_t> to_halves, to_brains;
  for (const float number : numbers) {
    to_halves.push_back(from_float<Float16>(number).bits);
    to_brains.push_back(from_float<BrainFloat16>(number).bits);
  }
  write_many(to_halves);
  write_many(to_brains);
  write_packed<uint32_t>(numbers, 0x80000000);
  write_packed<uint64_t>(std::vector<double>(numbers.begin(), numbers.end()), 0x8000000000000000);
}
