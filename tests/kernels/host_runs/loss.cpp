// Losses and gradients with the passes of lesion_loss.cu, on the CPU.
//
// A case: samples, voxels of one, whether with regions, whether in double, seed, threads, largest slot,
// bytes of a slot, each int64; the weights of the samples and the scale of the gradient, double; logits,
// float or double; slots; lesion and ignore, one byte a voxel. Its result: the loss, of the logits' type;
// coefficients, double; the gradient, of the logits' type.

#include "case_io.h"
#include "host_launcher.h"
#include "loss_passes.h"

#include <vector>

namespace breakeven {

struct Head {
  int64_t num_samples, num_voxels, has_regions, is_double, seed, threads, max_slot, slot_bytes;
};

template <typename Element, bool has_regions>
void run_case(const Head& head) {
  using Real = RealOfElement<Element>;
  const HostLauncher launch(static_cast<uint64_t>(head.seed), static_cast<int>(head.threads));
  const int64_t count = head.num_samples * head.num_voxels;
  const auto weights = read_many<double>(head.num_samples);
  const auto scale = read_many<double>(1);
  const auto logits = read_many<Element>(count);
  const auto slots = read_many<uint8_t>(count * head.slot_bytes);
  const auto lesion = read_many<uint8_t>(count);
  const auto ignore = read_many<uint8_t>(count);
  const LossVoxels<Element> voxels{
      head.num_samples,
      head.num_voxels,
      head.max_slot,
      logits.data(),
      {slots.data(), static_cast<int>(head.slot_bytes)},
      {lesion.data(), 1},
      ignore.data()};
  const int64_t width = head.max_slot + 1;
  std::vector<SlotTotals<Real, has_regions>> table(head.num_samples * width);
  std::vector<int64_t> last_slots(head.num_samples);
  const LossTotals<Real, has_regions> totals{table.data(), last_slots.data(), width};
  std::vector<double> coefficients(head.num_samples * width * (has_regions ? 3 : 1));
  std::vector<double> costs(head.num_samples, -7);
  std::vector<Real> loss(1, -7);
  sum_up_loss<Element, has_regions>(
      launch, voxels, totals, {weights.data(), true}, coefficients.data(), costs.data(), loss.data());
  std::vector<Element> gradient(count, -7);
  launch.flat(
      WriteGradient<Element, has_regions>{voxels, {scale.data(), true}, coefficients.data(), width, gradient.data()},
      count);
  write_many(loss);
  write_many(coefficients);
  write_many(gradient);
}

}  // namespace breakeven

int main() {
  using namespace breakeven;
  for (Head head; try_read(head);) {
    if (head.has_regions != 0) {
      head.is_double != 0 ? run_case<double, true>(head) : run_case<float, true>(head);
    } else {
      head.is_double != 0 ? run_case<double, false>(head) : run_case<float, false>(head);
    }
  }
}
