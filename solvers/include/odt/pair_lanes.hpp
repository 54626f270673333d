// The least loss of some rows with one cut, or in two layers of cuts, of 64 features at once.
//
// Each row has a label that it does not lose by, and loses the same by all others; a row of other
// losses is several of these. Each feature's order of the rows lies in a lane of bytes, so that one
// pass over them tells what a set of them loses with one cut more, of all features. For two layers
// the rows asked for are packed first. A row that passes over a cut changes the sum of both sides
// by at most what a row loses, so what is far above the best closes the cuts around it. Needs
// AVX-512 with bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "odt/diagrams.hpp"

namespace odt {

class PairLanes {
 public:
  static constexpr std::size_t kMostRows = 256, kWords = kMostRows / 64;
  static constexpr int kMostLabels = 5;

  explicit PairLanes(const LayeredProblem& problem);

  // Only where there are at most kMostLabels labels and less than kMostRows rows, each of which is
  // as many as its losses say.
  bool works() const { return unit_ > 0; }

  // What one caller at a time writes.
  class Room {
   public:
    // What the rows lose at least, that are set in so many words of bits, with at most one cut.
    Loss stump(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words);

    // The same with a cut, and a cut of each side (`chain`: one side ends); exact where it is at
    // most `budget`, and else above it.
    Loss pair(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words, bool chain,
              Loss budget);

    // Sets of rows times rows that were looked at since the last call.
    std::uint64_t work() { return std::exchange(looked_, 0); }

   private:
    template <int R, int K>
    friend struct PairSearch;

    void take(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words);
    bool signs(const PairLanes& lanes) const;

    Loss base_ = 0;
    std::uint64_t looked_ = 0;
    std::uint64_t all_[kWords] = {};
    int rows_ = 0, of_[kMostLabels] = {};  // of all, and by label
    // By feature, in its order: the rows, their places among all, and the cuts before them.
    std::vector<std::uint8_t> row_, place_, cut_;
    // By place, of all features of a block of lanes: the row, the sum of signs up to there, and
    // where a cut is behind it.
    std::vector<std::uint8_t> row_at_, cut_at_;
    std::vector<std::int8_t> sum_at_;
    std::vector<std::uint64_t> cuts_at_;
    std::vector<std::uint64_t> up_, down_;  // the features of a block with a side that may end
  };

 private:
  template <int R, int K>
  friend struct PairSearch;

  bool split_rows(const LayeredProblem& problem);

  // A row of the problem keeps its number, if it is at least one; the others come behind.
  std::size_t rows_ = 0, features_ = 0;
  int labels_ = 0;
  Loss unit_ = 0;
  std::vector<std::pair<std::size_t, Loss>> base_;         // what a row of the problem loses anyway
  std::vector<std::pair<std::size_t, std::size_t>> more_;  // a row of the problem, and one more
  std::vector<std::size_t> origin_;                        // the row of the problem
  std::uint64_t is_[kWords] = {}, of_[kMostLabels][kWords] = {};  // the rows, and by label
  std::uint8_t label_[kMostRows] = {};                            // of each row
  // By feature, kMostRows each: the row at a place, the place of a row, the cuts before a place.
  std::vector<std::uint8_t> row_, place_, cut_;
  // [(block * rows + place) * 64 + feature]: the row there, and the features with a cut behind it.
  std::vector<std::uint8_t> row_at_;
  std::vector<std::uint64_t> cuts_at_;
};

}  // namespace odt
