#include "odt/outputs_search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "odt/control.hpp"
#include "odt/numbers_anytime.hpp"
#include "odt/numbers_beside.hpp"
#include "odt/outputs_fronts.hpp"
#include "odt/outputs_lane.hpp"
#include "odt/workers.hpp"

namespace odt {
namespace {

constexpr std::size_t kCache = std::size_t{1} << 29;

// The root: incumbents, the bound that is shown, threads, limits. Losses are above the floor.
class OutputRoot {
 public:
  OutputRoot(const OutputProblem& p, const OutputOptions& o, Control& control)
      : p_(p),
        o_(o),
        control_(control),
        data_(p, o.leaf_rows),
        parts_(p),
        story_(control, o, result_.timeline),
        beside_(control, o, p.base.depth, p.loss == OutputLoss::absolute) {}
  RegressionResult run();
  RegressionResult finished(const Plan& plan) {
    finish(plan, result_);
    result_.status = Status::feasible;
    return std::move(result_);
  }

 private:
  void begin();
  void branch(const OutputAsk& ask);
  void by_fronts(const OutputAsk& ask);
  void by_budgets(OutputFronts& fronts, const OutputAsk& ask);
  void evaluate_round(const OutputFrontier& frontier, const OutputAsk& ask, double limit);
  void offer(double value, const Plan& plan);
  void raise(double bound);
  void take();
  void begin_beside(int leaves);
  bool improve() { return finder_->run(p_.leaf_price + tolerance_, &beside_.shared); }
  double limit() const { return std::min(best_, asked_) - tolerance_; }
  double value_of(const Plan& plan, std::size_t at, const std::vector<std::uint32_t>& rows,
                  bool& fits);
  bool goal() const { return !p_.model.goal.empty(); }
  void consider(const Plan& plan, double loss);
  // Whether a plan keeps all rules; then what it adds to the loss, and the goal.
  bool keeps(const Plan& plan, double& price, double& goal);
  bool keeps(const Plan& plan) {
    double price, goal;
    return keeps(plan, price, goal);
  }
  Plan plan_of(const Tree& tree) const;
  void finish(const Plan& plan, RegressionResult& result);
  void conclude(bool stopped);
  bool sized(std::size_t rows) const { return rows >= static_cast<std::size_t>(o_.leaf_rows); }

  struct Cut {
    OutputFrontier::Span span;
    OutputAnswer sides[2];
  };

