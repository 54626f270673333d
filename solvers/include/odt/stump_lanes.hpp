// The least loss of one cut of some rows of two labels, over many features at once.
//
// The rows of all features lie side by side, each feature in its own order, so that the running
// sums of eight features are one vector. Rows that are not asked for weigh nothing. Needs AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "odt/diagrams.hpp"

namespace odt {

class StumpLanes {
 public:
  explicit StumpLanes(const LayeredProblem& problem);

  // Not where there are more labels, sums leave 32 bits, or the processor lacks the instructions.
  bool works() const { return width_ > 0; }

  // What one caller at a time writes: per row, what is asked for.
  using Room = std::vector<std::int32_t>;
  Room room() const { return Room(rows_); }

  // The least loss with at most one cut of the rows that are set in so many words of bits.
  Loss least(const std::uint64_t* bits, std::size_t words, Room& room) const;

 private:
  std::size_t rows_ = 0, width_ = 0;  // features, filled up to a multiple of eight
  std::vector<Loss> first_;           // per row what it loses by the first label
  std::vector<std::int32_t> more_;    // and how much more by the second
  // [place * width + feature]: the row at that place, negative (~row) where no cut is behind it.
  std::vector<std::int32_t> row_at_;
};

}  // namespace odt
