// The least loss of one cut of some rows of two labels, or in two layers of cuts, over many
// features at once.
//
// The rows of all features lie side by side, each feature in its own order, so that the running
// sums of 32 features are one vector of bytes, or those of eight where sums need more. Rows that
// are not asked for weigh nothing. For two layers, only of bytes, the rows asked for are packed
// first. Needs AVX2.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "odt/diagrams.hpp"

namespace odt {

class StumpLanes {
  static constexpr std::size_t kBytes = 32, kWords = 4;

  // Of 32 features, at a place in their orders: the byte of a set of rows that the row there is in,
  // with the first bit set in the second half of 256 rows; its bit; what it adds to a sum; and
  // whether a cut is behind it.
  struct alignas(kBytes) Place {
    std::uint8_t byte[kBytes] = {}, bit[kBytes] = {};
    std::int8_t more[kBytes] = {}, cut[kBytes] = {};
  };

 public:
  explicit StumpLanes(const LayeredProblem& problem);

  // Not where there are more labels, sums leave 32 bits, or the processor lacks the instructions.
  bool works() const { return width_ > 0; }
  bool has_pairs() const { return !alike_.empty(); }

  // What one caller at a time writes.
  class Room {
   public:
    // Rows that were looked at since the last call.
    std::uint64_t work() { return std::exchange(looked_, 0); }

   private:
    friend class StumpLanes;
    std::vector<std::int32_t> asked_;  // per row, what is asked for
    std::vector<Place> packed_;
    std::vector<std::uint8_t> row_;  // [feature * rows + place]: of the packed rows
    std::size_t many_ = 0;           // packed rows
    std::uint64_t looked_ = 0;
  };
  Room room() const;

  // The least loss with at most one cut of the rows that are set in so many words of bits.
  Loss least(const std::uint64_t* bits, std::size_t words, Room& room) const;

  // The same with a cut, and a cut of each side; exact where it is at most `budget`, and else above
  // it. Only where there are pairs.
  Loss pair(const std::uint64_t* bits, std::size_t words, Loss budget, Room& room) const;

 private:
  using Bits = std::array<std::uint64_t, kWords>;
  // Rows that add alike to a sum.
  struct Alike {
    int more;
    Bits rows;
  };
  // A cut of packed rows: those before it, and what these lose at most.
  struct Cut {
    Bits before;
    int dearest;
  };
  // What rows lose by the first label, and how much more by the second.
  struct Sums {
    int first = 0, more = 0;
    int least() const { return first + std::min(0, more); }
  };

  void lay_bytes();
  void set_place(Place& place, std::size_t feature, std::size_t row, bool cut) const;
  Sums sums(const Bits& rows) const;
  int least_of(const Bits& rows, const std::vector<Place>& places, std::size_t many) const;
  template <int Halves>
  int best_of_bytes(const std::vector<Place>& places, std::size_t many, const Bits& asked,
                    int total) const;
  void pack(const Bits& rows, Room& room) const;
  void cuts_of(std::size_t feature, const Room& room, std::vector<Cut>& cuts) const;

  std::size_t rows_ = 0, width_ = 0;  // features, filled up to a multiple of eight
  std::vector<Loss> first_;           // per row what it loses by the first label
  std::vector<std::int32_t> more_;    // and how much more by the second
  // [place * width + feature]: the row at that place, negative (~row) where no cut is behind it.
  std::vector<std::int32_t> row_at_;
  std::size_t features_ = 0;
  std::vector<Alike> alike_;   // none: sums need more than bytes
  std::vector<Place> places_;  // [block of features * rows + place]
  // [feature * rows + row or place]: the place of a row, and how many cuts are before a place.
  std::vector<std::uint8_t> place_, cuts_before_;
};

}  // namespace odt
