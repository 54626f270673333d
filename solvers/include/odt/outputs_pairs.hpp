// Trees of depth two from sums over pairs of cuts, where all features together have few cuts.
//
// Every cut is a 0/1 column. One pass over the rows gives the weights and targets of all pairs of
// columns, and these the loss of every tree with two levels: squared error, any output. The sums of
// one side of a split are those of the node less those of the other side. What leaves must hold of
// rows, or of a sum over them, is told from sums over pairs as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/outputs_pair_gains.hpp"
#include "odt/outputs_rows.hpp"
#include "odt/plan.hpp"

namespace odt {

class OutputPairs {
  friend class OutputTriples;

 public:
  explicit OutputPairs(const OutputRows& data);

  bool ready() const { return ready_; }
  // Whether all is known of what a path in a state, and those behind it, ask of leaves and splits.
  bool knows(int state) const { return ready_ && (told_ || !data_.rules().strict(state)); }
  // Whether trees of this shape behind a path in a state are told on so many rows. On few rows,
  // most of many cuts part nothing.
  bool tells(Shape shape, int state, std::size_t rows) const {
    const bool soon = columns_.size() <= kMany || 2 * rows >= columns_.size();
    return shape.depth == 2 && shape.leaves >= 3 && rows > 1 && soon && knows(state);
  }
  // Where trees of two levels begin: the state of the path above, and the level of the root. They
  // have four leaves at most, or three: then one side is a leaf.
  struct Place {
    int state = 0;
    std::size_t level = 0;
    int leaves = 4;
  };
  // The least loss above the floor, prices included, and its tree. `free`: that of trees whose
  // leaves and splits may hold any rows.
  double best(const OutputNode& node, Place at, Plan& plan, double& free);
  // Cuts of a node whose sides lose less than `limit` together, and what each loses at least.
  struct Cut {
    std::uint32_t feature;
    std::size_t place;  // rows left of it
    double left, right;
  };
  void open(const OutputNode& node, Place at, double limit, std::vector<Cut>& found);
  // Roughly what it takes to look at so many rows.
  std::uint64_t work(std::size_t rows) const { return rows * columns_.size() / 4; }

  // ---- for fronts

  struct Column {
    std::uint32_t feature, cell, bound;  // cells up to it, ranks below the bound go left
    bool stands = true;  // else no split: it only parts missing cells from the others
    int missing = -1;    // the column that does so, where a side of missing cells alone is refused
  };
  const std::vector<Column>& columns() const { return columns_; }
  // Whether the losses of the model's measures are told from sums as well; those of absolute ones
  // are no more than the truth, and differences of these are told by rows alone.
  bool measures() const { return measured_; }
  bool tangents() const { return tangents_; }
  bool summed(std::size_t measure) const { return !measures_[measure].signs; }
  bool absolute(std::size_t measure) const { return measures_[measure].absolute; }
  // How much a measure may differ from what its rows give one by one.
  double rounding(std::size_t measure) const { return rounding_[measure]; }

  // Sums of some rows: `ones` of those left of each column, `pairs` of those left of two.
  struct Table {
    Aligned<double> pairs;    // [column][part][stride]
    Aligned<double> ones;     // [entry][stride]
    std::vector<double> all;  // [entry]
    bool measured = false;
    const std::uint32_t* row = nullptr;
    std::size_t rows = 0;
    std::vector<std::uint32_t> weighed;  // those that some measure weighs, if it is summed
  };
  // What is made least: so much of the loss, prices of leaves included, and of each measure.
  struct Mix {
    double loss = 1;
    std::vector<double> measure;  // empty: none
  };
  // One side of a column, or all rows.
  struct Side {
    const double* left = nullptr;  // [part][stride]: sums of its rows left of each column
    std::vector<double> all;       // [entry]
  };
  // A tree's loss, prices of leaves included, and its measures.
  struct Sums {
    double loss = 0;
    std::vector<double> measure;
  };
  // Where `out` has the same rows, but no measures, these are added to it; where rows stand now in
  // the place of others, `out.row` is to be null.
  void sum(const std::uint32_t* rows, std::size_t n, bool measured, Table& out);
  // `rows`: those that are left.
  void subtract(const Table& from, const Table& part, const std::uint32_t* rows, Table& out) const;
  // What each side of each column loses at least as a tree of one level; infinite where the column
  // parts nothing or may not stand. The least of all trees of two levels, and the column that they
  // begin with, -1: a leaf.
  struct Scan {
    std::vector<double> low, high;
    std::vector<double> gains;  // [column][side][stride]
    double least = kUnbounded;
    double free = kUnbounded;    // whatever rows leaves and splits hold: no less with more rows
    int column = -1, leaf = -1;  // leaf: the side that is to be one
  };
  void scan(const Table& table, Place at, const Mix& mix, Scan& out);
  // Whether rows with these sums may be a leaf behind a path in a state.
  bool leaf_holds(const std::vector<double>& all, int state) const;
  // The tree that a scan has found.
  struct Tree {
    int column = -1, low = -1, high = -1;  // -1: a leaf
  };
  Tree tree(const Table& table, int state, const Mix& mix, const Scan& scan, Sums& sums);
  Plan plan_of(const Tree& tree) const;
  // `whole`: all that is known of the side, not only the sums of all its rows.
  void enter(const Table& table, std::size_t column, bool low, bool whole, Side& side);
  // What the rows of a side lose less by a split on each column than one by one, minus infinity
  // where it may not stand: of a side of a column, by a scan.
  const double* gains(const Scan& scan, std::size_t column, bool low) const {
    return scan.gains.data() + (2 * column + (low ? 0 : 1)) * stride_;
  }
  std::size_t stride() const { return stride_; }
  // The most of these, with what is added to each.
  double largest(const double* gains, const double* added) const;
  double own(const std::vector<double>& all, const Mix& mix) const;
  // How much less than their own losses rows of these sums lose as a leaf, its price taken off;
  // minus infinity where they may not be one.
  double gain(const std::vector<double>& all, int state, const Mix& mix) const;
  // Adds a leaf of rows with these sums, or the two that a column makes of a side.
  void add_leaf(const std::vector<double>& all, bool measured, Sums& sums) const;
  void add_stump(const Side& side, bool measured, std::size_t column, Sums& sums);
  // The rows of one side of a column (kAll: of all) that absolute measures weigh, and what they
  // lose by these as a leaf, in the place of what tangents tell. Or as the two leaves that other
  // columns make: of one and those behind it, up to the first that is not told then.
  struct Rows {
    std::vector<std::uint32_t> row;
    std::vector<double> parts;  // [measure, target][row]: two numbers, a weight and a target
  };
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);
  void fill_rows(const Table& table, std::size_t column, bool low, Rows& found) const;
  void measure(const std::vector<double>& all, const Rows& rows, Sums& sums);
  std::size_t measure(const Side& side, const Rows& rows, std::size_t column);
  void told(std::size_t column, Sums& sums) const;
  // The k-th sum of the rules.
  double rule_sum(const std::vector<double>& all, std::size_t k) const { return all[sums_ + k]; }

