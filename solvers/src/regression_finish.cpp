#include "odt/regression_finish.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "odt/regression_search.hpp"

namespace odt {
namespace {

using Rows = std::vector<std::uint32_t>;

// A plan without stumps, whose splits all part the points.
class Resolver {
 public:
  Resolver(const RegressionData& data, Control& control)
      : data_(data), scan_(make_scan(data, control)) {}

  Plan resolve(const Plan& plan, int at, const RegressionView& view, int state,
               std::size_t level = 0) {
    if (at < 0) return Plan::leaf();
    PlanNode node = plan.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0 && node.stump && !view.columns.empty()) {
      const Pick pick = scan_->stump(view, state);
      if (pick.column < 0) throw std::logic_error("a split of the search breaks a rule");
      node.feature = view.feature(data_, static_cast<std::size_t>(pick.column));
      node.bound = view.bound(data_, static_cast<std::size_t>(pick.column), pick.cut);
    }
    if (node.feature < 0) return Plan::leaf();
    std::uint32_t cut = 0;
    const int column = view.find(data_, node.feature, node.bound, cut);
    if (column < 0)
      return resolve(plan, goes_below(view.id[0], node) ? node.left : node.right, view, state,
                     level);
    const int after = data_.after(state, view.columns[static_cast<std::size_t>(column)].column);
    Plan sides[2];
    if (level >= views_.size()) views_.push_back(std::make_unique<Pair>());
    auto& inner = views_[level]->views;
    RegressionView::part(data_, view, static_cast<std::size_t>(column), cut, inner);
    for (int k = 0; k < 2; ++k) {
      const int side = k == 0 ? node.left : node.right;
      sides[k] = Plan::leaf();
      if (is_leaf(plan, side)) continue;
      inner[k].make_points(view);
      inner[k].make_columns(view);
      sides[k] = resolve(plan, side, inner[k], after, level + 1);
    }
    return Plan::split(node.feature, view.bound(data_, static_cast<std::size_t>(column), cut),
                       sides[0], sides[1]);
  }

 private:
  static bool is_leaf(const Plan& plan, int at) {
    if (at < 0) return true;
    const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
    return node.feature < 0 && !node.stump;
  }
  bool goes_below(std::uint32_t point, const PlanNode& node) const {
    return data_.problem.base.ranks(static_cast<std::size_t>(node.feature))[data_.row[point]] <
           node.bound;
  }

  const RegressionData& data_;
  std::unique_ptr<RegressionScan> scan_;
  struct Pair {
    RegressionView views[2];
  };
  std::vector<std::unique_ptr<Pair>> views_;  // by level, for all nodes of it
};

class Builder {
 public:
  explicit Builder(const RegressionProblem& p) : p_(p) {}

  int build(const Plan& plan, int at, int state, const Rows& rows, FinishedRegression& done) const;

 private:
  double weight(std::uint32_t i) const { return p_.weight.empty() ? 1.0 : p_.weight[i]; }
  double output(const Rows& rows) const;
  double loss(const Rows& rows, double output) const;

  const RegressionProblem& p_;
};

double Builder::output(const Rows& rows) const {
  // Sums of differences: equal targets give themselves, whatever those without weight are.
  const auto counts = [this](std::uint32_t i) { return weight(i) > 0; };
  const auto any = std::find_if(rows.begin(), rows.end(), counts);
  const double first = p_.target[any == rows.end() ? rows[0] : *any];
  double weights = 0, sum = 0, plain = 0;
  for (std::uint32_t i : rows) {
    weights += weight(i);
    sum += weight(i) * (p_.target[i] - first);
    plain += p_.target[i] - first;
  }
  if (!p_.absolute())
    return first + (weights > 0 ? sum / weights : plain / static_cast<double>(rows.size()));
  Rows order = rows;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return p_.target[a] < p_.target[b]; });
  if (weights <= 0) return p_.target[order[(order.size() - 1) / 2]];
  double below = 0;
  std::size_t k = 0;
  for (; k + 1 < order.size(); ++k) {
    below += weight(order[k]);
    if (2 * below >= weights) break;
  }
  return p_.target[order[k]];
}

double Builder::loss(const Rows& rows, double y) const {
  double sum = 0;
  for (std::uint32_t i : rows) {
    if (!(weight(i) > 0)) continue;  // of a count it could be infinite
    const double to = p_.target[i], e = std::fabs(to - y);
    if (p_.poisson())
      sum += weight(i) * (y - to + (to > 0 ? to * std::log(to / y) : 0));
    else
      sum += weight(i) * (p_.absolute() ? e : e * e);
  }
  return sum + p_.leaf_price;
}

