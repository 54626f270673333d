// What all trees of three levels lose at least of a mix of losses, by their first column: from one
// pass over all three columns, as in `TripleSums`.
//
// A leaf is one of eight parts of the rows by three columns, whichever of them stands first. An
// absolute loss is bounded from below by more tangents than the tables of `OutputPairs` have: its
// rows stand in the order of their targets, so that each is added up once.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/control.hpp"
#include "odt/outputs_pairs.hpp"

namespace odt {

struct MixGain;

class OutputTriples {
 public:
  OutputTriples(const OutputRows& data, const OutputPairs& pairs);
  // Whether sums are few enough; of several measures a mix has one.
  bool tells(const OutputPairs::Mix& mix) const;
  // Per column of the pairs, infinite where no tree begins with it. Rules on levels and splits, and
  // rules on paths if some ask for an order, leave out nothing here.
  std::vector<double> least(const OutputPairs::Mix& mix, int state, Control& control);
  // By how many leaves both sides of a column have, up to four each, what they lose at least:
  // [left][right]. Where one is a leaf and the other has three, `most` says per column and side
  // what the rows of its second split weigh at most.
  using Shapes = std::array<std::array<double, 5>, 5>;
  using Sides = std::array<double, 2>;
  std::vector<Shapes> shapes(const std::vector<Sides>& most, int state, Control& control);

 private:
  static constexpr std::size_t kQuarters = 4, kBins = 8, kMostParts = 28;
  using Table = Aligned<double>;  // [first][stride], the first before the second
  struct Bin {                    // words of bits: rows that have parts of their own
    std::size_t from, to, part;
  };

  void choose_measure(const OutputPairs::Mix& mix);
  void order_rows();
  void make_columns();
  int after(int state, std::size_t k) const;
  bool ends(int state) const { return ordered_ || data_.rules().ends(state); }
  const std::uint8_t* last(int state);
  std::size_t sum(const std::uint64_t* a, const std::uint64_t* b, std::size_t block, double* out);
  void sum_quarters(const MixGain& gain);
  void sum_triples(const MixGain& gain, int state, Control& control);
  double sum_all(const OutputPairs::Mix& mix, int state, Control& control);
  // By the number of leaves; last those of three whose second split weighs no more than `heavy`.
  std::array<double, 6> side_gains(std::size_t root, std::size_t side, int state,
                                   double heavy) const;
  double weight(std::size_t column, std::size_t side, std::size_t other,
                std::size_t other_side) const;
  // Of the rows on a side of a column and of another one.
  double quarter(const std::array<Table, kQuarters>& of, std::size_t column, std::size_t side,
                 std::size_t other, std::size_t other_side) const {
    return column < other ? of[2 * side + other_side][column * stride_ + other]
                          : of[2 * other_side + side][other * stride_ + column];
  }

  const OutputRows& data_;
  const OutputPairs& pairs_;
  const NumberMeasure* measure_ = nullptr;  // none: the loss alone
  bool absolute_ = false, ordered_ = false;
  std::vector<double> factor_, scale_;  // per target: of the loss, of the measure
  std::size_t columns_ = 0, stride_ = 0, words_ = 0, bins_ = 0;
  // Parts: those of all rows, then those of the measure, which tables have from `first_` on.
  std::size_t parts_ = 0, measured_ = 0, first_ = 0;
  std::vector<std::uint32_t> row_;  // per place; kNoRank: none
  std::vector<Bin> bin_;
  std::vector<double> values_;         // [place][part]
  std::vector<std::uint32_t> column_;  // those with few rows on side 1 first
  std::vector<char> turned_;           // per column of the pairs: whether side 1 is the right one
  std::vector<std::uint8_t> masks_;    // [place][block of lanes]
  std::vector<std::uint64_t> bits_;    // [column][word]
  std::vector<std::uint32_t> listed_;
  std::unordered_map<int, std::vector<std::uint8_t>> last_;  // per state
  std::vector<double> all_;                                  // [part]
  Table one_, pair_, triple_;                  // [part][stride], of side 1; pairs by their first
  std::array<Table, 2> alone_;                 // gains [side][stride]
  std::array<Table, kQuarters> leaf_, stump_;  // gains of two columns' quarters
};

}  // namespace odt
