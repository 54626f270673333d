// The least loss of some rows with one cut, or in two layers of cuts, of 64 features at once.
//
// Each row has a label that it does not lose by, and loses the same by all others; a row of other
// losses is several of these. Each feature's order of the rows lies in a lane of bytes, so that one
// pass over them tells what a set of them loses with one cut more, of all features. For two layers
// the rows asked for are packed first. A row that passes over a cut changes the sum of both sides
// by at most what a row loses, so what is far above the best closes the cuts around it. A feature
// with few cuts has no lane: each of its cuts is a set of rows, and bits are counted. Lanes need
// AVX-512 with bytes and counts of bits. Where features have few cuts on average, there are none:
// each cut is a set of rows, and the rows on one side of a cut are counted for 32 cuts at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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
  // as many as its losses say; without lanes, only where cuts are few.
  bool works() const { return unit_ > 0; }
  // Whether one vector holds all cuts, so that no other way is quicker.
  bool in_one_block() const { return works() && cuts_.blocks() == 1; }

  // Cuts that part these rows, each in another way, and for each of the rows by cut whether it is
  // left of it.
  static constexpr std::size_t kCutBlock = 32;
  struct Cuts {
    std::size_t stride = 0;
    std::array<std::uint64_t, kWords> rows = {};
    std::vector<std::size_t> cut;
    std::vector<std::uint8_t> left;
    std::size_t many() const { return cut.size(); }
    std::size_t blocks() const { return stride / kCutBlock; }
    bool has(const std::uint64_t* some) const {
      std::uint64_t others = 0;
      for (std::size_t w = 0; w < kWords; ++w) others |= some[w] & ~rows[w];
      return others == 0;
    }
  };

  // What one caller at a time writes.
  class Room {
   public:
    // What the rows lose at least, that are set in so many words of bits, with at most one cut;
    // exact where it is at most `budget`, and else above it.
    Loss stump(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words, Loss budget);

    // The same with a cut, and a cut of each side (`chain`: one side ends); exact where it is at
    // most `budget`, and else above it.
    Loss pair(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words, bool chain,
              Loss budget);

    // Of which features a cut may pay where one side ends, that loses less than `best`, and the
    // others go on. All rows lose at least `all` that way; those that end take no more of that away
    // than they could lose. Rows so far, and rows from there on.
    struct Ends {
      bool up, down;
    };
    void sides_that_may_end(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words,
                            Loss all, Loss best, std::vector<Ends>& ends);

    // Two layers of some of these rows look at one cut of those that part these rows alike, until
    // others are named for this level. The highest level is 0. Without lanes.
    void keep_cuts(const PairLanes& lanes, std::size_t level, const std::uint64_t* bits,
                   std::size_t words);

    // Sets of rows times rows that were looked at since the last call.
    std::uint64_t work() { return std::exchange(looked_, 0); }

   private:
    template <int R, bool Signs>
    friend struct PairSearch;
    template <int K>
    friend struct SetSearch;

    void take(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words);
    template <int R>
    void pack(const PairLanes& lanes);
    void lay_by_place(std::size_t features);
    template <int R>
    void pack_cuts(const PairLanes& lanes, const int* behind);
    std::uint64_t cuts_from(std::size_t feature, std::size_t place) const;
    void make_room(const PairLanes& lanes);
    template <class Ask>
    int ask_packed(const PairLanes& lanes, const Ask& ask);
    bool signs() const;
    Loss least_of(const PairLanes& lanes, int ends) const;
    const Cuts& kept_cuts(const PairLanes& lanes) const;

    Loss base_ = 0;
    std::uint64_t looked_ = 0;
    int rows_ = 0, labels_ = 0;
    // The rows, and those of each label that there are of: by their numbers, or packed.
    std::uint64_t all_[kWords] = {}, is_[kMostLabels][kWords] = {};
    int of_[kMostLabels] = {};
    std::uint8_t label_[kMostRows] = {};  // of each packed row
    // By feature: the packed rows in its order, the cuts before these, and the place of each among
    // all rows.
    std::vector<std::uint8_t> row_, place_, cut_;
    // By place, of all features of a block of lanes: the row, the sum of signs up to there, and
    // where a cut is behind it.
    std::vector<std::uint8_t> row_at_;
    std::vector<std::int8_t> sum_at_;
    std::vector<std::uint64_t> cuts_at_;
    std::vector<std::uint64_t> up_, down_;  // the features of a block with a side that may end
    // The single cuts that part the packed rows: as PairLanes::left_, which they are there, and the
    // sum of signs.
    std::vector<std::uint64_t> left_;
    std::vector<std::size_t> cut_of_;
    std::vector<std::int64_t> sum_of_cuts_;
    // Without lanes: cuts by level, and where they are by the rows that they part, from 1. By cut,
    // or by cut and label: how many rows are left of it, and how many it has apart from what is
    // looked at. Which cuts are to be looked at; and of ends, on the right and on the left of a
    // cut, how many rows are right and what they lose.
    std::vector<Cuts> kept_;
    std::vector<std::uint32_t> cut_by_rows_;
    std::vector<std::array<std::uint64_t, kWords>> parts_;
    std::vector<std::uint8_t> count_, apart_;
    std::vector<std::uint32_t> todo_;
    std::vector<std::uint8_t> right_[2], lost_[2];
    int left_over_ = 0;
  };

 private:
  template <int R, bool Signs>
  friend struct PairSearch;
  template <int K>
  friend struct SetSearch;

  // Features with at most so many cuts have none of the lanes: their cuts are sets of rows. There
  // are no lanes at all for so few of a feature on average, or, where the processor has none, for
  // so many of more than two labels.
  static constexpr std::size_t kFewCuts = 4, kCutLanes = 8, kFewSets = 4, kManySets = 32;
  static std::size_t word_of_cut(std::size_t cut, std::size_t word) {
    return (cut / kCutLanes * kWords + word) * kCutLanes + cut % kCutLanes;
  }

  bool split_rows(const LayeredProblem& problem);
  // With so many rows before, in the order of the feature.
  void add_cut(std::size_t feature, const std::vector<std::size_t>& order, std::size_t before);
  void add_feature(std::size_t feature, const std::vector<std::size_t>& order,
                   const std::vector<std::size_t>& cuts);
  // Writes where the rows are, of the cuts that are named.
  void lay(Cuts& cuts) const;

  // A row of the problem keeps its number, if it is at least one; the others come behind.
  std::size_t rows_ = 0, features_ = 0;
  int labels_ = 0;
  bool lanes_ = false;
  std::size_t asked_ = 0;                // features of the problem
  std::vector<std::size_t> feature_of_;  // of each lane
  // Single cuts: the rows on the left, and the features that part the rows so, or the other way
  // round.
  std::vector<std::uint64_t> left_;
  std::vector<std::vector<std::pair<std::size_t, bool>>> cut_of_;
  std::map<std::array<std::uint64_t, kWords>, std::size_t> cut_by_left_;
  Cuts cuts_;  // all of them, without lanes
  Loss unit_ = 0;
  std::vector<std::pair<std::size_t, Loss>> base_;         // what a row of the problem loses anyway
  std::vector<std::pair<std::size_t, std::size_t>> more_;  // a row of the problem, and one more
  std::vector<std::size_t> origin_;                        // the row of the problem
  std::uint64_t is_[kWords] = {}, of_[kMostLabels][kWords] = {};  // the rows, and by label
  // By feature, kMostRows each: the row at a place, the place of a row, the cuts before a place.
  std::vector<std::uint8_t> row_, place_, cut_;
  // [(block * rows + place) * 64 + feature]: the row there, and the features with a cut behind it.
  std::vector<std::uint8_t> row_at_;
  std::vector<std::uint64_t> cuts_at_;
};

}  // namespace odt
