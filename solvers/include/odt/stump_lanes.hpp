// The least loss of one cut of some rows of two labels, over many features at once.
//
// The rows of all features lie side by side, each feature in its own order, so that the running
// sums of eight features are one vector, or of 64 features where a row loses nothing or as much as
// the others. Rows that are not asked for weigh nothing. Needs AVX2, and AVX-512 for 64.
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
  struct Room {
    std::vector<std::int32_t> more;
    std::vector<std::int8_t> units;
  };
  Room room() const;

  // The least loss with at most one cut of the rows that are set in so many words of bits.
  Loss least(const std::uint64_t* bits, std::size_t words, Room& room) const;

 private:
  void pack();
  Loss least_of_bytes(const std::uint64_t* bits, std::size_t words, Room& room) const;

  std::size_t rows_ = 0, width_ = 0;  // features, filled up to a multiple of eight
  std::vector<Loss> first_;           // per row what it loses by the first label
  std::vector<std::int32_t> more_;    // and how much more by the second
  // [place * width + feature]: the row at that place, negative (~row) where no cut is behind it.
  std::vector<std::int32_t> row_at_;

  // The same in bytes, 64 features a block: [(block * rows + place) * 64 + feature], and bits of
  // the features that have a cut behind that place. `unit_` is what a row loses; 0: not used.
  Loss unit_ = 0;
  std::vector<std::uint8_t> byte_at_;
  std::vector<std::uint64_t> cuts_;
};

}  // namespace odt
