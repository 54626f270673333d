// The rows of a regression problem as weighted points.
//
// Cuts that no rule allows vanish: a feature's ranks become cells with an allowed cut between any
// two. Rows of weight zero count where leaves and splits of them alone may matter to a rule. But
// for absolute error rows alike in all cells become one point: what they lose among themselves,
// every tree loses.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/logs.hpp"
#include "odt/number_problem.hpp"
#include "odt/row_path.hpp"

namespace odt {

// Sums over points: weight, weight * target, weight * target^2; of counts, weight * target *
// log(target) last. What sizes of leaves and splits count is beside them: rows, or some other sum.
struct alignas(32) Moments {
  double w = 0, s = 0, q = 0, n = 0;
  void add(const Moments& o) {
    w += o.w;
    s += o.s;
    q += o.q;
    n += o.n;
  }
  void subtract(const Moments& o) {
    w -= o.w;
    s -= o.s;
    q -= o.q;
    n -= o.n;
  }
};

struct RegressionData {
  const NumberProblem& problem;
  std::size_t points = 0;
  std::vector<Moments> point;      // targets are relative to their mean: differences, or ratios
  std::vector<double> target;      // s / w
  std::vector<std::uint32_t> row;  // one of its rows
  // Columns: of a feature's cells each, or, where there are few cuts, 0/1 columns of one cut each.
  std::vector<std::uint32_t> feature;            // of a column
  std::vector<std::vector<std::uint32_t>> cell;  // [column][point]
  std::vector<std::vector<std::uint32_t>>
      bound;  // [column][cell]: ranks below it lie in this cell or a lower one
  std::vector<std::uint64_t> hash;
  double offset = 0;  // lost by every tree
  double tolerance = 0;
  // What leaves and splits of states that are not relaxed must count, less a half: no leaf is
  // empty.
  double leaf_least = 0.5, split_least = 0;
  // Whether weights stand for what is counted, and then the same for leaves as a weight.
  bool weighed = true;
  double leaf_weight = 0;

  explicit RegressionData(const NumberProblem& problem);

  const NumberRules& rules() const { return problem.rules; }
  // The state behind a split on a column; -1: it may not stand.
  int after(int state, std::size_t column) const {
    return problem.rules.after(state, feature[column]);
  }
  bool ends(int state, double count) const {
    return problem.rules.ends(state) && (!problem.rules.strict(state) || count >= leaf_least);
  }
  bool splits(int state, double count) const {
    return !problem.rules.strict(state) || count >= split_least;
  }

 private:
  // Places in a list of rows, by groups that follow one another; rising in each.
  struct Groups {
    struct Group {
      const std::uint32_t *first, *last;
      const std::uint32_t* begin() const { return first; }
      const std::uint32_t* end() const { return last; }
    };
    std::vector<std::uint32_t> place, from{0};
    std::size_t size() const { return from.size() - 1; }
    Group operator[](std::size_t k) const {
      return {place.data() + from[k], place.data() + from[k + 1]};
    }
  };
  using Rows = std::vector<std::uint32_t>;

  // `below`: per feature and rank, the allowed cuts below it, which is its cell.
  void make_cells(const std::vector<Rows>& below);
  void make_tests();
  void make_points(const Rows& rows, const Groups& groups, double weight_unit);
  void make_counts(const Rows& rows, const Groups& groups);
  void count(const Rows& rows, const Groups& groups);
  double weight(std::uint32_t row, double unit) const;
  Groups merge(const Rows& rows, const std::vector<Rows>& below) const;
};

}  // namespace odt
