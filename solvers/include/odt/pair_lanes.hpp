// The least loss of some rows of two labels in two layers of cuts, of 64 features at once.
//
// The rows asked for are packed: each feature's order of them lies in a lane of bytes, so that one
// pass over them tells what a set of them loses with one cut more, of all features. A row that
// passes over a cut changes the sum of both sides by at most what a row loses, so what is far above
// the best closes the cuts around it. Needs AVX-512 with bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "odt/diagrams.hpp"

namespace odt {

class PairLanes {
 public:
  static constexpr std::size_t kMostRows = 256, kWords = kMostRows / 64;

  explicit PairLanes(const LayeredProblem& problem);

  // Only where there are two labels, at most kMostRows rows, and rows lose the same or nothing.
  bool works() const { return unit_ > 0; }

  // What one caller at a time writes.
  class Room {
   public:
    // Packs the rows that are set in so many words of bits; false: too many for sums in bytes.
    bool pack(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words);

    // What the packed rows lose at least with a cut, and a cut of each side (`chain`: one side
    // ends); exact where it is at most `budget`, and else above it.
    Loss least(const PairLanes& lanes, bool chain, Loss budget);

    // Sets of rows times rows that were looked at since the last call.
    std::uint64_t work();

   private:
    template <int R>
    friend struct PairSearch;

    std::size_t rows_ = 0;
    int plus_ = 0, minus_ = 0;
    Loss base_ = 0;
    std::uint64_t looked_ = 0;
    std::uint64_t all_[kWords] = {}, minuses_[kWords] = {};
    std::vector<std::int8_t> sign_;  // per row of the problem, 0 where it is not asked for
    // By feature, in its order: the rows, their places among all, and the cuts before them.
    std::vector<std::uint8_t> row_, place_, cut_;
    // By place, of all features of a block of lanes: the row, the sum up to there, and where a cut
    // is behind it.
    std::vector<std::uint8_t> row_at_, cut_at_;
    std::vector<std::int8_t> sum_at_;
    std::vector<std::uint64_t> cuts_at_;
  };

 private:
  template <int R>
  friend struct PairSearch;

  std::size_t rows_ = 0, features_ = 0;
  Loss unit_ = 0;
  std::vector<Loss> least_;        // per row, by its better label
  std::vector<std::int8_t> sign_;  // per row: which label is the better one
  // By feature, kMostRows each: the row at a place, the place of a row, the cuts before a place.
  std::vector<std::uint8_t> row_, place_, cut_;
};

}  // namespace odt
