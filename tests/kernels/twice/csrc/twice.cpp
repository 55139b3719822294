#include "twice.h"

#include <cstdint>

namespace breakeven_test {
namespace {

using torch::stable::Tensor;

Tensor twice(const Tensor& x) {
  check_input(x);
  Tensor y = torch::stable::empty_like(x);
  const auto* const from = static_cast<const float*>(x.const_data_ptr());
  auto* const to = static_cast<float*>(y.mutable_data_ptr());
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    to[i] = twice_of(from[i]);
  }
  return y;
}

}  // namespace
}  // namespace breakeven_test

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_twice, m) {
  m.def("twice(Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven_test_twice, CPU, m) {
  m.impl("twice", TORCH_BOX(&breakeven_test::twice));
}
