// Rows with number targets as the anytime search sees them, whatever the loss, and what leaves and
// cuts lose on them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/median_chain.hpp"
#include "odt/outputs_rows.hpp"
#include "odt/outputs_values.hpp"
#include "odt/regression_data.hpp"

namespace odt {

struct NumberRows {
  std::size_t rows = 0, features = 0, targets = 0;
  OutputLoss loss = OutputLoss::squared;
  double price = 0;                      // of a leaf
  std::size_t least = 1;                 // rows of a leaf
  std::vector<double> factor, mean;      // per target; the mean: of all rows, of counts
  std::vector<double> weight, own;       // per row; own: its loss to the centre, less its floor
  std::vector<std::vector<double>> sum;  // [target][row]: weighted targets, relative to the centre
  std::vector<std::vector<double>> value;          // [target][row]: targets, relative to the centre
  std::vector<std::vector<std::uint32_t>> cell;    // [feature][row]: allowed cuts below the row
  std::vector<std::vector<std::uint32_t>> counts;  // [feature][rank]: allowed cuts below the rank
  std::vector<std::vector<std::uint32_t>>
      bound;  // [feature][cell]: ranks below it lie in this cell or a lower one
  std::vector<std::uint64_t> hash;
  std::vector<std::uint32_t> origin;  // the problem's row
  const Problem* problem = nullptr;
  const NumberRules* rules = nullptr;
  // What rows lose as a leaf under rules on outputs, price included; empty where all outputs may
  // be.
  std::function<double(const std::vector<std::uint32_t>&)> ruled;
  // The same for many leaves at once, without price, where there is a way: null else.
  OutputGains* gains = nullptr;

  explicit NumberRows(const RegressionData& data);
  NumberRows(const OutputRows& data, OutputValues& values, OutputGains& gains);
  // Whether cuts are told what they truly lose.
  bool exact() const { return (!ruled || gains != nullptr) && rules->leaf_conditions.empty(); }
  std::uint32_t rank(std::size_t f, std::uint32_t row) const {
    return problem->ranks(f)[origin[row]];
  }
  // Whether rows may be a leaf (be split) behind a path in a state.
  bool may_end(int state, const std::uint32_t* row, std::size_t n) const {
    return rules->ends(state) &&
           (!rules->asks_leaf(state) || rules->leaf_holds(state, sums_of(row, n)));
  }
  bool may_split(int state, const std::uint32_t* row, std::size_t n) const {
    return !rules->asks_split(state) || rules->split_holds(state, sums_of(row, n));
  }

 private:
  void make_cells(const Problem& p, const std::vector<std::uint32_t>& row);
  std::vector<Loss> sums_of(const std::uint32_t* row, std::size_t n) const {
    std::vector<Loss> total(static_cast<std::size_t>(rules->sums), 0);
    for (std::size_t i = 0; i < n; ++i) rules->add(origin[row[i]], total);
    return total;
  }
};

class NumberLosses {
 public:
  explicit NumberLosses(const NumberRows& data);
  // What rows lose as one leaf, its price included.
  double leaf(const std::uint32_t* rows, std::size_t n);
  // The rows whose orders are scanned next: `splits` wants to know what they have in all.
  // `by_target`: the same rows, per target by its value.
  void begin(const std::uint32_t* rows, std::size_t n, const std::uint32_t* const* by_target);
  // What the first i + 1 rows of a feature's order and the others lose as two leaves, prices
  // included, where `open[i]`; under rules on outputs that have no quick way, what they lose
  // without these.
  void splits(std::size_t f, const std::uint32_t* order, std::size_t n,
              const std::uint32_t* const* by_target, const char* open, double* out);
  // Whether `best_split` knows cuts of such rows.
  bool quick() const {
    return unit_ && data_.targets == 1 && data_.loss == OutputLoss::squared && !data_.ruled;
  }
  // The best cut of an order: rows left of it (0: none), and what it loses.
  std::size_t best_split(const std::uint32_t* order, std::size_t n, const std::uint32_t* cell,
                         double& value) const;
  // Outputs of the rows without rules, per target, and what a row loses to such.
  void outputs(const std::vector<std::uint32_t>& rows, double* out);
  double lost(std::uint32_t row, const double* output) const;
  // Of `begin` and `splits` of so many rows by all features: about that of visits of a row.
  std::uint64_t work(std::size_t n) const;
  // Rows per target that `splits` wants in order of the target.
  std::size_t sorted_targets() const {
    return data_.loss == OutputLoss::absolute ? data_.targets : 0;
  }

 private:
  void one_target(const std::uint32_t* order, std::size_t n, double* out) const;
  void squared(const std::uint32_t* order, std::size_t n, double* out);
  void poisson(const std::uint32_t* order, std::size_t n, const char* open, double* out);
  void gains(const std::uint32_t* order, std::size_t n, const char* open, double* out);
  void make_tests();
  void sum_tests(std::size_t n, const std::uint32_t* const* by_target);
  void medians(std::size_t f, const std::uint32_t* order, std::size_t n,
               const std::uint32_t* const* by_target, const char* open, double* out);
  void chain(std::size_t t, const std::uint32_t* order, std::size_t n, bool backwards, double* out);
  double median(std::size_t t, const std::uint32_t* rows, std::size_t n, double& output);

  const NumberRows& data_;
  bool unit_ = true;             // all rows weigh one
  std::vector<double> inverse_;  // of numbers of rows, where they do
  double own_ = 0, weight_ = 0;  // of the rows that are scanned
  std::vector<double> total_;    // and their sums, per target
  std::vector<double> low_w_, lost_, all_, packed_, gain_;
  MedianChain chain_;
  std::vector<std::uint32_t> place_, at_, copy_;
  std::vector<std::pair<double, double>> pairs_;
  // Medians of few cuts, all in one pass: a column for each.
  std::size_t blocks_ = 0;            // of lanes; 0: cuts are many
  std::vector<std::size_t> first_;    // per feature, its first column
  std::vector<std::uint8_t> masks_;   // [row][block]
  std::vector<double> steps_, test_;  // test: per column, what its two sides lose
  Aligned<double> one_, none_;
};

}  // namespace odt