 private:
  void find_sizes(bool counted);
  bool find_conditions();
  void find_alike();
  void add_columns(std::uint32_t feature);
  bool refused(const double* left, std::size_t column) const;
  bool stands(const Column& column, Place at) const;
  void make_values();
  void round_means();
  void list_weighed(Table& out) const;
  void sum_ones(const std::uint32_t* rows, std::size_t n, std::size_t from, std::size_t to,
                Table& out) const;
  void sum_parts(const std::uint32_t* rows, std::size_t n, std::size_t from, std::size_t to,
                 Table& out);
  void add_feature(std::size_t k, const std::uint32_t* rows, std::size_t n, std::size_t from,
                   std::size_t to, Table& out);
  const double* allowed(Place at);
  PairGains gains(const Side& side, Place at, const Mix& mix, double* out);
  double least_lost(std::size_t m, const std::vector<double>& all) const;
  double relaxed_least(const Table& table, Place at);
  bool parts_rows(const Table& table, std::size_t column) const {
    const double left = table.ones[rows_part_ * stride_ + column];
    return left > fewest_ && table.all[rows_part_] - left > fewest_;
  }
  double leaf_gain(const std::vector<double>& all, const Mix& mix) const;
  double mean(const std::vector<double>& all, std::size_t target) const {
    return all[1 + target] / std::max(all[0], lightest_);
  }
  bool may_split(const std::vector<double>& all, int state) const;
  const std::vector<PairSize>& sizes(int state) const {
    return told_ && data_.rules().strict(state) ? sizes_[at(state)] : uniform_;
  }
  // What leaves behind all paths from a state must hold.
  const std::vector<PairSize>& sizes_of_all(int state) const;
  // Whether a node loses no less with more rows, though its state and its level ask for something.
  bool alike(Place of) const {
    return alike_.empty() ||
           (alike_[at(of.state)] && (widest_.size() <= of.level || widest_[of.level]));
  }
  static std::size_t at(int state) { return static_cast<std::size_t>(state); }

  static constexpr std::size_t kMost = 512, kMany = 256, kMostCells = std::size_t{1} << 22,
                               kMostMeasures = 4, kMostSizes = 6;

  const OutputRows& data_;
  bool ready_ = false, measured_ = false, tangents_ = false;
  std::vector<Column> columns_;
  std::size_t stride_ = 0;
  // A side has rows where a part is more than this: the weight, or their number if some are light.
  std::size_t rows_part_ = 0;
  double fewest_ = 0, heavy_ = 0;
  double lightest_ = 0;  // what sides weigh at least, if rows are counted
  // Numbers of a row: its weight, targets, what sizes count, those of measures (these are the parts
  // that are summed for pairs), own loss and that of measures, sums of the rules.
  std::size_t free_parts_ = 0, parts_ = 0, own_ = 0, sums_ = 0, entries_ = 0;
  std::vector<double> values_;        // [row][entry]
  std::vector<std::uint8_t> masks_;   // [row][stride / lanes]
  std::vector<std::uint16_t> slots_;  // [feature with cuts][row]: columns that it is not left of
  std::vector<std::size_t> first_;    // of each such feature, its first column; then their number
  std::vector<PairMeasure> measures_;
  std::vector<char> weighed_;  // per row: by some measure
  std::vector<double> rounding_;
  // What all leaves must hold, and what leaves behind each state must; what these count, sums of
  // the rules (-1: rows), in the order of their parts.
  std::vector<PairSize> uniform_;
  std::vector<std::vector<PairSize>> sizes_;
  std::vector<int> counted_;
  bool told_ = false;                 // whether that is all that strict states ask
  std::vector<char> alike_;           // per state; empty: all
  std::vector<char> widest_;          // per level: whether all that may stand below may stand there
  std::vector<std::size_t> guarded_;  // columns that may be refused
  std::vector<std::vector<std::vector<double>>> allowed_;  // per level, state: 0, minus infinity
  std::vector<std::uint32_t> picked_;
  std::vector<std::size_t> ends_;
  std::vector<double> scaled_, made_, half_, gains_;
  std::vector<double> absolute_;  // [measure][lane]: of the columns that were told last
  Table table_;
  Side side_;
  Scan scan_;
};

}  // namespace odt
