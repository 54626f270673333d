#include "odt/regression.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "odt/numbers_anytime.hpp"
#include "odt/numbers_beside.hpp"
#include "odt/regression_finish.hpp"
#include "odt/regression_search.hpp"
#include "odt/workers.hpp"

namespace odt {
namespace {

// The root: incumbents, the bound that is shown, threads, limits.
class RegressionRoot {
 public:
  RegressionRoot(const RegressionData& data, Control& control, const RegressionOptions& options)
      : data_(data),
        problem_(data.problem),
        control_(control),
        options_(options),
        story_(control, options, result_.timeline),
        beside_(control, options, data.problem.base.depth, data.problem.absolute()) {}
  RegressionResult run();

 private:
  void start();
  void first_bound(Shape goal);
  void search(Shape goal);
  void stage(Shape shape, bool last);
  void at_once(Shape shape);
  void tell_by_first(const ThreeLevels& found);
  void evaluate_round(const Frontier& frontier);
  void offer(double value, const Plan& plan);
  void raise(double bound);
  bool close_enough() const;
  // Whether the bound takes little beside growth, or beside a search.
  bool bounded_at_once(Shape goal) const { return costs(goal) <= std::size_t{1} << 15; }
  bool soon_bounded(Shape goal) const { return costs(goal) <= std::size_t{1} << 20; }
  std::size_t costs(Shape goal) const {
    return data_.points * static_cast<std::size_t>(goal.leaves);
  }
  void begin_beside(int leaves);
  bool improve() { return finder_->run(problem_.leaf_price + data_.tolerance, &beside_.shared); }
  void take();
  // The search looks for what is better than this.
  double limit() const { return std::min(value_, highest_); }

