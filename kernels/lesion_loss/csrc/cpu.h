// The two passes over the voxels, on the CPU.

#pragma once

#include "blocks.h"

#include <vector>

namespace breakeven {

// The loss; `table` (N, num_rows, kTableWidth), zero on entry, receives the coefficients of its gradient.
// `weights` has one for each sample. Throws where a slot is out of range.
double sum_loss(
    const LossInputs& inputs, const LossShape& shape, const std::vector<double>& weights, double* table);

// Writes `scale` times the gradient, in the dtype of the logits. Throws where a slot is out of range.
void write_gradient(
    const LossInputs& inputs, const LossShape& shape, const double* table, double scale, void* gradient);

// Raises the error for the first slot that is out of range; `name` is that of the argument.
[[noreturn]] void report_bad_slot(const char* name, const Array& slots, const LossShape& shape);

inline const char* slots_name(LossKind kind) {
  return kind == LossKind::blob ? "target" : "regions";
}

}  // namespace breakeven
