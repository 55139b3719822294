// The components of one volume; see labeller.h.

#include "labeller.h"

#include <cpu_level.h>
#include <huge_pages.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <limits>

namespace breakeven::labelling {
namespace {

#include "link_body.h"

const Kernels& chosen_kernels() {
#ifdef BREAKEVEN_HAS_WIDE_LEVELS
  switch (cpu_level()) {
    case CpuLevel::avx512:
      return avx512_kernels();
    case CpuLevel::avx2:
      return avx2_kernels();
    case CpuLevel::portable:
      break;
  }
#endif
  return portable_kernels();
}

// Memory that is not touched before it is needed.
template <class Element>
std::unique_ptr<Element[]> allocate_untouched(int64_t count) {
  std::unique_ptr<Element[]> memory(new Element[count]);
  prefer_huge_pages(memory.get(), count * sizeof(Element));
  return memory;
}

template <class Work>
void for_each_slab(const std::vector<Slab>& slabs, const Work& work) {
  torch::stable::parallel_for(0, static_cast<int64_t>(slabs.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t slab = begin; slab < end; ++slab) {
      work(static_cast<size_t>(slab));
    }
  });
}

}  // namespace

void Labeller::check(const Grid& grid) {
  const auto up = [](int64_t size, int64_t step) { return (size + step - 1) / step; };
  const int64_t layers = up(grid.depth, grid.bundle_depth());
  const int64_t runs_a_layer = up(grid.height, grid.bundle_height()) * grid.max_runs_a_bundle();
  STD_TORCH_CHECK(
      layers <= std::numeric_limits<uint32_t>::max() / runs_a_layer,
      "connected_components: a volume must have fewer than 2^32 runs of voxels whatever the mask, got a volume of ",
      grid.depth, " x ", grid.height, " x ", grid.width, "; label it in parts");
  chosen_kernels();
}

Labeller::Labeller(const Grid& grid, int64_t max_slabs) : grid_(grid), kernels_(chosen_kernels()) {
  plan(max_slabs);
  allocate();
}

// Slabs of equal numbers of layers; of an image, of bundles. The last may be smaller.
void Labeller::plan(int64_t max_slabs) {
  const bool is_image = grid_.depth == 1;
  const int64_t size = is_image ? grid_.height : grid_.depth;
  const int64_t step = is_image ? grid_.bundle_height() : grid_.bundle_depth();
  const int64_t units = (size + step - 1) / step;
  const int64_t units_a_slab = (units + max_slabs - 1) / max_slabs;
  const int64_t slab_size = units_a_slab * step;
  const int64_t bundles_a_unit = is_image ? 1 : (grid_.height + grid_.bundle_height() - 1) / grid_.bundle_height();
  const int64_t runs_a_unit = bundles_a_unit * grid_.max_runs_a_bundle();
  runs_a_slab_ = static_cast<uint32_t>(units_a_slab * runs_a_unit);
  for (int64_t begin = 0; begin < size; begin += slab_size) {
    const int64_t extent = std::min(slab_size, size - begin);
    Slab slab{};
    slab.first_row = is_image ? begin : begin * grid_.height;
    slab.depth = is_image ? 1 : extent;
    slab.height = is_image ? extent : grid_.height;
    slab.base = static_cast<uint32_t>(slabs_.size()) * runs_a_slab_;
    slabs_.push_back(slab);
  }
}

void Labeller::allocate() {
  const int64_t words = grid_.words();
  const bool has_any = grid_.bundling != Bundling::single;
  int64_t layer_words = 0;
  int64_t num_bundles = 0;
  for (const Slab& slab : slabs_) {
    layer_words += 2 * slab.bundles_a_layer(grid_) * words;
    num_bundles += slab.bundles(grid_) + 1;
  }
  bits_ = allocate_untouched<uint64_t>(grid_.depth * grid_.height * words);
  words_ = allocate_untouched<uint64_t>((has_any ? 2 : 1) * layer_words + words);
  befores_ = allocate_untouched<uint32_t>(layer_words);
  first_runs_ = allocate_untouched<uint32_t>(num_bundles);
  uint64_t* next_words = words_.get() + words;
  uint32_t* next_before = befores_.get();
  uint32_t* next_first_run = first_runs_.get();
  std::fill_n(words_.get(), words, 0);
  buffers_.resize(slabs_.size());
  for (size_t index = 0; index < slabs_.size(); ++index) {
    Slab& slab = slabs_[index];
    slab.bits = bits_.get() + slab.first_row * words;
    slab.zero_row = words_.get();
    slab.first_run = next_first_run;
    next_first_run += slab.bundles(grid_) + 1;
    const int64_t size = slab.bundles_a_layer(grid_) * words;
    for (int side = 0; side < 2; ++side) {
      buffers_[index].starts[side] = next_words;
      buffers_[index].any[side] = next_words + (has_any ? size : 0);
      buffers_[index].before[side] = next_before;
      next_words += has_any ? 2 * size : size;
      next_before += size;
    }
  }
}

void Labeller::place_parents(void* labels, int64_t label_bytes) {
  if (labels == nullptr && parents_ == nullptr) {
    // Most of it is never touched: few masks have a run every other voxel.
    parents_.reset(new uint32_t[static_cast<size_t>(slabs_.size()) * runs_a_slab_]);
  }
  for (Slab& slab : slabs_) {
    slab.parents = labels == nullptr
        ? parents_.get() + slab.base
        : reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(labels) + slab.first_row * grid_.width * label_bytes);
  }
}

