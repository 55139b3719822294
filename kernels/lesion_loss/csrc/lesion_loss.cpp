// breakeven::lesion_loss: schemas and registration of the CPU implementation.
//
// The loss needs, for each sample, a few sums over the background or each region and over each lesion;
// its gradient needs a few coefficients for each of these. So one pass over the voxels makes the sums and
// another one the gradient, however many lesions there are. Beside the gradient, memory is needed for the
// table of coefficients and for the sums of each block: about 50 bytes for each slot in it.

#include "cpu.h"
#include "huge_pages.h"
#include "regions.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace breakeven {

void report_bad_slot(const char* name, const Array& slots, const LossShape& shape) {
  using torch::headeronly::ScalarType;
  const int64_t num = shape.num_samples * shape.num_voxels;
  for (int64_t i = 0; i < num; ++i) {
    const int64_t slot = slots.type == ScalarType::Int ? static_cast<const int32_t*>(slots.data)[i]
        : slots.type == ScalarType::Long               ? static_cast<const int64_t*>(slots.data)[i]
        : slots.type == ScalarType::Short              ? static_cast<const int16_t*>(slots.data)[i]
                                                       : static_cast<const uint8_t*>(slots.data)[i];
    check_lesion_loss_label(name, slot);
  }
  STD_TORCH_CHECK(false, "lesion_loss: an input changed while it was read, or nearest is out of range");
}

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

OptionalTensor contiguous(const OptionalTensor& tensor) {
  return tensor.has_value() ? OptionalTensor(torch::stable::contiguous(*tensor)) : tensor;
}

// Contiguous copies where need be, kept as long as their data is read.
struct HeldInputs {
  HeldInputs(
      LossKind kind,
      const Tensor& given_logits,
      const Tensor& given_target,
      const OptionalTensor& given_regions,
      const OptionalTensor& given_ignore)
      : logits(torch::stable::contiguous(given_logits)),
        target(torch::stable::contiguous(given_target)),
        regions(contiguous(given_regions)),
        ignore(contiguous(given_ignore)) {
    inputs.logits = Array(logits);
    inputs.slots = Array(kind == LossKind::blob ? target : *regions);
    inputs.lesion = Array(target);
    if (ignore.has_value()) {
      inputs.ignore = Array(*ignore);
    }
  }

  Tensor logits;
  Tensor target;
  OptionalTensor regions;
  OptionalTensor ignore;
  LossInputs inputs;
};

double read_real(const Tensor& tensor, int64_t place) {
  return tensor.scalar_type() == ScalarType::Double ? static_cast<const double*>(tensor.const_data_ptr())[place]
                                                    : static_cast<const float*>(tensor.const_data_ptr())[place];
}

std::vector<double> read_weights(const OptionalTensor& sample_weights, int64_t num_samples) {
  std::vector<double> weights(num_samples, 1.0);
  if (sample_weights.has_value()) {
    const Tensor dense = torch::stable::contiguous(*sample_weights);
    for (int64_t sample = 0; sample < num_samples; ++sample) {
      weights[sample] = read_real(dense, sample);
    }
  }
  return weights;
}

std::tuple<Tensor, Tensor> lesion_loss(
    Tensor logits,
    Tensor target,
    std::string kind,
    OptionalTensor regions,
    OptionalTensor ignore,
    OptionalTensor sample_weights) {
  const LossShape shape = check_lesion_loss(logits, target, kind, regions, ignore);
  check_lesion_loss_weights(sample_weights, shape);
  const HeldInputs held(shape.kind, logits, target, regions, ignore);
  const std::array<int64_t, 3> table_shape{shape.num_samples, num_rows(shape.kind), kTableWidth};
  Tensor coefficients = torch::stable::new_zeros(logits, {table_shape.data(), 3}, ScalarType::Double);
  const double value = sum_loss(
      held.inputs,
      shape,
      read_weights(sample_weights, shape.num_samples),
      static_cast<double*>(coefficients.mutable_data_ptr()));
  const bool is_double = logits.scalar_type() == ScalarType::Double;
  Tensor loss = torch::stable::new_empty(logits, {}, is_double ? ScalarType::Double : ScalarType::Float);
  torch::stable::fill_(loss, value);
  return {loss, coefficients};
}

Tensor lesion_loss_backward(
    Tensor grad,
    Tensor logits,
    Tensor target,
    std::string kind,
    OptionalTensor regions,
    OptionalTensor ignore,
    Tensor coefficients) {
  const LossShape shape = check_lesion_loss(logits, target, kind, regions, ignore);
  check_lesion_loss_backward(grad, coefficients, shape);
  const HeldInputs held(shape.kind, logits, target, regions, ignore);
  coefficients = torch::stable::contiguous(coefficients);
  Tensor gradient = torch::stable::new_empty(held.logits, held.logits.sizes());
  prefer_huge_pages(gradient.mutable_data_ptr(), gradient.numel() * gradient.element_size());
  write_gradient(
      held.inputs,
      shape,
      static_cast<const double*>(coefficients.const_data_ptr()),
      read_real(grad, 0),
      gradient.mutable_data_ptr());
  return gradient;
}

Tensor lesion_regions(Tensor target, Tensor nearest) {
  const LossShape shape = check_lesion_regions(target, nearest);
  target = torch::stable::contiguous(target);
  nearest = torch::stable::contiguous(nearest);
  Tensor regions = torch::stable::new_empty(target, target.sizes(), ScalarType::Short);
  prefer_huge_pages(regions.mutable_data_ptr(), regions.numel() * regions.element_size());
  write_regions(
      Array(target),
      static_cast<const int64_t*>(nearest.const_data_ptr()),
      shape,
      static_cast<int16_t*>(regions.mutable_data_ptr()));
  return regions;
}

}  // namespace
}  // namespace breakeven

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven, m) {
  m.def(
      "lesion_loss(Tensor logits, Tensor target, str kind, Tensor? regions, Tensor? ignore,"
      " Tensor? sample_weights) -> (Tensor loss, Tensor coefficients)");
  m.def(
      "lesion_loss_backward(Tensor grad, Tensor logits, Tensor target, str kind, Tensor? regions,"
      " Tensor? ignore, Tensor coefficients) -> Tensor");
  m.def("lesion_regions(Tensor target, Tensor nearest) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven, CPU, m) {
  m.impl("lesion_loss", TORCH_BOX(&breakeven::lesion_loss));
  m.impl("lesion_loss_backward", TORCH_BOX(&breakeven::lesion_loss_backward));
  m.impl("lesion_regions", TORCH_BOX(&breakeven::lesion_regions));
}
