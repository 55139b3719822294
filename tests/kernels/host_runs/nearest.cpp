// Distances with the passes of distance_transform.cu, on the CPU.
//
// A case: volumes, depth, height, width, whether signed, whether in int32, seed, threads, bytes of a place
// (4 or 8), each int64; steps of z, y and x and the unit, double; then the mask, one byte a voxel. Its
// result: distances, float; flat indices, int64.

#include "case_io.h"
#include "host_launcher.h"
#include "nearest_passes.h"

#include <vector>

namespace breakeven {

struct Case {
  BitGrid grid;
  bool is_signed;
  std::vector<double> steps;
  std::vector<uint8_t> mask;
};

template <typename Value, typename Place>
void run_case(const HostLauncher& launch, const Case& one) {
  // Nothing may rely on memory that is zero before.
  std::vector<uint32_t> words(one.grid.num_words(), 0xA5A5A5A5);
  std::vector<float> distances(one.mask.size(), -7.0f);
  std::vector<Place> places(one.mask.size(), static_cast<Place>(0xA5A5A5A5));
  std::vector<int64_t> nearest(one.mask.size(), -7);
  const PackBits<uint8_t> pack{one.mask.data(), 0, one.grid, words.data()};
  launch.blocks(pack, pack.num_blocks());
  const NearestProblem<Value, Place> problem{
      one.grid,
      words.data(),
      one.is_signed,
      {static_cast<Value>(one.steps[0]), static_cast<Value>(one.steps[1]), static_cast<Value>(one.steps[2])},
      one.steps[3],
      reinterpret_cast<int32_t*>(distances.data()),
      places.data()};
  find_nearest(launch, problem, distances.data(), nearest.data());
  write_many(distances);
  write_many(nearest);
}

template <typename Value>
void run_case(const HostLauncher& launch, int64_t place_bytes, const Case& one) {
  if (place_bytes == 4) {
    run_case<Value, uint32_t>(launch, one);
  } else {
    run_case<Value, uint64_t>(launch, one);
  }
}

}  // namespace breakeven

int main() {
  using namespace breakeven;
  for (int64_t volumes; try_read(volumes);) {
    const auto head = read_many<int64_t>(8);
    const BitGrid grid{volumes, head[0], head[1], head[2]};
    const HostLauncher launch(static_cast<uint64_t>(head[5]), static_cast<int>(head[6]));
    const auto steps = read_many<double>(4);
    const Case one{grid, head[3] != 0, steps, read_many<uint8_t>(volumes * grid.voxels_per_volume())};
    if (head[4] != 0) {
      run_case<int32_t>(launch, head[7], one);
    } else {
      run_case<double>(launch, head[7], one);
    }
  }
}
