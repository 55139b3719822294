// Pack a mask to one bit a voxel; included once a level, in a namespace that has `pack_elements`.
//
// pack_elements<Part>(data, significant): 64 consecutive parts to one word.

// One row or part of it: `count` elements, `stride` bytes apart, into words; the last is filled with 0.
template <class Part>
inline void pack_strided(const MaskView& mask, const uint8_t* data, int64_t stride, int64_t count, uint64_t* words) {
  for (int64_t begin = 0; begin < count; begin += 64) {
    const int64_t end = count - begin < 64 ? count : begin + 64;
    uint64_t word = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* const element = data + i * stride;
      uint64_t is_foreground = 0;
      for (int32_t part = 0; part < mask.parts; ++part) {
        Part value;
        std::memcpy(&value, element + part * sizeof(Part), sizeof(Part));
        is_foreground |= (value & static_cast<Part>(mask.significant)) != 0;
      }
      word |= is_foreground << (i - begin);
    }
    words[begin / 64] = word;
  }
}

template <class Part>
inline void pack_dense(const MaskView& mask, const uint8_t* data, int64_t count, uint64_t* words) {
  const auto significant = static_cast<Part>(mask.significant);
  int64_t begin = 0;
  for (; begin + 64 <= count; begin += 64) {
    *words++ = pack_elements<Part>(data + begin * sizeof(Part), significant);
  }
  if (begin < count) {
    alignas(64) uint8_t rest[64 * sizeof(Part)] = {};
    std::memcpy(rest, data + begin * sizeof(Part), (count - begin) * sizeof(Part));
    *words = pack_elements<Part>(rest, significant);
  }
}

// Columns to rows: bit j of word i goes to bit i of word j.
inline void transpose_64x64(uint64_t* words) {
  uint64_t mask = 0x00000000FFFFFFFFu;
  for (int width = 32; width != 0; width /= 2, mask ^= mask << width) {
    for (int i = 0; i < 64; i = ((i | width) + 1) & ~width) {
      const uint64_t swapped = ((words[i] >> width) ^ words[i | width]) & mask;
      words[i] ^= swapped << width;
      words[i | width] ^= swapped;
    }
  }
}

// Rows lie `row_stride` bytes apart and are read across: 64 rows at 64 columns in one go.
template <class Part>
void pack_across(
    const MaskView& mask, const uint8_t* data, int64_t num_rows, int64_t width, uint64_t* bits, int64_t row_words) {
  for (int64_t row = 0; row < num_rows; row += 64) {
    const int64_t rows = num_rows - row < 64 ? num_rows - row : 64;
    for (int64_t column = 0; column < width; column += 64) {
      uint64_t block[64] = {};
      const int64_t columns = width - column < 64 ? width - column : 64;
      for (int64_t i = 0; i < columns; ++i) {
        pack_dense<Part>(mask, data + row * sizeof(Part) + (column + i) * mask.strides[2], rows, block + i);
      }
      transpose_64x64(block);
      for (int64_t i = 0; i < rows; ++i) {
        bits[(row + i) * row_words + column / 64] = block[i];
      }
    }
  }
}

template <class Part>
void pack_slab_of(const MaskView& mask, int64_t depth, int64_t height, int64_t width, uint64_t* bits) {
  const int64_t words = (width + 63) / 64;
  const bool is_dense = mask.strides[2] == mask.element_bytes() && mask.parts == 1;
  if (!is_dense && mask.parts == 1 && width > 1 && mask.strides[1] == mask.element_bytes() && height >= 8) {
    for (int64_t z = 0; z < depth; ++z) {
      pack_across<Part>(mask, mask.data + z * mask.strides[0], height, width, bits + z * height * words, words);
    }
    return;
  }
  if (!is_dense && mask.parts == 1 && width > 1 && mask.strides[0] == mask.element_bytes() && depth >= 8) {
    for (int64_t y = 0; y < height; ++y) {
      pack_across<Part>(mask, mask.data + y * mask.strides[1], depth, width, bits + y * words, height * words);
    }
    return;
  }
  for (int64_t z = 0; z < depth; ++z) {
    for (int64_t y = 0; y < height; ++y, bits += words) {
      const uint8_t* const row = mask.data + z * mask.strides[0] + y * mask.strides[1];
      if (is_dense) {
        pack_dense<Part>(mask, row, width, bits);
      } else {
        pack_strided<Part>(mask, row, mask.strides[2], width, bits);
      }
    }
  }
}

// depth x height rows of the mask from its first voxel on.
void pack_slab(const MaskView& mask, int64_t depth, int64_t height, int64_t width, uint64_t* bits) {
  switch (mask.part_bytes) {
    case 1:
      return pack_slab_of<uint8_t>(mask, depth, height, width, bits);
    case 2:
      return pack_slab_of<uint16_t>(mask, depth, height, width, bits);
    case 4:
      return pack_slab_of<uint32_t>(mask, depth, height, width, bits);
    default:
      return pack_slab_of<uint64_t>(mask, depth, height, width, bits);
  }
}
