// Trees of output vectors, or of one number under rules that scans do not know.
//
// What every row loses to its own best feasible output, every tree loses: its floor. What sets of
// rows lose above their floors grows with the set, for leaves and for trees of a shape, so the
// losses at two cuts of a feature bound those of all cuts between them. Rules on the size of leaves
// break that; the bounds are of trees without them.
#include <cmath>
#include <stdexcept>

#include "odt/number_root.hpp"
#include "odt/outputs_fronts.hpp"
#include "odt/outputs_lane.hpp"

namespace odt {
namespace {

// Losses are above the floor. Where the model has a goal, values are of that.
class OutputRoot : public NumberRoot {
 public:
  OutputRoot(const NumberProblem& p, const NumberOptions& o, Control& control)
      : NumberRoot(p, o, control), data_(p), parts_(p) {}

 private:
  bool begin() override;
  void prove() override;
  std::unique_ptr<NumberRows> rows() override;
  Counters counters() const override {
    Counters all;
    for (const auto& lane : lanes_) all.add(lane->counters());
    return all;
  }
  bool grows() const override { return p_.model.none() && NumberRoot::grows(); }
  bool keeps(const Plan& plan, double& price) override;
  Plan whole(const Plan& plan) override;
  void consider(const Plan& plan, double loss) override;
  // Whether a plan keeps all rules; then what it adds to the loss, and the goal.
  bool measure(const Plan& plan, double& price, double& aimed);
  void branch(const OutputAsk& ask);
  void by_fronts(const OutputAsk& ask);
  void by_budgets(OutputFronts& fronts, const OutputAsk& ask);
  bool goal() const { return !p_.model.goal.empty(); }
  double as_leaf() {
    return lanes_[0]->values().leaf({root_.of(0), root_.rows, root_.sums.data()}, kUnbounded);
  }

  struct Cut {
    OutputFrontier::Span span;
    OutputAnswer sides[2];
  };