  const RegressionData& data_;
  const RegressionProblem& problem_;
  Control& control_;
  const RegressionOptions& options_;
  RegressionView view_;  // of the root
  RegressionResult result_;
  std::vector<std::unique_ptr<RegressionSearch>> lanes_;
  std::unique_ptr<Workers> workers_;
  std::vector<RegressionSearch::Cut> round_;
  Plan plan_;
  double value_ = kNever, bound_ = 0, highest_ = kNever;  // without the offset
  RealStory story_;
  std::unique_ptr<NumberRows> rows_;
  std::unique_ptr<NumberAnytime> finder_;
  NumberBeside beside_;  // last: it ends before what it uses
};

void RegressionRoot::offer(double value, const Plan& plan) {
  if (value >= limit() - data_.tolerance) return;
  value_ = value;
  plan_ = plan;
  beside_.shared.offer(value, plan);
  story_.better(value_ + data_.offset, plan_);
}

void RegressionRoot::raise(double bound) {
  if (bound <= bound_) return;
  bound_ = bound;
  story_.higher(bound_ + data_.offset);
}

// What the search beside has found.
void RegressionRoot::take() {
  double value = limit() - data_.tolerance;
  if (beside_.shared.take(value, plan_)) value_ = value;
}

// Good trees beside the proof, which takes them as incumbents.
void RegressionRoot::begin_beside(int leaves) {
  rows_ = std::make_unique<NumberRows>(data_);
  finder_ = std::make_unique<NumberAnytime>(*rows_, control_, problem_.base.depth, leaves,
                                            options_.seed, [this](double value, const Plan& plan) {
                                              if (beside_.shared.offer(value, plan))
                                                story_.better(value + data_.offset, plan);
                                            });
  control_.grow_first(options_.start.empty());
  finder_->begin();
  control_.grow_first(false);
}

bool RegressionRoot::close_enough() const {
  if (plan_.empty()) return bound_ >= limit() - data_.tolerance;
  const double gap = value_ - bound_;
  return gap <= std::max(data_.tolerance, options_.absolute_gap) ||
         gap <= options_.relative_gap * std::fabs(value_ + data_.offset);
}

void RegressionRoot::start() {
  const std::size_t threads = static_cast<std::size_t>(std::max(1, options_.threads));
  const std::size_t memory = options_.memory_limit ? options_.memory_limit : std::size_t{1} << 29;
  for (std::size_t i = 0; i < threads; ++i)
    lanes_.push_back(std::make_unique<RegressionSearch>(data_, control_, memory / threads));
  if (threads > 1) workers_ = std::make_unique<Workers>(static_cast<int>(threads));
  bound_ = problem_.leaf_price;
  story_.higher(bound_ + data_.offset);
  if (std::isfinite(options_.upper_bound)) {
    const double slack = 2 * data_.tolerance + 1e-12 * std::fabs(options_.upper_bound);
    highest_ = options_.upper_bound - data_.offset + slack;
  }
  if (options_.start.empty()) return;
  const Plan plan = plan_of_tree(problem_, options_.start);
  offer(finish(data_, view_, control_, plan).value - data_.offset, plan);
}

// What trees with so many leaves lose by their targets alone.
void RegressionRoot::first_bound(Shape goal) {
  raise(lanes_[0]->scan().clusters(view_,
                                   std::min<int>(goal.leaves, static_cast<int>(data_.points))));
}

// Every lane searches on its own, with its own cache: the answer does not depend on who is faster.
void RegressionRoot::evaluate_round(const Frontier& frontier) {
  const double upper = limit();
  const auto work = [&](int, std::size_t i) {
    lanes_[i]->evaluate(view_, 0, frontier, upper, round_[i]);
  };
  if (workers_ && round_.size() > 1) {
    workers_->run(round_.size(), work);
  } else {
    for (std::size_t i = 0; i < round_.size(); ++i) work(0, i);
  }
}

// Trees of depth three of few cuts, in one pass.
void RegressionRoot::at_once(Shape shape) {
  ThreeLevels found;
  found.value = limit();
  const auto tell = [&] {
    if (found.column >= 0) offer(found.value, lanes_[0]->plan_of(view_, found));
  };
  try {
    lanes_[0]->scan().depth_three(view_, shape.leaves, 0, found);
  } catch (const Stop&) {
    tell();
    throw;
  }
  tell();
  tell_by_first(found);
}

// Of features all of whose cuts part the points.
void RegressionRoot::tell_by_first(const ThreeLevels& found) {
  std::vector<std::size_t> cuts(problem_.base.features, 0);
  for (std::size_t c = 0; c < data_.bound.size(); ++c)
    for (std::uint32_t bound : data_.bound[c])
      cuts[data_.feature[c]] += bound < problem_.base.distinct[data_.feature[c]];
  result_.by_first.assign(problem_.base.features, kNever);
  for (std::size_t k = 0; k < found.by_first.size(); ++k) {
    const std::size_t f = static_cast<std::size_t>(view_.feature(data_, k));
    double& least = result_.by_first[f];
    least = std::min(least, found.by_first[k] - 8 * data_.tolerance + data_.offset);
    --cuts[f];
  }
  for (std::size_t f = 0; f < cuts.size(); ++f)
    if (cuts[f] > 0) result_.by_first[f] = -kNever;
}

void RegressionRoot::stage(Shape shape, bool last) {
  lanes_[0]->scan().stump(view_, 0);
  Frontier frontier(data_, view_, lanes_[0]->scan().splits, {shape, 0});
  while (take(), !close_enough()) {
    round_.clear();
    RegressionSearch::Cut cut;
    while (round_.size() < lanes_.size() && frontier.pop(limit() - data_.tolerance, cut.span))
      round_.push_back(cut);
    if (round_.empty()) {
      if (last) raise(limit());
      return;
    }
    evaluate_round(frontier);
    for (const RegressionSearch::Cut& done : round_) {
      const RealOutcome made = lanes_[0]->join(view_, done);
      if (made.exact) offer(made.value, made.plan);
      frontier.part(done.span, done.value[0], done.value[1]);
    }
    if (last) raise(std::min(limit(), frontier.least_bound()));
    control_.check();
  }
}

// From small trees to large ones: each stage finds incumbents for the next. The bound is raised to
// the incumbent where the last stage is through: a gap that was asked for and reached is not a
// proof.
void RegressionRoot::search(Shape goal) {
  RegressionScan& scan = lanes_[0]->scan();
  if (data_.ends(0, view_.total.n)) offer(scan.leaf(view_), Plan::leaf());
  if (goal.depth == 0 || goal.leaves == 1 || view_.columns.empty() ||
      !data_.splits(0, view_.total.n))
    return raise(limit());
  const bool three = scan.tells_three(view_);
  if (three && goal.depth == 3 && goal.leaves > 2) {  // that tells shallower trees as well
    if (close_enough()) return;
    at_once(goal);
    return raise(limit());
  }
  offer(scan.stump(view_, 0).value, Plan::stump());
  if (goal.depth == 1 || goal.leaves == 2) return raise(limit());
  if (close_enough()) return;
  Pick pick;
  pick.value = limit();
  const auto found = [&] {
    if (pick.column >= 0) offer(pick.value, lanes_[0]->plan_of(view_, pick));
  };
  try {
    scan.depth_two(view_, std::min(goal.leaves, 4), 0, pick);
  } catch (const Stop&) {
    found();
    throw;
  }
  found();
  if (goal.depth == 2) return raise(limit());
  for (int depth = 3; depth <= goal.depth && !close_enough(); ++depth) {
    const Shape shape = odt::shape(depth, goal.leaves);
    if (three && shape.depth == 3)
      at_once(shape);
    else
      stage(shape, depth == goal.depth);
  }
}

RegressionResult RegressionRoot::run() {
  const Shape goal =
      shape(problem_.base.depth, problem_.base.leaves > 0 ? problem_.base.leaves : full_leaves(30));
  bool complete = true;
  try {
    if (data_.points == 0) {
      value_ = bound_ = problem_.leaf_price;
      plan_ = Plan::leaf();
    } else {
      view_.make_root(data_);
      start();
      const bool both = options_.prove && NumberBeside::suits(options_, goal.depth);
      // Of few cuts a tree of depth two or three is proven about as soon as one is grown; medians
      // of many rows take longer.
      const auto quick = [&] {
        const std::size_t pairs = view_.columns.size() * view_.columns.size();
        const bool many = problem_.absolute() && view_.points * pairs > std::size_t{1} << 24;
        return (goal.depth == 3 && lanes_[0]->scan().tells_three(view_)) ||
               (goal.depth <= 3 && !many && lanes_[0]->scan().tells_sides(view_));
      };
      if (!options_.prove || (NumberBeside::grows(options_, goal.depth) && !quick()))
        begin_beside(goal.leaves);
      const bool bounded = bounded_at_once(goal);
      if (bounded) first_bound(goal);
      if (finder_) finder_->look_ahead();
      if (both)
        beside_.start([this, goal] {
          if (!finder_) begin_beside(goal.leaves);
          return improve();
        });
      if (!bounded && (options_.prove || soon_bounded(goal))) first_bound(goal);
      if (options_.prove)
        search(goal);
      else
        improve();
    }
  } catch (const Stop&) {
    complete = false;
  }
  beside_.finish();
  beside_.rethrow();
  take();
  complete = complete || close_enough();
  workers_.reset();
  for (const auto& lane : lanes_) result_.counters.add(lane->counters());
  bound_ = std::min(bound_, limit());
  result_.bound = bound_ + data_.offset;
  if (plan_.empty()) {
    result_.status = complete ? Status::infeasible : Status::unknown;
  } else {
    const Options endless;
    Control control(endless);
    FinishedRegression done = finish(data_, view_, control, plan_);
    const double claimed = value_ + data_.offset;  // weights may have been rounded, for both
    if (done.value > claimed + 16 * data_.tolerance + 1e-9 * std::fabs(claimed))
      throw std::logic_error("the tree's loss differs from the search's claim");
    result_.value = done.value;
    result_.tree = std::move(done.tree);
    result_.output = std::move(done.output);
    const bool proven = value_ - bound_ <= data_.tolerance;
    result_.status = proven ? Status::optimal : Status::feasible;
    result_.bound = proven ? result_.value : std::min(result_.bound, result_.value);
  }
  result_.seconds = control_.seconds();
  result_.work = control_.work();
  return std::move(result_);
}

void check(const RegressionProblem& p) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  demand(p.base.rows > 0 && p.base.features > 0, "no rows or no features");
  demand(p.base.rows < (1u << 30), "too many rows");
  demand(p.base.depth >= 0 && p.base.depth <= 30, "depth must be between 0 and 30");
  demand(p.leaf_price >= 0 && std::isfinite(p.leaf_price),
         "the price per leaf must not be negative");
  for (double y : p.target) {
    demand(std::isfinite(y), "a target is not finite");
    demand(std::fabs(y) <= 1e100, "a target is too large");
    demand(y >= 0 || !p.poisson(), "a count is negative");
  }
  for (double w : p.weight)
    demand(w >= 0 && w <= 1e60, "a weight is negative, not finite or too large");
  for (std::size_t f = 0; f < p.base.features; ++f)
    for (std::size_t i = 0; i < p.base.rows; ++i)
      demand(p.base.ranks(f)[i] < p.base.distinct[f], "a rank is out of range");
  check(p.rules, p.base);
  demand(!p.sized() || p.rules.any_strict(), "sizes are asked for in states that relax to others");
  demand(!p.rules.asks_cuts(), "this search takes no rules on single cuts");
  demand(p.rules.sums <= 1, "this search counts one sum");
  demand(p.rules.value.empty() || p.leaf_rows <= 1 ||
             std::count(p.rules.value.begin(), p.rules.value.end(), p.rules.value[0]) ==
                 static_cast<std::ptrdiff_t>(p.rules.value.size()),
         "sizes of leaves in rows and another sum");
  demand(!p.rules.leaf_conditions.empty() ||
             std::find(p.rules.value.begin(), p.rules.value.end(), 0) == p.rules.value.end(),
         "a row that no rule on leaves counts");
  for (Loss value : p.rules.value) demand(value <= 0, "what is counted is not below zero");
  for (const auto* conditions : {&p.rules.leaf_conditions, &p.rules.split_conditions})
    for (const RowConditions& one : *conditions)
      demand(one.size() == 1, "this search takes sizes alone");
}

}  // namespace

RegressionResult finished(const RegressionProblem& problem, const Plan& plan) {
  check(problem);
  const RegressionData data(problem);
  const Options endless;
  Control control(endless);
  RegressionView root;
  if (data.points > 0) root.make_root(data);
  FinishedRegression done = finish(data, root, control, data.points > 0 ? plan : Plan::leaf());
  RegressionResult result;
  result.status = Status::feasible;
  result.value = done.value;
  result.tree = std::move(done.tree);
  result.output = std::move(done.output);
  return result;
}

RegressionResult solve_regression(const RegressionProblem& problem,
                                  const RegressionOptions& options) {
  check(problem);
  Options limits;
  limits.time_limit = options.time_limit;
  limits.work_limit = options.work_limit;
  limits.interrupted = options.interrupted;
  Control control(limits);
  const RegressionData data(problem);
  return RegressionRoot(data, control, options).run();
}

}  // namespace odt
