// The distance transform of a whole tensor on the CPU.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <vector>

namespace breakeven::edt {

// `distances`, and `nearest` where it is not nullptr, are contiguous and of the shape of the mask.
void transform(
    const torch::stable::Tensor& mask, const std::vector<double>& spacing, int64_t spatial_dims,
    bool is_signed, float* distances, int64_t* nearest);

}  // namespace breakeven::edt