int64_t Labeller::search(const MaskView& mask, void* labels, int64_t label_bytes) {
  place_parents(labels, label_bytes);
  std::vector<uint32_t> num_roots(slabs_.size());
  for_each_slab(slabs_, [&](size_t index) {
    Slab& slab = slabs_[index];
    MaskView part = mask;
    part.data += slab.first_row / grid_.height * mask.strides[0] + slab.first_row % grid_.height * mask.strides[1];
    uint64_t* const bits = bits_.get() + slab.first_row * grid_.words();
    kernels_.pack_slab(part, slab.depth, slab.height, grid_.width, bits);
    num_roots[index] = kernels_.join_slab(grid_, slab, buffers_[index]);
  });
  merge_slabs();
  int64_t count = -static_cast<int64_t>(merged_.size());
  for (const uint32_t roots : num_roots) {
    count += roots;
  }
  return count;
}

uint32_t Labeller::root_of(uint32_t run) const {
  uint32_t parent = parent_of(run);
  while (parent != run) {
    run = parent;
    parent = parent_of(run);
  }
  return run;
}

void Labeller::merge_slabs() {
  merged_.clear();
  for (size_t index = 0; index + 1 < slabs_.size(); ++index) {
    merge_with_next(index);
  }
  for (const uint32_t root : merged_) {
    parent_of(root) = root_of(root);
  }
}

// Join the runs on both sides of the border between a slab and the next.
void Labeller::merge_with_next(size_t index) {
  const Slab& slab = slabs_[index];
  const Slab& next = slabs_[index + 1];
  const auto join = [&](uint32_t run, uint32_t other) {
    const uint32_t a = root_of(next.base + run);
    const uint32_t b = root_of(slab.base + other);
    if (a != b) {
      parent_of(std::max(a, b)) = std::min(a, b);
      merged_.push_back(std::max(a, b));
    }
  };
  const int64_t layers = slab.layers(grid_);
  const int64_t next_layers = next.layers(grid_);
  const LayerBuffers& buffers = buffers_[index];
  const LayerBuffers& next_buffers = buffers_[index + 1];
  // The buffers still hold the last layer of each slab; its first goes beside it.
  const int64_t side = (layers - 1) % 2;
  const int64_t next_side = next_layers == 1 ? 0 : next_layers % 2;
  const Layer before =
      layer_of(grid_, slab, layers - 1, buffers.any[side], buffers.starts[side], buffers.before[side]);
  const Layer after = layer_of(
      grid_, next, 0, next_buffers.any[next_side], next_buffers.starts[next_side], next_buffers.before[next_side]);
  const bool is_image = grid_.depth == 1;
  const int64_t bundles = is_image ? 1 : next.bundles_a_layer(grid_);
  for (int64_t bundle = 0; bundle < bundles; ++bundle) {
    if (next_layers > 1) {
      find_runs(grid_, after, bundle, after.first_run[bundle]);
    }
    if (!has_runs(after, bundle)) {
      continue;
    }
    const int64_t last_bundle = slab.bundles_a_layer(grid_) - 1;
    if (is_image && !has_runs(before, last_bundle)) {
      continue;
    }
    switch (grid_.bundling) {
      case Bundling::single:
        is_image ? join_beside<Bundling::single>(grid_, after, 0, before, last_bundle, join)
                 : join_above<Bundling::single>(grid_, after, bundle, before, join);
        break;
      case Bundling::pair:
        is_image ? join_beside<Bundling::pair>(grid_, after, 0, before, last_bundle, join)
                 : join_above<Bundling::pair>(grid_, after, bundle, before, join);
        break;
      case Bundling::quad:
        join_above<Bundling::quad>(grid_, after, bundle, before, join);
        break;
    }
  }
}

void Labeller::number() {
  numbers_.resize(slabs_.size());
  for_each_slab(slabs_, [&](size_t slab) { numbers_[slab] = number_slab(grid_, slabs_[slab]); });
  offsets_.assign(slabs_.size(), 0);
  for (size_t slab = 1; slab < slabs_.size(); ++slab) {
    offsets_[slab] = offsets_[slab - 1] + numbers_[slab - 1].num_native;
  }
  foreign_labels_.resize(slabs_.size());
  for (size_t slab = 0; slab < slabs_.size(); ++slab) {
    foreign_labels_[slab].clear();
    for (const uint32_t root : numbers_[slab].foreign) {
      foreign_labels_[slab].push_back(offsets_[slab_of(root)] + parent_of(root));
    }
  }
}

void Labeller::write(void* labels, int64_t label_bytes, bool passes_caches) {
  for_each_slab(slabs_, [&](size_t index) {
    const Slab& slab = slabs_[index];
    const Numbering numbering{numbers_[index].num_native, offsets_[index], foreign_labels_[index].data()};
    uint8_t* const first = static_cast<uint8_t*>(labels) + slab.first_row * grid_.width * label_bytes;
    // Rows of the buffer begin on whole cache lines.
    constexpr size_t kAlignment = 64;
    std::unique_ptr<uint8_t[]> memory(new uint8_t[write_buffer_size(grid_) * sizeof(int32_t) + kAlignment]);
    const auto address = reinterpret_cast<uintptr_t>(memory.get());
    auto* const buffer = reinterpret_cast<int32_t*>((address + kAlignment - 1) / kAlignment * kAlignment);
    kernels_.write_slab(grid_, slab, numbering, {first, label_bytes == 8, passes_caches}, buffer);
  });
}

}  // namespace breakeven::labelling
