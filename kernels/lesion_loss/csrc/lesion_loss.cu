// The lesion-wise losses on CUDA: memory and types; loss_passes.h has the work.
//
// Nothing here waits for the device: a label out of range is said by the device itself, which then stops.
// Figures on a GPU: none yet, none was at hand; tests/gpu/run.py measures them.

#include "cuda_launch.h"
#include "lesion_loss.h"
#include "loss_passes.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

namespace breakeven {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

IntegerArray integers_of(const Tensor& tensor) {
  return {tensor.const_data_ptr(), static_cast<int>(tensor.element_size())};
}

RealArray reals_of(const Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.scalar_type() == ScalarType::Double};
}

OptionalTensor contiguous(const OptionalTensor& tensor) {
  return tensor.has_value() ? OptionalTensor(torch::stable::contiguous(*tensor)) : tensor;
}

// Contiguous copies where need be, kept until the passes are launched.
struct HeldInputs {
  HeldInputs(
      const LossShape& loss_shape,
      const Tensor& given_logits,
      const Tensor& given_target,
      const OptionalTensor& given_regions,
      const OptionalTensor& given_ignore)
      : shape(loss_shape),
        logits(torch::stable::contiguous(given_logits)),
        target(torch::stable::contiguous(given_target)),
        regions(contiguous(given_regions)),
        ignore(contiguous(given_ignore)) {}

  template <typename Element>
  LossVoxels<Element> voxels() const {
    return {
        shape.num_samples,
        shape.num_voxels,
        kMaxLabel,
        static_cast<const Element*>(logits.const_data_ptr()),
        integers_of(regions.has_value() ? *regions : target),
        integers_of(target),
        ignore.has_value() ? static_cast<const uint8_t*>(ignore->const_data_ptr()) : nullptr};
  }

  LossShape shape;
  Tensor logits;
  Tensor target;
  OptionalTensor regions;
  OptionalTensor ignore;
};

// Calls `use(element, has_regions)`, both as types.
template <typename Use>
void with_types(const HeldInputs& held, const Use& use) {
  const auto with_kind = [&](auto element) {
    if (held.shape.kind == LossKind::blob) {
      use(element, std::false_type{});
    } else {
      use(element, std::true_type{});
    }
  };
  switch (held.logits.scalar_type()) {
    case ScalarType::Float:
      return with_kind(float{});
    case ScalarType::Double:
      return with_kind(double{});
    case ScalarType::Half:
      return with_kind(Float16{});
    default:
      return with_kind(BrainFloat16{});
  }
}

Tensor new_zeros(const Tensor& like, int64_t num_bytes) {
  const int64_t words = (num_bytes + 7) / 8;
  return torch::stable::new_zeros(like, {&words, 1}, ScalarType::Long);
}

template <typename Element, bool has_regions>
void sum_up(const CudaLauncher& launch, const HeldInputs& held, RealArray weights, Tensor& coefficients, Tensor& loss) {
  using Real = RealOfElement<Element>;
  using Slot = SlotTotals<Real, has_regions>;
  const int64_t samples = held.shape.num_samples;
  const Tensor slots = new_zeros(held.logits, samples * kTableWidth * static_cast<int64_t>(sizeof(Slot)));
  const Tensor last_slots = new_zeros(held.logits, samples * static_cast<int64_t>(sizeof(int64_t)));
  const Tensor costs = torch::stable::new_empty(held.logits, {&samples, 1}, ScalarType::Double);
  const LossTotals<Real, has_regions> totals{
      static_cast<Slot*>(slots.mutable_data_ptr()), static_cast<int64_t*>(last_slots.mutable_data_ptr()), kTableWidth};
  sum_up_loss<Element, has_regions>(
      launch,
      held.voxels<Element>(),
      totals,
      weights,
      static_cast<double*>(coefficients.mutable_data_ptr()),
      static_cast<double*>(costs.mutable_data_ptr()),
      static_cast<Real*>(loss.mutable_data_ptr()));
}

std::tuple<Tensor, Tensor> lesion_loss_cuda(
    Tensor logits,
    Tensor target,
    std::string kind,
    OptionalTensor regions,
    OptionalTensor ignore,
    OptionalTensor sample_weights) {
  const LossShape shape = check_lesion_loss(logits, target, kind, regions, ignore);
  check_lesion_loss_weights(sample_weights, shape);
  const CudaLauncher launch(logits);
  const HeldInputs held(shape, logits, target, regions, ignore);
  RealArray weights{nullptr, false};
  if (sample_weights.has_value()) {
    sample_weights = torch::stable::contiguous(torch::stable::to(*sample_weights, logits.device()));
    weights = reals_of(*sample_weights);
  }
  const std::array<int64_t, 3> table_shape{shape.num_samples, num_rows(shape.kind), kTableWidth};
  Tensor coefficients = torch::stable::new_zeros(logits, {table_shape.data(), 3}, ScalarType::Double);
  const bool is_double = logits.scalar_type() == ScalarType::Double;
  Tensor loss = torch::stable::new_empty(logits, {}, is_double ? ScalarType::Double : ScalarType::Float);
  with_types(held, [&](auto element, auto has_regions) {
    sum_up<decltype(element), has_regions.value>(launch, held, weights, coefficients, loss);
  });
  return {loss, coefficients};
}

Tensor lesion_loss_backward_cuda(
    Tensor grad,
    Tensor logits,
    Tensor target,
    std::string kind,
    OptionalTensor regions,
    OptionalTensor ignore,
    Tensor coefficients) {
  const LossShape shape = check_lesion_loss(logits, target, kind, regions, ignore);
  check_lesion_loss_backward(grad, coefficients, shape);
  const CudaLauncher launch(logits);
  const HeldInputs held(shape, logits, target, regions, ignore);
  coefficients = torch::stable::contiguous(coefficients);
  grad = torch::stable::to(grad, logits.device());
  Tensor gradient = torch::stable::new_empty(held.logits, held.logits.sizes());
  with_types(held, [&](auto element, auto has_regions) {
    using Element = decltype(element);
    const WriteGradient<Element, has_regions.value> pass{
        held.voxels<Element>(),
        reals_of(grad),
        static_cast<const double*>(coefficients.const_data_ptr()),
        kTableWidth,
        static_cast<Element*>(gradient.mutable_data_ptr())};
    launch.flat(pass, gradient.numel());
  });
  return gradient;
}

Tensor lesion_regions_cuda(Tensor target, Tensor nearest) {
  const LossShape shape = check_lesion_regions(target, nearest);
  const CudaLauncher launch(target);
  target = torch::stable::contiguous(target);
  nearest = torch::stable::contiguous(nearest);
  Tensor regions = torch::stable::new_empty(target, target.sizes(), ScalarType::Short);
  const LookUpRegions pass{
      shape.num_voxels,
      kMaxLabel,
      integers_of(target),
      static_cast<const int64_t*>(nearest.const_data_ptr()),
      static_cast<int16_t*>(regions.mutable_data_ptr())};
  launch.flat(pass, regions.numel());
  return regions;
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_IMPL(breakeven, CUDA, m) {
  m.impl("lesion_loss", TORCH_BOX(&breakeven::lesion_loss_cuda));
  m.impl("lesion_loss_backward", TORCH_BOX(&breakeven::lesion_loss_backward_cuda));
  m.impl("lesion_regions", TORCH_BOX(&breakeven::lesion_regions_cuda));
}