  const OutputRows data_;
  NumberParts parts_;
  OutputNode root_;
  std::vector<std::unique_ptr<OutputLane>> lanes_;
  double asked_ = kUnbounded;  // only trees that lose less
  std::unique_ptr<OutputValues> values_;
  std::unique_ptr<OutputGains> gains_;
};

bool OutputRoot::begin() {
  root_.make_root(data_);
  offset_ = root_.sums[kFloor];
  bound_ = goal() ? -kUnbounded  // leaves may be rewarded
                  : p_.model.least_price(std::min(goal_.leaves, static_cast<int>(root_.rows)));
  const double loss = OutputValues(data_).loss({root_.of(0), root_.rows, root_.sums.data()});
  tolerance_ = 1e-11 * (loss + std::fabs(offset_)) + 1e-290;
  for (std::size_t k = 0; k < threads(); ++k)
    lanes_.push_back(
        std::make_unique<OutputLane>(data_, control_, memory() / threads(), tolerance_));
  begin_with();
  if (root_.rows >= data_.leaf_rows) consider(Plan::leaf(), as_leaf());
  asked_ = std::min(asked_, most_);
  if (goal()) {  // of which nothing is known
    most_ = kUnbounded;
    offset_ = 0;
  }
  return true;
}

// A tree that is given, as the best one.
void OutputRoot::consider(const Plan& plan, double loss) {
  asked_ = std::min(asked_, most_);
  double price, aimed;
  if (!(loss < kUnbounded) || !measure(plan, price, aimed) || !(loss + price < asked_)) return;
  if (!goal()) return offer(loss + price, plan);
  if (!(aimed < value_)) return;
  value_ = aimed;
  plan_ = plan;
}

bool OutputRoot::measure(const Plan& plan, double& price, double& aimed) {
  price = aimed = 0;
  if (!RuleCheck(p_.base, p_.rules).keeps(plan, 0, 0, data_.used)) return false;
  if (p_.model.none()) return true;
  std::vector<double> values;
  const std::uint64_t facts = parts_.measure(plan, data_.used, values);
  price = NumberModel::sum(p_.model.prices, facts, values.data());
  aimed = NumberModel::sum(p_.model.goal, facts, values.data());
  return p_.model.holds(facts, values.data());
}

bool OutputRoot::keeps(const Plan& plan, double& price) {
  double aimed;
  price = 0;
  return p_.model.none() || (!goal() && measure(plan, price, aimed));
}

Plan OutputRoot::whole(const Plan& plan) {
  double price, aimed;
  if (!measure(plan, price, aimed)) throw std::logic_error("the tree of the search breaks a rule");
  return plan;
}

std::unique_ptr<NumberRows> OutputRoot::rows() {
  values_ = std::make_unique<OutputValues>(data_);
  gains_ = std::make_unique<OutputGains>(data_);
  return std::make_unique<NumberRows>(data_, *values_, *gains_);
}

void OutputRoot::branch(const OutputAsk& ask) {
  OutputFrontier frontier(data_, root_, ask);
  explore<Cut>(
      frontier, true,
      [&](std::size_t k, Cut& cut) {
        lanes_[k]->evaluate(root_, ask, cut.span, frontier.place(cut.span), limit(), cut.sides);
      },
      [&](const Cut& cut) {
        Plan plan;
        const double value =
            joined(data_, root_, cut.span, frontier.place(cut.span), limit(), cut.sides, plan);
        if (value < kUnbounded) accept(value, plan);
        frontier.part(cut.span, cut.sides[0].lower, cut.sides[1].lower);
      });
}

// Under rules on the whole tree.
void OutputRoot::by_fronts(const OutputAsk& ask) {
  std::vector<double> by_first = o_.by_first;
  for (double& least : by_first) least -= root_.sums[kFloor] + 8 * tolerance_;
  OutputFronts fronts(data_, *lanes_[0], control_, memory(), tolerance_, by_first,
                      [this](double value, const Plan& plan) {
                        if (!goal()) return accept(value, plan);
                        value_ = value;
                        plan_ = plan;
                      });
  fronts.best = value_;
  if (!goal()) return by_budgets(fronts, ask);
  fronts.search(root_, ask, asked_);
  bound_ = value_;
}

// What trees without these rules lose is known first; budgets then grow from there. Where all trees
// are told at once, there is one budget.
void OutputRoot::by_budgets(OutputFronts& fronts, const OutputAsk& ask) {
  if (fronts.at_once(ask)) {
    fronts.search(root_, ask, upper());
    return raise(upper());
  }
  constexpr int kRounds = 12;
  const double most = limit(), rest = p_.model.least_price(ask.shape.leaves);
  const OutputAnswer free = lanes_[0]->solve(root_, ask, most - rest);
  if (free.value < kUnbounded) {
    consider(free.plan, free.value);
    fronts.best = value_;
  }
  double low = std::min(free.least + rest, most);
  raise(low);
  double step = std::max((as_leaf() - low) / 32, 4 * tolerance_);
  for (int round = 0; low < limit(); ++round, step *= 2) {
    if (o_.relative_gap > 0 && low >= value_ - o_.relative_gap * std::max(0.0, value_ + offset_))
      break;
    const double budget = round < kRounds ? low + step : kUnbounded;
    fronts.search(root_, ask, std::min(budget, upper()));
    low = budget;
    raise(std::min(budget, upper()));
  }
}

void OutputRoot::prove() {
  const bool splits = p_.rules.within(0, std::min(goal_.depth, goal_.leaves - 1)) &&
                      RuleCheck(p_.base, p_.rules).split(0, data_.used.data(), data_.used.size());
  const OutputAsk ask{splits ? goal_ : Shape{0, 1}};
  if (!p_.model.none()) return by_fronts(ask);
  if (ask.shape.depth > 1 && ask.shape.leaves > 2 && root_.rows > 1) return branch(ask);
  const OutputAnswer answer = lanes_[0]->solve(root_, ask, upper());
  if (answer.value < upper()) accept(answer.value, answer.plan);
  raise(upper());
}

}  // namespace

std::unique_ptr<NumberRoot> make_vector_root(const NumberProblem& problem,
                                             const NumberOptions& options, Control& control) {
  return std::make_unique<OutputRoot>(problem, options, control);
}

}  // namespace odt