int Builder::build(const Plan& plan, int at, int state, const Rows& rows,
                   FinishedRegression& done) const {
  const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
  auto& nodes = done.tree.nodes;
  const std::size_t me = nodes.size();
  nodes.emplace_back();
  done.output.push_back(output(rows));
  const double before = done.value;
  if (node.feature < 0) {
    done.value += loss(rows, done.output[me]);
    return static_cast<int>(me);
  }
  Rows left, right;
  TreeNode made;
  made.feature = node.feature;
  made.next = ~0u;
  const std::uint32_t* rank = p_.base.ranks(static_cast<std::size_t>(node.feature));
  for (std::uint32_t i : rows) {
    if (rank[i] < node.bound) {
      left.push_back(i);
      made.cut = std::max(made.cut, rank[i]);
    } else {
      right.push_back(i);
      made.next = std::min(made.next, rank[i]);
    }
  }
  const int after = p_.rules.after(state, static_cast<std::size_t>(node.feature));
  made.left = build(plan, node.left, after, left, done);
  made.right = build(plan, node.right, after, right, done);
  const auto is_leaf = [&](int k) { return nodes[static_cast<std::size_t>(k)].feature < 0; };
  const auto out = [&](int k) { return done.output[static_cast<std::size_t>(k)]; };
  if (is_leaf(made.left) && is_leaf(made.right) && out(made.left) == out(made.right) &&
      p_.rules.ends(state)) {
    // Both sides say the same: the split goes, and a leaf's price with it.
    nodes.resize(me + 1);
    done.output.resize(me + 1);
    done.output[me] = output(rows);
    done.value = before + loss(rows, done.output[me]);
    return static_cast<int>(me);
  }
  nodes[me] = made;
  return static_cast<int>(me);
}

bool gap_allowed(const Problem& p, std::size_t f, std::uint32_t low, std::uint32_t high) {
  if (f >= p.allowed.size() || p.allowed[f].empty()) return true;
  const auto& flags = p.allowed[f];
  return std::find(flags.begin() + low, flags.begin() + high, 1) != flags.begin() + high;
}

// Turns a tree into a plan node by node; a split that parts no rows is left out, as are cuts in
// gaps with no allowed cut.
class PlanReader {
 public:
  PlanReader(const RegressionProblem& p, const Tree& tree) : p_(p.base), tree_(tree) {}

  Plan read(int at, const Rows& rows, int depth) {
    const TreeNode& node = tree_.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0) {
      ++leaves;
      return Plan::leaf();
    }
    const int n = static_cast<int>(tree_.nodes.size());
    demand(static_cast<std::size_t>(node.feature) < p_.features,
           "the start tree splits on an unknown feature");
    demand(node.left > at && node.right > at && node.left < n && node.right < n,
           "the start tree's nodes are out of order");
    demand(depth < p_.depth, "the start tree is deeper than asked");
    const std::size_t f = static_cast<std::size_t>(node.feature);
    Rows left, right;
    std::uint32_t low = 0, high = ~0u;
    for (std::uint32_t i : rows) {
      const std::uint32_t rank = p_.ranks(f)[i];
      (rank <= node.cut ? left : right).push_back(i);
      if (rank <= node.cut)
        low = std::max(low, rank);
      else
        high = std::min(high, rank);
    }
    if (left.empty()) return read(node.right, right, depth + 1);
    if (right.empty()) return read(node.left, left, depth + 1);
    demand(gap_allowed(p_, f, low, high), "the start tree has a cut that is not allowed");
    std::uint32_t bound = low;
    while (!gap_allowed(p_, f, low, bound + 1)) ++bound;
    const Plan below = read(node.left, left, depth + 1);
    return Plan::split(node.feature, bound + 1, below, read(node.right, right, depth + 1));
  }
  int leaves = 0;

  static void demand(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  }

 private:
  const Problem& p_;
  const Tree& tree_;
};

Rows all_rows(const RegressionProblem& p) {
  Rows rows(p.base.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

}  // namespace

FinishedRegression finish(const RegressionData& data, const RegressionView& root, Control& control,
                          const Plan& plan) {
  const Plan resolved =
      data.points > 0 ? Resolver(data, control).resolve(plan, 0, root, 0) : Plan::leaf();
  FinishedRegression done;
  Builder(data.problem).build(resolved, 0, 0, all_rows(data.problem), done);
  return done;
}

Plan plan_of_tree(const RegressionProblem& problem, const Tree& tree) {
  PlanReader reader(problem, tree);
  Plan plan = reader.read(0, all_rows(problem), 0);
  PlanReader::demand(problem.base.leaves == 0 || reader.leaves <= problem.base.leaves,
                     "the start tree has too many leaves");
  PlanReader::demand(RuleCheck(problem.base, problem.rules).keeps(plan, 0, 0, all_rows(problem)),
                     "the start tree breaks a rule");
  return plan;
}

}  // namespace odt
