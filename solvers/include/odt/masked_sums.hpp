// Sums over rows for many 0/1 columns at once: of what each row adds where its bit of the column is
// set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "odt/lanes.hpp"

namespace odt {

struct alignas(64) LaneMasks {
  std::int64_t of[256][kLanes];
  LaneMasks() {
    for (int byte = 0; byte < 256; ++byte)
      for (std::size_t l = 0; l < kLanes; ++l) of[byte][l] = byte >> l & 1 ? -1 : 0;
  }
};
inline const LaneMasks& lane_masks() {
  static const LaneMasks masks;
  return masks;
}

struct MaskedRows {
  const double* first;  // a number of row 0; that of the next row stands `step` further on
  std::size_t step;
  const std::uint8_t* masks;  // [row][blocks]: a bit per column
  std::size_t blocks;
  const std::uint32_t* row;
  std::size_t rows;
  const std::int64_t (*lanes)[kLanes] = lane_masks().of;

  // The same rows, of a number that stands so far behind the first.
  MaskedRows behind(std::size_t place) const {
    MaskedRows other = *this;
    other.first += place;
    return other;
  }
};

// From a block of columns on: of one number of each row, or of it and the one behind it.
void add_masked_one(const MaskedRows& in, std::size_t block, double* sums);
void add_masked_two(const MaskedRows& in, std::size_t block, double* a, double* b);
// The same without the bit masks of AVX-512.
void add_two_by_lanes(const MaskedRows& in, std::size_t block, double* a, double* b);

// One list of numbers less another, in whole blocks of lanes.
void differences(const double* a, const double* b, std::size_t n, double* out);

}  // namespace odt
