#include "odt/regression.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <stdexcept>

namespace odt {
namespace {

constexpr double kNever = 1e300;

struct Rows {
  std::vector<std::vector<std::uint32_t>> order;  // per feature, by rank
  std::size_t size() const { return order[0].size(); }
};

struct Answer {
  double value = kNever;
  bool exact = false;
  Plan plan;
};

class Regression {
 public:
  Regression(const RegressionProblem& p, Control& control) : p_(p), control_(control) { centre(); }
  RegressionResult run();

 private:
  struct Span {
    std::size_t low, high;  // evaluated cuts, exclusive
    double left, right;     // left loss at low, right loss at high
  };

  void centre();
  double weight(std::uint32_t i) const { return p_.weight.empty() ? 1.0 : p_.weight[i]; }
  void prefix_losses(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const;
  void squared_prefix(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const;
  void absolute_prefix(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const;
  double leaf(const std::vector<std::uint32_t>& rows) const;
  bool cut_allowed(std::size_t f, const std::vector<std::uint32_t>& order, std::size_t i) const;
  double best_split(std::size_t f, const std::vector<std::uint32_t>& order, std::size_t* where) ;
  double stump(const Rows& rows);
  void part(const Rows& rows, std::size_t f, std::uint32_t bound, bool left, Rows& out) const;
  Answer solve(const Rows& rows, Shape shape, double upper, double lower, bool root);
  void two_stumps(const Rows& rows, std::size_t f, std::uint32_t bound, double& left, double& right);
  int build(const Plan& plan, int at, const std::vector<std::uint32_t>& rows, RegressionResult& result);
  double output(const std::vector<std::uint32_t>& rows) const;

  const RegressionProblem& p_;
  Control& control_;
  std::vector<double> y_;
  double tolerance_ = 0;
  Counters counters_;
  std::vector<double> before_, behind_;
  std::vector<std::uint32_t> side_[2];
  Answer best_;          // at the root, for limits
};

// Sums of squares lose digits when the target is far from zero.
void Regression::centre() {
  double sum = 0, weights = 0, spread = 0;
  for (std::uint32_t i = 0; i < p_.target.size(); ++i) {
    sum += weight(i) * p_.target[i];
    weights += weight(i);
  }
  const double mean = weights > 0 ? sum / weights : 0;
  y_.resize(p_.target.size());
  for (std::uint32_t i = 0; i < y_.size(); ++i) {
    y_[i] = p_.target[i] - mean;
    spread += weight(i) * (p_.absolute ? std::fabs(y_[i]) : y_[i] * y_[i]);
  }
  tolerance_ = 1e-10 * (spread + 1e-300);
}

// out[i] = loss of one leaf over the first (backwards: last) i + 1 rows.
void Regression::squared_prefix(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const {
  double s = 0, q = 0, w = 0;
  const std::size_t n = rows.size();
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint32_t i = rows[backwards ? n - 1 - k : k];
    const double v = weight(i), x = v * y_[i];
    s += x;
    q += x * y_[i];
    w += v;
    out[k] = w > 0 ? std::max(0.0, q - s * s / w) : 0;
  }
}

void Regression::absolute_prefix(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const {
  std::priority_queue<double> low;  // the lower half, its largest on top
  std::priority_queue<double, std::vector<double>, std::greater<double>> high;
  double low_sum = 0, high_sum = 0;
  const std::size_t n = rows.size();
  for (std::size_t k = 0; k < n; ++k) {
    const double y = y_[rows[backwards ? n - 1 - k : k]];
    low.push(y);
    low_sum += y;
    const double moved = low.top();
    low.pop();
    high.push(moved);
    low_sum -= moved;
    high_sum += moved;
    if (high.size() > low.size()) {
      const double back = high.top();
      high.pop();
      low.push(back);
      high_sum -= back;
      low_sum += back;
    }
    const double median = low.top();
    out[k] = std::max(0.0, median * static_cast<double>(low.size()) - low_sum + high_sum - median * static_cast<double>(high.size()));
  }
}

void Regression::prefix_losses(const std::vector<std::uint32_t>& rows, bool backwards, std::vector<double>& out) const {
  out.resize(rows.size());
  if (p_.absolute) absolute_prefix(rows, backwards, out);
  else squared_prefix(rows, backwards, out);
}

double Regression::leaf(const std::vector<std::uint32_t>& rows) const {
  std::vector<double> losses;
  prefix_losses(rows, false, losses);
  return losses.back() + p_.leaf_price;
}

// May a cut stand behind position i of `order`?
bool Regression::cut_allowed(std::size_t f, const std::vector<std::uint32_t>& order, std::size_t i) const {
  const std::uint32_t low = p_.base.ranks(f)[order[i]], high = p_.base.ranks(f)[order[i + 1]];
  if (low == high) return false;
  if (f >= p_.base.allowed.size() || p_.base.allowed[f].empty()) return true;
  const auto& flags = p_.base.allowed[f];
  return std::find(flags.begin() + low, flags.begin() + high, 1) != flags.begin() + high;
}

// Least loss of a split of these rows by one feature, with the prices of both leaves.
double Regression::best_split(std::size_t f, const std::vector<std::uint32_t>& order, std::size_t* where) {
  ++counters_.scans;
  prefix_losses(order, false, before_);
  prefix_losses(order, true, behind_);
  double best = kNever;
  const std::size_t n = order.size();
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double value = before_[i] + behind_[n - 2 - i];
    if (value >= best || !cut_allowed(f, order, i)) continue;
    best = value;
    if (where) *where = i;
  }
  return best + 2 * p_.leaf_price;
}

double Regression::stump(const Rows& rows) {
  double best = leaf(rows.order[0]);
  for (std::size_t f = 0; f < rows.order.size(); ++f) best = std::min(best, best_split(f, rows.order[f], nullptr));
  return best;
}

void Regression::part(const Rows& rows, std::size_t f, std::uint32_t bound, bool left, Rows& out) const {
  const std::uint32_t* rank = p_.base.ranks(f);
  out.order.resize(rows.order.size());
  for (std::size_t g = 0; g < rows.order.size(); ++g) {
    out.order[g].clear();
    for (std::uint32_t i : rows.order[g])
      if ((rank[i] < bound) == left) out.order[g].push_back(i);
  }
}

// Depth-two pass: both sides of a cut, every inner feature, without making views.
void Regression::two_stumps(const Rows& rows, std::size_t f, std::uint32_t bound, double& left, double& right) {
  const std::uint32_t* rank = p_.base.ranks(f);
  double* best[2] = {&left, &right};
  for (std::size_t g = 0; g < rows.order.size(); ++g) {
    side_[0].clear();
    side_[1].clear();
    for (std::uint32_t i : rows.order[g]) side_[rank[i] < bound ? 0 : 1].push_back(i);
    for (int s = 0; s < 2; ++s) {
      if (g == 0) *best[s] = leaf(side_[s]);
      *best[s] = std::min(*best[s], best_split(g, side_[s], nullptr));
    }
  }
  control_.poll(rows.size() * rows.order.size() * 4);
}

Answer Regression::solve(const Rows& rows, Shape s, double upper, double lower, bool root) {
  Answer best;
  best.value = upper;
  const auto offer = [&](double value, const Plan& plan) {
    if (value >= best.value - tolerance_) return;
    best = {value, true, plan};
    if (root) best_ = best;
  };
  offer(leaf(rows.order[0]), Plan::leaf());
  lower = std::max(lower, p_.leaf_price);
  if (s.depth == 0 || s.leaves == 1 || best.value <= lower + tolerance_) return best;
  offer(stump(rows), Plan::stump());
  if (s.depth == 1 || s.leaves == 2) return best;
  if (s.depth > 2) {
    // A shallower tree first: often most of the way, at a small part of the cost.
    const Answer flat = solve(rows, shape(s.depth - 1, s.leaves), best.value, lower, false);
    if (flat.exact) offer(flat.value, flat.plan);
  }
  ++counters_.nodes;
  const int half = full_leaves(s.depth - 1);
  std::vector<Span> spans;
  Rows side;
  for (int l = std::max(1, s.leaves - half); l <= std::min(half, s.leaves - 1); ++l) {
    const Shape shapes[2] = {shape(s.depth - 1, l), shape(s.depth - 1, s.leaves - l)};
    const bool fast = s.depth == 2 && shapes[0].leaves == 2 && shapes[1].leaves == 2;
    for (std::size_t f = 0; f < rows.order.size(); ++f) {
      const auto& order = rows.order[f];
      std::vector<std::size_t> cuts;  // positions behind which a cut may stand
      for (std::size_t i = 0; i + 1 < order.size(); ++i)
        if (cut_allowed(f, order, i)) cuts.push_back(i);
      spans.assign(1, {0, cuts.size() + 1, p_.leaf_price, p_.leaf_price});
      while (!spans.empty() && best.value > lower + tolerance_) {
        const Span span = spans.back();
        spans.pop_back();
        if (span.high - span.low < 2) continue;
        if (span.left + span.right >= best.value - tolerance_) {
          ++counters_.pruned_interval;
          continue;
        }
        ++counters_.cuts;
        const std::size_t mid = (span.low + span.high) / 2;
        const std::uint32_t bound = p_.base.ranks(f)[order[cuts[mid - 1]]] + 1;
        double value[2] = {span.left, span.right};
        Plan plan[2] = {Plan::stump(), Plan::stump()};
        bool exact = true;
        if (fast) {
          two_stumps(rows, f, bound, value[0], value[1]);
        } else {
          for (int k = 0; k < 2; ++k) {
            // Solved up to the whole incumbent, not to what is left of it: exact values prune the neighbours.
            if (value[0] + value[1] >= best.value) {
              exact = false;
              break;
            }
            part(rows, f, bound, k == 0, side);
            const Answer a = solve(side, shapes[k], best.value, value[k], false);
            value[k] = std::max(value[k], a.value);
            plan[k] = a.plan;
            exact = exact && a.exact;
          }
        }
        if (exact) offer(value[0] + value[1], Plan::split(static_cast<int>(f), bound, plan[0], plan[1]));
        spans.push_back({span.low, mid, span.left, value[1]});
        spans.push_back({mid, span.high, value[0], span.right});
      }
    }
  }
  return best;
}

double Regression::output(const std::vector<std::uint32_t>& rows) const {
  if (p_.absolute) {
    std::vector<double> y;
    for (std::uint32_t i : rows) y.push_back(p_.target[i]);
    const std::size_t mid = (y.size() - 1) / 2;
    std::nth_element(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(mid), y.end());
    return y[mid];
  }
  double sum = 0, weights = 0, plain = 0;
  for (std::uint32_t i : rows) {
    sum += weight(i) * p_.target[i];
    weights += weight(i);
    plain += p_.target[i];
  }
  return weights > 0 ? sum / weights : plain / static_cast<double>(rows.size());
}

int Regression::build(const Plan& plan, int at, const std::vector<std::uint32_t>& rows, RegressionResult& result) {
  PlanNode node = plan.nodes[static_cast<std::size_t>(at)];
  if (node.feature < 0 && node.stump) {
    double best = leaf(rows) - tolerance_;
    for (std::size_t f = 0; f < p_.base.features; ++f) {
      std::vector<std::uint32_t> order = rows;
      const std::uint32_t* rank = p_.base.ranks(f);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
      std::size_t where = 0;
      const double value = best_split(f, order, &where);
      if (value >= best) continue;
      best = value;
      node.feature = static_cast<int>(f);
      node.bound = rank[order[where]] + 1;
    }
  }
  const int me = static_cast<int>(result.tree.nodes.size());
  result.tree.nodes.emplace_back();
  result.output.push_back(output(rows));
  if (node.feature < 0) return me;
  std::vector<std::uint32_t> left, right;
  TreeNode made;
  made.feature = node.feature;
  made.next = ~0u;
  for (std::uint32_t i : rows) {
    const std::uint32_t rank = p_.base.ranks(static_cast<std::size_t>(node.feature))[i];
    if (rank < node.bound) {
      left.push_back(i);
      made.cut = std::max(made.cut, rank);
    } else {
      right.push_back(i);
      made.next = std::min(made.next, rank);
    }
  }
  const Plan leaf_plan = Plan::leaf();
  made.left = node.left >= 0 ? build(plan, node.left, left, result) : build(leaf_plan, 0, left, result);
  made.right = node.right >= 0 ? build(plan, node.right, right, result) : build(leaf_plan, 0, right, result);
  result.tree.nodes[static_cast<std::size_t>(me)] = made;
  return me;
}

RegressionResult Regression::run() {
  Rows rows;
  rows.order.resize(p_.base.features);
  for (std::size_t f = 0; f < p_.base.features; ++f) {
    auto& order = rows.order[f];
    for (std::uint32_t i = 0; i < p_.base.rows; ++i) order.push_back(i);
    const std::uint32_t* rank = p_.base.ranks(f);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  }
  RegressionResult result;
  const Shape goal = shape(p_.base.depth, p_.base.leaves > 0 ? p_.base.leaves : full_leaves(30));
  try {
    const Answer answer = solve(rows, goal, kNever, 0, true);
    best_ = answer;
    result.bound = answer.value;
    result.status = Status::optimal;
  } catch (const Stop&) {
    result.status = best_.exact ? Status::feasible : Status::unknown;
    result.bound = p_.leaf_price;
  }
  if (best_.exact) {
    result.value = best_.value;
    build(best_.plan, 0, rows.order[0], result);
  }
  result.counters = counters_;
  result.seconds = control_.seconds();
  return result;
}

}  // namespace

RegressionResult solve_regression(const RegressionProblem& problem, const Options& options) {
  if (problem.base.rows == 0 || problem.base.features == 0) throw std::invalid_argument("no rows or no features");
  if (problem.absolute && !problem.weight.empty()) throw std::invalid_argument("absolute error takes no weights");
  if (problem.base.depth < 0 || problem.base.depth > 30) throw std::invalid_argument("depth must be between 0 and 30");
  if (!(problem.leaf_price >= 0)) throw std::invalid_argument("the price per leaf must not be negative");
  for (double y : problem.target)
    if (!std::isfinite(y)) throw std::invalid_argument("a target is not finite");
  for (double w : problem.weight)
    if (!(w >= 0) || !std::isfinite(w)) throw std::invalid_argument("a weight is negative or not finite");
  for (std::size_t f = 0; f < problem.base.features; ++f)
    for (std::size_t i = 0; i < problem.base.rows; ++i)
      if (problem.base.ranks(f)[i] >= problem.base.distinct[f]) throw std::invalid_argument("a rank is out of range");
  Control control(options);
  return Regression(problem, control).run();
}

}  // namespace odt
