#include "pack.h"

#include "threads.h"

#include "huge_pages.h"

#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>

namespace breakeven::edt {

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t kRowsPerBlock = 64;
// Of a mask that has to be made contiguous, at a time.
constexpr int64_t kSlabBytes = int64_t{2} << 20;

using RowReader = void (*)(const void* mask, int64_t first, int64_t count, uint8_t* is_nonzero);

// `ignored` holds the sign bit of floating types: -0.0 is a zero.
template <typename Word, Word ignored>
void read_row(const void* mask, int64_t first, int64_t count, uint8_t* is_nonzero) {
  const Word* words = static_cast<const Word*>(mask) + first;
  for (int64_t i = 0; i < count; ++i) {
    is_nonzero[i] = static_cast<Word>(words[i] & static_cast<Word>(~ignored)) != 0;
  }
}

// nullptr where the mask holds bytes already.
RowReader row_reader(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      return nullptr;
    case ScalarType::Short:
    case ScalarType::UInt16:
      return read_row<uint16_t, 0>;
    case ScalarType::Int:
    case ScalarType::UInt32:
      return read_row<uint32_t, 0>;
    case ScalarType::Long:
    case ScalarType::UInt64:
      return read_row<uint64_t, 0>;
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return read_row<uint16_t, 0x8000u>;
    case ScalarType::Float:
      return read_row<uint32_t, 0x80000000u>;
    case ScalarType::Double:
      return read_row<uint64_t, 0x8000000000000000u>;
    default:
      STD_TORCH_CHECK(
          false, "distance_transform: mask must be boolean, integer or floating, got ",
          torch::headeronly::toString(dtype));
      return nullptr;
  }
}

// Packs rows; one for each thread.
class RowPacker {
 public:
  RowPacker(const Shape& shape, const Level& level, RowReader read, Packed& packed, float* zero_to)
      : shape_(shape), level_(level), read_(read), packed_(packed), zero_to_(zero_to),
        is_nonzero_(read == nullptr ? 0 : shape.W), bits_(shape.num_words()) {}

  // Row `row` of all, which is row `row_of_slab` of the contiguous `slab`.
  void pack_row(const void* slab, int64_t row_of_slab, int64_t row) {
    const int64_t W = shape_.W;
    const uint8_t* bytes = static_cast<const uint8_t*>(slab) + row_of_slab * W;
    if (read_ != nullptr) {
      read_(slab, row_of_slab * W, W, is_nonzero_.data());
      bytes = is_nonzero_.data();
    }
    level_.find_zeros(bytes, W, bits_.data());
    uint8_t kinds = write_words(row, packed_.zeros.get()) ? kHasZeros : 0;
    if (zero_to_ != nullptr) {
      zero_full_words(zero_to_ + row * W);
    }
    for (int64_t word = 0; word < shape_.num_words(); ++word) {
      bits_[word] ^= low_bits(W - word * kWordBits);
      kinds |= bits_[word] != 0 ? kHasOnes : 0;
    }
    if (packed_.ones != nullptr) {
      write_words(row, packed_.ones.get());
    }
    auto& known = packed_.kinds[row / (shape_.D * shape_.H)];
    if ((known.load(std::memory_order_relaxed) & kinds) != kinds) {
      known.fetch_or(kinds, std::memory_order_relaxed);
    }
  }

 private:
  // Whether the row has a site.
  bool write_words(int64_t row, SiteWord* words) const {
    const int64_t num_words = shape_.num_words();
    SiteWord* const first = words + row / shape_.H * num_words * shape_.H + row % shape_.H;
    int32_t before = -kFar;
    for (int64_t word = 0; word < num_words; ++word) {
      const uint64_t sites = bits_[word];
      first[word * shape_.H].sites = sites;
      first[word * shape_.H].before = before;
      if (sites != 0) {
        before = static_cast<int32_t>(word * kWordBits + 63 - __builtin_clzll(sites));
      }
    }
    int32_t after = kFar;
    for (int64_t word = num_words - 1; word >= 0; --word) {
      first[word * shape_.H].after = after;
      if (bits_[word] != 0) {
        after = static_cast<int32_t>(word * kWordBits + __builtin_ctzll(bits_[word]));
      }
    }
    return before != -kFar;
  }

  void zero_full_words(float* row) const {
    const int64_t num_words = shape_.num_words();
    for (int64_t word = 0; word < num_words; ++word) {
      const int64_t first = word;
      while (word < num_words && bits_[word] == low_bits(shape_.W - word * kWordBits)) {
        ++word;
      }
      const int64_t end = std::min(word * kWordBits, shape_.W);
      std::fill(row + std::min(first * kWordBits, end), row + end, 0.0f);
    }
  }

  const Shape& shape_;
  const Level& level_;
  RowReader read_;
  Packed& packed_;
  float* zero_to_;
  std::vector<uint8_t> is_nonzero_;
  std::vector<uint64_t> bits_;
};

std::unique_ptr<SiteWord[]> new_words(int64_t count) {
  auto words = std::make_unique_for_overwrite<SiteWord[]>(count);
  prefer_huge_pages(words.get(), count * sizeof(SiteWord));
  return words;
}

// Slabs of the mask, contiguous each, in raster order: a copy of the whole would need too much memory.
template <typename Use>
void for_each_slab(const Tensor& mask, const Use& use) {
  if (mask.is_contiguous()) {
    use(mask);
    return;
  }
  int64_t axis = 0;
  while (axis + 1 < mask.dim() && mask.size(axis) == 1) {
    ++axis;
  }
  const int64_t length = mask.size(axis);
  const int64_t bytes = mask.numel() / length * static_cast<int64_t>(mask.element_size());
  const int64_t step = std::max<int64_t>(1, kSlabBytes / bytes);
  for (int64_t first = 0; first < length; first += step) {
    Tensor part = mask;
    part = torch::stable::narrow(part, axis, first, std::min(step, length - first));
    use(torch::stable::contiguous(part));
  }
}

}  // namespace

void check_readable(const Tensor& mask) {
  row_reader(mask.scalar_type());
}

Packed pack(const Tensor& mask, const Shape& shape, const Level& level, bool wants_ones, float* zero_to) {
  const RowReader read = row_reader(mask.scalar_type());
  const int64_t count = shape.N * shape.D * shape.num_words() * shape.H;
  Packed packed{
      new_words(count), wants_ones ? new_words(count) : nullptr, std::vector<std::atomic<uint8_t>>(shape.N)};
  int64_t first_row = 0;
  for_each_slab(mask, [&](const Tensor& slab) {
    const void* const data = slab.const_data_ptr();
    const int64_t num_rows = slab.numel() / shape.W;
    share_out(num_rows, kRowsPerBlock, [&] {
      return [packer = RowPacker(shape, level, read, packed, zero_to), data, first_row](
                 int64_t begin, int64_t end) mutable {
        for (int64_t row = begin; row < end; ++row) {
          packer.pack_row(data, row, first_row + row);
        }
      };
    });
    first_row += num_rows;
  });
  return packed;
}

}  // namespace breakeven::edt
