// Labels and measures masks with the passes of connected_components.cu, on the CPU.
//
// A case: connectivity, volumes, depth, height, width, seed, threads, bytes of an id (4 or 8), each int64;
// then the mask, one byte a voxel, and values, double. Its result: the number of rows, int64; volumes,
// voxels, boxes (rows, 3, 2), int64; centroids (rows, 3), sums, minima, double; counts and labels, int64.

#include "case_io.h"
#include "host_launcher.h"
#include "label_passes.h"
#include "table_passes.h"

#include <type_traits>
#include <vector>

namespace breakeven {

struct Case {
  BitGrid grid;
  std::vector<uint8_t> mask;
  std::vector<double> values;
};

template <int connectivity, typename Id>
void write_table(const HostLauncher& launch, const Forest<Id>& forest, const double* values) {
  const auto rows = static_cast<int64_t>(launch.read(forest.totals + forest.num_groups()));
  std::vector<int64_t> volumes(rows), voxels(rows), wide_boxes(rows * 6), index_sums(rows * 3), boxes(rows * 6);
  std::vector<double> centroids(rows * 3), sums(rows), minima(rows);
  std::vector<ExactSum> exact(rows);
  std::vector<int64_t> ranks(rows);
  const TableColumns table{volumes.data(), voxels.data(), wide_boxes.data(), index_sums.data()};
  measure_components<connectivity>(launch, forest, table, rows, 3, boxes.data(), centroids.data());
  measure_channel<connectivity>(launch, forest, TableChannel{{values, FloatType::float64}, exact.data(), ranks.data()}, rows);
  launch.flat(FinishChannel{exact.data(), ranks.data(), 0, 1, sums.data(), minima.data()}, rows);
  write_many(std::vector<int64_t>{rows});
  write_many(volumes);
  write_many(voxels);
  write_many(boxes);
  write_many(centroids);
  write_many(sums);
  write_many(minima);
}

template <int connectivity, typename Id>
void run_case(const HostLauncher& launch, const Case& one) {
  const BitGrid& grid = one.grid;
  // Nothing may rely on memory that is zero before.
  std::vector<uint32_t> words(grid.num_words(), 0xA5A5A5A5);
  std::vector<uint32_t> roots(grid.num_words(), 0xA5A5A5A5);
  std::vector<Id> parents(one.mask.size(), static_cast<Id>(0xA5A5A5A5));
  Forest<Id> forest{grid, words.data(), roots.data(), parents.data(), nullptr};
  std::vector<Id> totals(forest.num_groups() + 1 + scan_workspace(forest.num_groups()), Id(77));
  forest.totals = totals.data();
  const PackBits<uint8_t> pack{one.mask.data(), 0, grid, words.data()};
  launch.blocks(pack, pack.num_blocks());
  grow_forest<connectivity>(launch, forest, totals.data() + forest.num_groups() + 1);
  write_table<connectivity>(launch, forest, one.values.data());
  std::vector<int64_t> counts(grid.num_volumes, -1);
  launch.flat(CountVolumes<Id>{forest, counts.data()}, grid.num_volumes);
  write_many(counts);
  using Label = std::make_signed_t<Id>;
  auto* const labels = reinterpret_cast<Label*>(parents.data());
  write_labels<connectivity, Id>(launch, forest, labels);
  write_many(std::vector<int64_t>(labels, labels + one.mask.size()));
}

template <typename Id>
void run_case(int64_t connectivity, const HostLauncher& launch, const Case& one) {
  if (connectivity == 1) {
    run_case<1, Id>(launch, one);
  } else if (connectivity == 2) {
    run_case<2, Id>(launch, one);
  } else {
    run_case<3, Id>(launch, one);
  }
}

}  // namespace breakeven

int main() {
  using namespace breakeven;
  for (int64_t connectivity; try_read(connectivity);) {
    const auto head = read_many<int64_t>(7);
    const BitGrid grid{head[0], head[1], head[2], head[3]};
    const int64_t count = grid.num_volumes * grid.voxels_per_volume();
    const HostLauncher launch(static_cast<uint64_t>(head[4]), static_cast<int>(head[5]));
    const auto mask = read_many<uint8_t>(count);
    const Case one{grid, mask, read_many<double>(count)};
    if (head[6] == 4) {
      run_case<uint32_t>(connectivity, launch, one);
    } else {
      run_case<uint64_t>(connectivity, launch, one);
    }
  }
}
