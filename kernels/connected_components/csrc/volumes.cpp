// From tensors to volumes; see volumes.h.

#include "volumes.h"

#include <cpu_level.h>

#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <optional>

namespace breakeven::labelling {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Below this many voxels a volume is left to one thread where there are others to work on.
constexpr int64_t kLargeVolume = int64_t{1} << 18;

constexpr uint64_t kAllBits = ~uint64_t{0};

// Element size and the bits that tell a foreground element; nothing for a dtype that is converted first.
std::optional<MaskView> layout_of(ScalarType dtype) {
  const auto layout = [](int32_t part_bytes, int32_t parts, uint64_t significant) {
    MaskView view{};
    view.part_bytes = part_bytes;
    view.parts = parts;
    view.significant = significant;
    return view;
  };
  switch (dtype) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      return layout(1, 1, kAllBits);
    case ScalarType::Short:
    case ScalarType::UInt16:
      return layout(2, 1, kAllBits);
    case ScalarType::Int:
    case ScalarType::UInt32:
      return layout(4, 1, kAllBits);
    case ScalarType::Long:
    case ScalarType::UInt64:
      return layout(8, 1, kAllBits);
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return layout(2, 1, 0x7FFF);
    case ScalarType::Float:
      return layout(4, 1, 0x7FFFFFFF);
    case ScalarType::Double:
      return layout(8, 1, kAllBits >> 1);
    case ScalarType::ComplexHalf:
      return layout(2, 2, 0x7FFF);
    case ScalarType::ComplexFloat:
      return layout(4, 2, 0x7FFFFFFF);
    case ScalarType::ComplexDouble:
      return layout(8, 2, kAllBits >> 1);
    default:
      return std::nullopt;
  }
}

Bundling bundling_of(int64_t num_axes, int64_t connectivity) {
  if (connectivity == 1 || num_axes == 1) {
    return Bundling::single;
  }
  return num_axes == 3 && connectivity == 3 ? Bundling::quad : Bundling::pair;
}

}  // namespace

Volumes::Volumes(const Tensor& mask, const LabelShape& shape, int64_t connectivity, int64_t spatial_dims)
    : mask_(mask), shape_(shape), grid_{1, 1, 1, Bundling::single}, num_batch_dims_(mask.dim() - spatial_dims) {
  // A level that is refused is refused here: what a thread throws loses its words.
  cpu_level();
  auto layout = layout_of(mask.scalar_type());
  if (!layout) {
    mask_ = torch::stable::to(mask, std::make_optional(ScalarType::Bool));
    layout = layout_of(ScalarType::Bool);
  }
  first_ = *layout;
  first_.data = static_cast<const uint8_t*>(mask_.const_data_ptr());
  int64_t* const sizes[3] = {&grid_.depth, &grid_.height, &grid_.width};
  int64_t num_axes = 0;
  for (int64_t dim = spatial_dims - 1; dim >= 0; --dim) {
    const int64_t size = mask_.size(num_batch_dims_ + dim);
    grid_axes_[dim] = -1;
    if (size > 1) {
      const int64_t axis = 2 - num_axes++;
      *sizes[axis] = size;
      first_.strides[axis] = mask_.stride(num_batch_dims_ + dim) * first_.element_bytes();
      grid_axes_[dim] = axis;
    }
  }
  grid_.bundling = bundling_of(num_axes, std::min(connectivity, num_axes));
}

MaskView Volumes::view(int64_t volume) const {
  MaskView view = first_;
  for (int64_t dim = num_batch_dims_ - 1; dim >= 0; --dim) {
    view.data += volume % mask_.size(dim) * mask_.stride(dim) * first_.element_bytes();
    volume /= mask_.size(dim);
  }
  return view;
}

void Volumes::for_each(int64_t max_slabs, const std::function<void(int64_t, Labeller&)>& work) const {
  Labeller::check(grid_);
  const auto work_on = [&](int64_t begin, int64_t end) {
    Labeller labeller(grid_, max_slabs);
    for (int64_t volume = begin; volume < end; ++volume) {
      work(volume, labeller);
    }
  };
  if (num_voxels() < kLargeVolume) {
    torch::stable::parallel_for(0, count(), 1, work_on);
  } else {
    work_on(0, count());
  }
}

}  // namespace breakeven::labelling
