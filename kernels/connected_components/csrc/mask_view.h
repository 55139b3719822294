// A mask in memory as the packing reads it: any strides, elements of 1 to 8 bytes, one or two parts each.
#pragma once

#include <cstdint>

namespace breakeven::labelling {

struct MaskView {
  const uint8_t* data;
  int64_t strides[3];  // Bytes, along depth, height and width.
  int32_t part_bytes;  // 1, 2, 4 or 8.
  int32_t parts;       // 2 for a complex number.
  // An element is foreground where one of its parts has a bit of these: all of an integer's, all but the
  // sign of a float, so that -0.0 is zero and NaN is not.
  uint64_t significant;

  int64_t element_bytes() const {
    return int64_t{part_bytes} * parts;
  }
};

}  // namespace breakeven::labelling
