#include "odt/number_finish.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "odt/logs.hpp"
#include "odt/outputs_leaf.hpp"

namespace odt {
namespace {

using Rows = std::vector<std::uint32_t>;

class Builder {
 public:
  explicit Builder(const NumberProblem& p)
      : p_(p),
        targets_(p.targets()),
        free_(OutputSolver(p.set).everything()),
        leaf_(p, OutputWay::optimal, 0),
        check_(p.base, p.rules) {}

  int build(const Plan& plan, int at, int state, std::size_t level, const Rows& rows,
            FinishedNumbers& done);

 private:
  std::vector<double> output(const Rows& rows);
  double mean(const Rows& rows, std::size_t target) const;
  double loss(const Rows& rows, const std::vector<double>& output) const;
  double target(std::uint32_t row, std::size_t t) const { return p_.target[row * targets_ + t]; }
  int end(const Rows& rows, FinishedNumbers& done);

  const NumberProblem& p_;
  std::size_t targets_;
  bool free_;
  OutputLeaf leaf_;
  RuleCheck check_;
};

// Sums of differences: equal targets give themselves, whatever those without weight are.
double Builder::mean(const Rows& rows, std::size_t t) const {
  const auto counts = [this](std::uint32_t i) { return p_.weight_of(i) > 0; };
  const auto any = std::find_if(rows.begin(), rows.end(), counts);
  const double first = target(any == rows.end() ? rows[0] : *any, t);
  double weights = 0, sum = 0, plain = 0;
  for (std::uint32_t i : rows) {
    weights += p_.weight_of(i);
    sum += p_.weight_of(i) * (target(i, t) - first);
    plain += target(i, t) - first;
  }
  const double mean =
      first + (weights > 0 ? sum / weights : plain / static_cast<double>(rows.size()));
  return p_.poisson() ? std::max(0.0, mean) : mean;
}

std::vector<double> Builder::output(const Rows& rows) {
  std::vector<double> found(targets_);
  if (free_ && !p_.absolute()) {
    for (std::size_t t = 0; t < targets_; ++t) found[t] = mean(rows, t);
    return found;
  }
  OutputSums sums;
  leaf_.clear(sums);
  for (std::uint32_t i : rows) leaf_.add(sums, i);
  leaf_.fill(rows, sums, leaf_.free(sums), kUnbounded, found);
  return found;
}

double Builder::loss(const Rows& rows, const std::vector<double>& output) const {
  double sum = 0;
  for (std::uint32_t i : rows) {
    if (!(p_.weight_of(i) > 0)) continue;  // of a count it could be infinite
    for (std::size_t t = 0; t < targets_; ++t) {
      const double to = target(i, t), y = output[t], e = std::fabs(to - y);
      const double lost = p_.poisson()    ? to > 0 && !(y > 0) ? kUnbounded : gain_over(to, 1, y)
                          : p_.absolute() ? e
                                          : e * e;
      sum += p_.weight_of(i) * p_.factor[t] * lost;
    }
  }
  return sum + p_.leaf_price;
}

int Builder::end(const Rows& rows, FinishedNumbers& done) {
  const std::vector<double> found = output(rows);
  done.value += loss(rows, found);
  done.tree.nodes.emplace_back();
  done.output.insert(done.output.end(), found.begin(), found.end());
  return static_cast<int>(done.tree.nodes.size()) - 1;
}

int Builder::build(const Plan& plan, int at, int state, std::size_t level, const Rows& rows,
                   FinishedNumbers& done) {
  const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
  if (node.feature < 0) return end(rows, done);
  auto& nodes = done.tree.nodes;
  const std::size_t me = nodes.size(), f = static_cast<std::size_t>(node.feature);
  const double before = done.value;
  nodes.emplace_back();
  done.output.resize(nodes.size() * targets_);
  const auto [sides, low, high] = PartedRows(p_.base, f, node.bound, rows);
  TreeNode made;
  made.feature = node.feature;
  made.cut = low;
  made.next = high;
  // Where levels differ, a cut that may stand at this one.
  while (level < p_.rules.cuts_at.size() && made.cut + 1 < made.next &&
         !p_.rules.open(f, made.cut, made.cut + 1, level))
    ++made.cut;
  const int after = p_.rules.after(state, f);
  made.left = build(plan, node.left, after, level + 1, sides[0], done);
  made.right = build(plan, node.right, after, level + 1, sides[1], done);
  const auto is_leaf = [&](int k) { return nodes[static_cast<std::size_t>(k)].feature < 0; };
  const auto out = [&](int k) {
    return done.output.begin() + k * static_cast<std::ptrdiff_t>(targets_);
  };
  if (p_.model.none() && is_leaf(made.left) && is_leaf(made.right) &&
      std::equal(out(made.left), out(made.left + 1), out(made.right)) &&
      check_.leaf(state, rows.data(), rows.size())) {
    // Both sides say the same: the split goes, and a leaf's price with it.
    nodes.resize(me);
    done.output.resize(me * targets_);
    done.value = before;
    return end(rows, done);
  }
  nodes[me] = made;
  return static_cast<int>(me);
}

// Turns a tree into a plan node by node; a split that parts no rows is left out, as are cuts in
// gaps with no allowed cut.
class PlanReader {
 public:
  PlanReader(const Problem& p, const Tree& tree) : p_(p), tree_(tree) {}

  Plan read(int at, const Rows& rows, int depth) {
    const TreeNode& node = tree_.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0) {
      ++leaves;
      fewest = std::min(fewest, rows.size());
      return Plan::leaf();
    }
    const int n = static_cast<int>(tree_.nodes.size());
    demand(static_cast<std::size_t>(node.feature) < p_.features,
           "the start tree splits on an unknown feature");
    demand(node.left > at && node.right > at && node.left < n && node.right < n,
           "the start tree's nodes are out of order");
    demand(depth < p_.depth, "the start tree is deeper than asked");
    const std::size_t f = static_cast<std::size_t>(node.feature);
    const auto [sides, low, high] = PartedRows(p_, f, node.cut + 1, rows);
    if (sides[0].empty()) return read(node.right, sides[1], depth + 1);
    if (sides[1].empty()) return read(node.left, sides[0], depth + 1);
    demand(p_.gap_open(f, low, high), "the start tree has a cut that is not allowed");
    std::uint32_t bound = low;
    while (!p_.gap_open(f, low, bound + 1)) ++bound;
    const Plan below = read(node.left, sides[0], depth + 1);
    return Plan::split(node.feature, bound + 1, below, read(node.right, sides[1], depth + 1));
  }
  int leaves = 0;
  std::size_t fewest = ~std::size_t{0};  // rows of a leaf

  static void demand(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  }

 private:
  const Problem& p_;
  const Tree& tree_;
};

Rows all_rows(const NumberProblem& p) {
  Rows rows(p.base.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

}  // namespace

FinishedNumbers finish(const NumberProblem& problem, const Plan& plan) {
  FinishedNumbers done;
  Builder(problem).build(plan, 0, 0, 0, all_rows(problem), done);
  return done;
}

Plan plan_of_tree(const NumberProblem& problem, const Tree& tree, std::size_t& fewest) {
  PlanReader reader(problem.base, tree);
  Plan plan = reader.read(0, all_rows(problem), 0);
  PlanReader::demand(problem.base.leaves == 0 || reader.leaves <= problem.base.leaves,
                     "the start tree has too many leaves");
  fewest = reader.fewest;
  return plan;
}

}  // namespace odt
