// The least loss of one cut of some rows of two labels, over many features at once.
//
// The rows of all features lie side by side, each feature in its own order, so that the running
// sums of 32 features are one vector of bytes, or those of eight where sums need more. Rows that
// are not asked for weigh nothing. Needs AVX2.
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
  static constexpr std::size_t kBytes = 32;

  // Rows that lose alike, if `more_` is by `unit_` what bytes hold the sums of.
  struct Alike {
    Loss first;
    int more;
    std::vector<std::uint64_t> rows;
  };

  // Of 32 features, at a place in their orders: the byte of a set of rows that the row there is in,
  // with the first bit set in the second half of 256 rows; its bit; what it adds to a sum; and
  // whether a cut is behind it.
  struct alignas(kBytes) Place {
    std::uint8_t byte[kBytes] = {}, bit[kBytes] = {};
    std::int8_t more[kBytes] = {}, cut[kBytes] = {};
  };

  void group_alike();
  void lay_bytes();
  Loss least_of_bytes(const std::uint64_t* bits, std::size_t words) const;
  template <int Halves>
  int best_of_bytes(const std::uint64_t* asked, int total) const;

  std::size_t rows_ = 0, width_ = 0;  // features, filled up to a multiple of eight
  std::vector<Loss> first_;           // per row what it loses by the first label
  std::vector<std::int32_t> more_;    // and how much more by the second
  // [place * width + feature]: the row at that place, negative (~row) where no cut is behind it.
  std::vector<std::int32_t> row_at_;
  std::int32_t unit_ = 0;
  std::vector<Alike> alike_;   // none: sums need more than bytes
  std::vector<Place> places_;  // [block of features * rows + place]
};

}  // namespace odt