  const OutputProblem& p_;
  const OutputOptions& o_;
  Control& control_;
  OutputRows data_;
  NumberParts parts_;
  OutputNode whole_;
  std::vector<std::unique_ptr<OutputLane>> lanes_;
  std::unique_ptr<Workers> workers_;
  std::vector<Cut> round_;
  Plan plan_;
  double best_ = kUnbounded, asked_ = kUnbounded, bound_ = 0, floor_ = 0, tolerance_ = 0;
  RegressionResult result_;
  RealStory story_;
  std::unique_ptr<OutputValues> values_;
  std::unique_ptr<OutputGains> gains_;
  std::unique_ptr<NumberRows> rows_;
  std::unique_ptr<NumberAnytime> finder_;
  NumberBeside beside_;  // last: it ends before what it uses
};

void OutputRoot::begin() {
  whole_.make_root(data_);
  floor_ = whole_.sums[kFloor];
  const Shape most = shape(p_.base.depth, p_.base.leaves > 0 ? p_.base.leaves : full_leaves(30));
  bound_ = goal() ? -kUnbounded  // leaves may be rewarded
                  : p_.model.least_price(std::min(most.leaves, static_cast<int>(whole_.rows)));
  story_.higher(bound_ + floor_);
  const OutputPart all{whole_.of(0), whole_.rows, whole_.sums.data()};
  const double loss = OutputValues(data_).loss(all);
  tolerance_ = 1e-11 * (loss + std::fabs(floor_)) + 1e-290;
  if (o_.upper_bound < kUnbounded) asked_ = o_.upper_bound - floor_ + 2 * tolerance_;
  const std::size_t threads = static_cast<std::size_t>(std::max(1, o_.threads)),
                    memory = o_.memory_limit > 0 ? o_.memory_limit : kCache;
  for (std::size_t k = 0; k < threads; ++k)
    lanes_.push_back(std::make_unique<OutputLane>(
        data_, control_, static_cast<std::size_t>(std::max(1, o_.leaf_rows)), memory / threads,
        tolerance_));
  if (sized(whole_.rows)) consider(Plan::leaf(), lanes_[0]->values().leaf(all, kUnbounded));
  if (!o_.start.empty()) {
    const Plan start = plan_of(o_.start);
    bool fits = RuleCheck(p_.base, p_.rules).keeps(start, 0, 0, data_.used);
    const double value = value_of(start, 0, data_.used, fits);
    if (fits) consider(start, value);
  }
}

// A tree that is given, as the best one.
void OutputRoot::consider(const Plan& plan, double loss) {
  double price, aimed;
  if (!(loss < kUnbounded) || !keeps(plan, price, aimed) || !(loss + price < asked_)) return;
  const double value = goal() ? aimed : loss + price;
  if (!(value < best_)) return;
  best_ = value;
  plan_ = plan;
  beside_.shared.offer(best_, plan_);
}

bool OutputRoot::keeps(const Plan& plan, double& price, double& aimed) {
  price = aimed = 0;
  if (!RuleCheck(p_.base, p_.rules).keeps(plan, 0, 0, data_.used)) return false;
  if (p_.model.none()) return true;
  std::vector<double> values;
  const std::uint64_t facts = parts_.measure(plan, data_.used, values);
  price = NumberModel::sum(p_.model.prices, facts, values.data());
  aimed = NumberModel::sum(p_.model.goal, facts, values.data());
  return p_.model.holds(facts, values.data());
}

Plan OutputRoot::plan_of(const Tree& tree) const {
  Plan plan;
  for (const TreeNode& node : tree.nodes) {
    PlanNode step;
    step.feature = node.feature;
    step.bound = node.cut + 1;
    step.left = node.left;
    step.right = node.right;
    plan.nodes.push_back(step);
  }
  return plan;
}

void OutputRoot::offer(double value, const Plan& plan) {
  best_ = value;
  plan_ = plan;
  beside_.shared.offer(value, plan);
  story_.better(best_ + floor_, plan_);
}

void OutputRoot::raise(double bound) {
  if (bound <= bound_) return;
  bound_ = bound;
  story_.higher(bound_ + floor_);
}

// What the search beside has found.
void OutputRoot::take() {
  double value = limit();
  if (beside_.shared.take(value, plan_)) best_ = value;
}

// Good trees beside the proof, which takes them as incumbents.
void OutputRoot::begin_beside(int leaves) {
  values_ = std::make_unique<OutputValues>(data_);
  gains_ = std::make_unique<OutputGains>(data_);
  rows_ = std::make_unique<NumberRows>(data_, *values_, *gains_,
                                       static_cast<std::size_t>(std::max(1, o_.leaf_rows)));
  finder_ = std::make_unique<NumberAnytime>(*rows_, control_, p_.base.depth, leaves, o_.seed,
                                            [this](double value, const Plan& plan) {
                                              double price, aimed;
                                              if (!p_.model.none()) {
                                                if (goal() || !keeps(plan, price, aimed)) return;
                                                value += price;
                                              }
                                              if (beside_.shared.offer(value, plan))
                                                story_.better(value + floor_, plan);
                                            });
  control_.grow_first(o_.start.empty());
  finder_->begin();
  control_.grow_first(false);
  finder_->look_ahead();
}

// Every lane searches on its own, with its own cache: the answer does not depend on who is faster.
void OutputRoot::evaluate_round(const OutputFrontier& frontier, const OutputAsk& ask,
                                double limit) {
  const auto work = [&](int, std::size_t k) {
    lanes_[k]->evaluate(whole_, ask, round_[k].span, frontier.place(round_[k].span), limit,
                        round_[k].sides);
  };
  if (workers_ && round_.size() > 1) return workers_->run(round_.size(), work);
  for (std::size_t k = 0; k < round_.size(); ++k) work(0, k);
}

void OutputRoot::branch(const OutputAsk& ask) {
  if (lanes_.size() > 1) workers_ = std::make_unique<Workers>(static_cast<int>(lanes_.size()));
  OutputFrontier frontier(data_, whole_, ask, static_cast<std::size_t>(std::max(1, o_.leaf_rows)));
  for (;;) {
    take();
    const double most = limit(),
                 cut_off = o_.relative_gap > 0
                               ? most - o_.relative_gap * std::max(0.0, most + floor_)
                               : most;
    round_.clear();
    Cut cut;
    while (round_.size() < lanes_.size() && frontier.pop(cut_off, cut.span)) {
      raise(std::min(cut.span.bound(), most));
      round_.push_back(cut);
    }
    if (round_.empty()) return raise(std::min(most, frontier.least_bound()));
    evaluate_round(frontier, ask, most);
    for (const Cut& done : round_) {
      Plan plan;
      const double value =
          joined(data_, whole_, done.span, frontier.place(done.span), limit(), done.sides, plan);
      if (value < kUnbounded) offer(value, plan);
      frontier.part(done.span, done.sides[0].lower, done.sides[1].lower);
    }
    control_.check();
  }
}

// Under rules on the whole tree.
void OutputRoot::by_fronts(const OutputAsk& ask) {
  const std::size_t memory = o_.memory_limit > 0 ? o_.memory_limit : kCache;
  std::vector<double> by_first = o_.by_first;
  for (double& least : by_first) least -= floor_ + 8 * tolerance_;
  OutputFronts fronts(data_, *lanes_[0], control_,
                      static_cast<std::size_t>(std::max(1, o_.leaf_rows)), memory, tolerance_,
                      std::move(by_first), [this](double value, const Plan& plan) {
                        if (!goal()) return offer(value, plan);
                        best_ = value;
                        plan_ = plan;
                      });
  fronts.best = best_;
  if (!goal()) return by_budgets(fronts, ask);
  fronts.search(whole_, ask, asked_);
  bound_ = best_;
}

// What trees without these rules lose is known first; budgets then grow from there. Where all trees
// are told at once, there is one budget.
void OutputRoot::by_budgets(OutputFronts& fronts, const OutputAsk& ask) {
  if (fronts.at_once(ask)) {
    fronts.search(whole_, ask, std::min(best_, asked_));
    return raise(std::min(best_, asked_));
  }
  constexpr int kRounds = 12;
  const double most = std::min(best_, asked_) - tolerance_,
               rest = p_.model.least_price(ask.shape.leaves);
  const OutputAnswer free = lanes_[0]->solve(whole_, ask, most - rest);
  if (free.value < kUnbounded) {
    consider(free.plan, free.value);
    fronts.best = best_;
  }
  double low = std::min(free.least + rest, most);
  raise(low);
  const OutputPart all{whole_.of(0), whole_.rows, whole_.sums.data()};
  double step = std::max((lanes_[0]->values().leaf(all, kUnbounded) - low) / 32, 4 * tolerance_);
  for (int round = 0; low < limit(); ++round, step *= 2) {
    if (o_.relative_gap > 0 && low >= best_ - o_.relative_gap * std::max(0.0, best_ + floor_))
      break;
    const double budget = round < kRounds ? low + step : kUnbounded;
    fronts.search(whole_, ask, std::min(budget, std::min(best_, asked_)));
    low = budget;
    raise(std::min(budget, std::min(best_, asked_)));
  }
}

// The loss of a given tree above the floor; `fits` turns false where a leaf has too few rows or a
// cut parts nothing.
double OutputRoot::value_of(const Plan& plan, std::size_t at,
                            const std::vector<std::uint32_t>& rows, bool& fits) {
  const PlanNode& node = plan.nodes.at(at);
  if (rows.empty()) fits = false;
  if (!fits) return kUnbounded;
  if (node.feature < 0) {
    fits = sized(rows.size());
    std::vector<double> sums(data_.width, 0.0);
    for (std::uint32_t i : rows)
      for (std::size_t k = 0; k < data_.width; ++k) sums[k] += data_.of(i)[k];
    return lanes_[0]->values().leaf({rows.data(), rows.size(), sums.data()}, kUnbounded);
  }
  std::vector<std::uint32_t> sides[2];
  const std::uint32_t* rank = p_.base.ranks(static_cast<std::size_t>(node.feature));
  for (std::uint32_t i : rows) sides[rank[i] < node.bound ? 0 : 1].push_back(i);
  const double left = value_of(plan, static_cast<std::size_t>(node.left), sides[0], fits);
  return left + value_of(plan, static_cast<std::size_t>(node.right), sides[1], fits);
}

// The plan as a tree, with the outputs and the loss of its leaves.
void OutputRoot::finish(const Plan& plan, RegressionResult& result) {
  const Problem& b = p_.base;
  result.value = 0;
  std::vector<std::vector<std::uint32_t>> rows{std::vector<std::uint32_t>(b.rows)};
  std::iota(rows[0].begin(), rows[0].end(), 0u);
  std::vector<int> from{0};
  std::vector<std::size_t> level{0};
  result.tree.nodes.assign(1, TreeNode{});
  for (std::size_t k = 0; k < from.size(); ++k) {
    const PlanNode& step = plan.nodes[static_cast<std::size_t>(from[k])];
    if (step.feature < 0) continue;
    const std::size_t f = static_cast<std::size_t>(step.feature);
    const std::uint32_t* rank = b.ranks(f);
    std::vector<std::uint32_t> sides[2];
    std::uint32_t low = 0, high = b.distinct[f];
    for (std::uint32_t i : rows[k]) {
      sides[rank[i] < step.bound ? 0 : 1].push_back(i);
      if (rank[i] < step.bound)
        low = std::max(low, rank[i]);
      else
        high = std::min(high, rank[i]);
    }
    const auto& counts =
        level[k] < p_.rules.cuts_at.size() ? p_.rules.cuts_at[level[k]][f] : data_.counts[f];
    std::uint32_t cut = low;
    while (cut + 1 < high && counts[cut + 1] == counts[cut]) ++cut;
    TreeNode& node = result.tree.nodes[k];
    node.feature = step.feature;
    node.cut = cut;
    node.next = high;
    node.left = static_cast<int>(result.tree.nodes.size());
    node.right = node.left + 1;
    from.push_back(step.left);
    from.push_back(step.right);
    rows.push_back(std::move(sides[0]));
    rows.push_back(std::move(sides[1]));
    level.insert(level.end(), 2, level[k] + 1);
    result.tree.nodes.resize(from.size());
  }
  const std::size_t n = data_.targets;
  OutputLeaf leaf(p_, OutputWay::optimal, 0);
  std::vector<double> output(n);
  result.output.assign(from.size() * n, 0.0);
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (result.tree.nodes[k].feature >= 0) continue;
    OutputSums sums;
    leaf.clear(sums);
    for (std::uint32_t i : rows[k]) leaf.add(sums, i);
    result.value += leaf.fill(rows[k], sums, leaf.free(sums), kUnbounded, output) + p_.leaf_price;
    std::copy(output.begin(), output.end(),
              result.output.begin() + static_cast<std::ptrdiff_t>(k * n));
  }
}

void OutputRoot::conclude(bool stopped) {
  const bool any = best_ < kUnbounded;
  if (any && !keeps(plan_)) throw std::logic_error("the tree of the search breaks a rule");
  if (any) finish(plan_, result_);
  if (any && !p_.model.none()) result_.value = goal() ? best_ : best_ + floor_;
  if (goal()) floor_ = 0;
  if (stopped) {
    result_.bound = std::min(bound_ + floor_, any ? result_.value : kUnbounded);
    result_.status = any ? Status::feasible : Status::unknown;
  } else if (!any) {
    result_.bound = o_.upper_bound;
    result_.status = Status::infeasible;
  } else {
    result_.bound = std::min(o_.relative_gap > 0 ? bound_ + floor_ : result_.value, result_.value);
    result_.status =
        result_.value - result_.bound <= 4 * tolerance_ ? Status::optimal : Status::feasible;
    if (result_.status == Status::optimal) result_.bound = result_.value;
  }
}

RegressionResult OutputRoot::run() {
  const Shape whole = shape(p_.base.depth, p_.base.leaves > 0 ? p_.base.leaves : full_leaves(30));
  const bool splits = p_.rules.within(0, std::min(whole.depth, whole.leaves - 1)) &&
                      RuleCheck(p_.base, p_.rules).split(0, data_.used.data(), data_.used.size());
  bool stopped = false;
  try {
    begin();
    const bool both = o_.prove && p_.model.none() && NumberBeside::suits(o_, whole.depth);
    if (!o_.prove || (p_.model.none() && NumberBeside::grows(o_, whole.depth)))
      begin_beside(whole.leaves);
    control_.check();
    if (!o_.prove) {
      improve();
    } else if (!p_.model.none()) {
      by_fronts({splits ? whole : Shape{0, 1}});
    } else if (whole.depth > 1 && whole.leaves > 2 && whole_.rows > 1 && splits) {
      if (both) beside_.start([this] { return improve(); });
      branch({whole});
    } else {
      const OutputAnswer answer =
          lanes_[0]->solve(whole_, {splits ? whole : Shape{0, 1}}, std::min(best_, asked_));
      if (answer.value < best_) offer(answer.value, answer.plan);
      raise(std::min(best_, asked_));
    }
  } catch (const Stop&) {
    stopped = true;
  }
  beside_.finish();
  beside_.rethrow();
  take();
  if (!o_.prove) stopped = true;
  workers_.reset();
  for (const auto& lane : lanes_) result_.counters.add(lane->counters());
  result_.seconds = control_.seconds();
  result_.work = control_.work();
  conclude(stopped);
  return std::move(result_);
}

}  // namespace

RegressionResult finished(const OutputProblem& problem, const Plan& plan) {
  const Options endless;
  Control control(endless);
  return OutputRoot(problem, OutputOptions{}, control).finished(plan);
}

RegressionResult solve_outputs(const OutputProblem& problem, const OutputOptions& options) {
  Options limits;
  limits.time_limit = options.time_limit;
  limits.work_limit = options.work_limit;
  limits.interrupted = options.interrupted;
  Control control(limits);
  check(problem.rules, problem.base);
  check(problem.model, problem);
  return OutputRoot(problem, options, control).run();
}

}  // namespace odt
