// One number by scans over points.
#include "odt/number_root.hpp"
#include "odt/regression_finish.hpp"
#include "odt/regression_search.hpp"

namespace odt {
namespace {

class RegressionRoot : public NumberRoot {
 public:
  RegressionRoot(const NumberProblem& problem, const NumberOptions& options, Control& control)
      : NumberRoot(problem, options, control), data_(problem) {}

 private:
  bool begin() override;
  bool bound(bool soon) override;
  void prove() override;
  bool quick() override;
  std::uint64_t work() override {
    const RegressionScan& scan = lanes_[0]->scan();
    const bool three = goal_.depth == 3 && scan.tells_three(view_);
    return three ? scan.work_of_three(view_) : NumberRoot::work();
  }
  std::unique_ptr<NumberRows> rows() override { return std::make_unique<NumberRows>(data_); }
  Counters counters() const override {
    Counters all;
    for (const auto& lane : lanes_) all.add(lane->counters());
    return all;
  }
  Plan whole(const Plan& plan) override {
    const Options endless;
    Control control(endless);
    return resolved(data_, view_, control, plan);
  }
  void stage(Shape shape, bool last);
  void at_once(Shape shape);
  void tell_by_first(const ThreeLevels& found);
  // What scans take for an upper bound.
  double highest() const { return std::min(upper(), kNever); }

  const RegressionData data_;
  RegressionView view_;  // of the root
  std::vector<std::unique_ptr<RegressionSearch>> lanes_;
};

bool RegressionRoot::begin() {
  offset_ = data_.offset;
  tolerance_ = data_.tolerance;
  bound_ = p_.leaf_price;
  if (data_.points == 0) {
    accept(bound_, Plan::leaf());
    return false;
  }
  view_.make_root(data_);
  for (std::size_t i = 0; i < threads(); ++i)
    lanes_.push_back(std::make_unique<RegressionSearch>(data_, control_, memory() / threads()));
  begin_with();
  return true;
}

// What trees with so many leaves lose by their targets alone.
bool RegressionRoot::bound(bool soon) {
  const std::size_t costs = data_.points * static_cast<std::size_t>(goal_.leaves);
  if (soon ? costs > std::size_t{1} << 15 : !o_.prove && costs > std::size_t{1} << 20) return false;
  raise(lanes_[0]->scan().clusters(view_,
                                   std::min<int>(goal_.leaves, static_cast<int>(data_.points))));
  return true;
}

// Of few cuts a tree of depth two or three is proven about as soon as one is grown; medians of many
// rows take longer.
bool RegressionRoot::quick() {
  const std::size_t pairs = view_.columns.size() * view_.columns.size();
  const bool many = p_.absolute() && view_.points * pairs > std::size_t{1} << 24;
  return (goal_.depth == 3 && lanes_[0]->scan().tells_three(view_)) ||
         (goal_.depth <= 3 && !many && lanes_[0]->scan().tells_sides(view_));
}

// Trees of depth three of few cuts, in one pass.
void RegressionRoot::at_once(Shape shape) {
  ThreeLevels found;
  found.value = highest();
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

void RegressionRoot::tell_by_first(const ThreeLevels& found) {
  const std::vector<std::size_t> first = first_cuts(p_.base);
  result_.by_first.assign(first.back(), -kNever);
  for (std::size_t k = 0; k < found.by_first.size(); ++k) {
    const std::uint32_t bound = view_.bound(data_, k, 1);
    result_.by_first[first[static_cast<std::size_t>(view_.feature(data_, k))] + bound - 1] =
        found.by_first[k] - 8 * data_.tolerance + data_.offset;
  }
}

void RegressionRoot::stage(Shape shape, bool last) {
  lanes_[0]->scan().stump(view_, 0);
  Frontier frontier(data_, view_, lanes_[0]->scan().splits, {shape, 0});
  explore<RegressionSearch::Cut>(
      frontier, last,
      [&](std::size_t k, RegressionSearch::Cut& cut) {
        lanes_[k]->evaluate(view_, 0, frontier, highest(), cut);
      },
      [&](const RegressionSearch::Cut& cut) {
        const RealOutcome made = lanes_[0]->join(view_, cut);
        if (made.exact) offer(made.value, made.plan);
        frontier.part(cut.span, cut.value[0], cut.value[1]);
      });
}

// From small trees to large ones: each stage finds incumbents for the next. The bound is raised to
// the incumbent where the last stage is through: a gap that was asked for and reached is not a
// proof.
void RegressionRoot::prove() {
  const Shape goal = goal_;
  RegressionScan& scan = lanes_[0]->scan();
  if (data_.ends(0, view_.total.n)) offer(scan.leaf(view_), Plan::leaf());
  if (goal.depth == 0 || goal.leaves == 1 || view_.columns.empty() ||
      !data_.splits(0, view_.total.n))
    return raise(upper());
  const bool three = scan.tells_three(view_);
  if (three && goal.depth == 3 && goal.leaves > 2) {  // that tells shallower trees as well
    if (close_enough()) return;
    at_once(goal);
    return raise(upper());
  }
  if (const double stump = scan.stump(view_, 0).value; stump < kNever) offer(stump, Plan::stump());
  if (goal.depth == 1 || goal.leaves == 2) return raise(upper());
  if (close_enough()) return;
  Pick pick;
  pick.value = highest();
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
  if (goal.depth == 2) return raise(upper());
  for (int depth = 3; depth <= goal.depth && !close_enough(); ++depth) {
    const Shape shape = odt::shape(depth, goal.leaves);
    if (three && shape.depth == 3)
      at_once(shape);
    else
      stage(shape, depth == goal.depth);
  }
}

}  // namespace

std::unique_ptr<NumberRoot> make_scan_root(const NumberProblem& problem,
                                           const NumberOptions& options, Control& control) {
  return std::make_unique<RegressionRoot>(problem, options, control);
}

Plan whole_plan(const NumberProblem& problem, const Plan& plan) {
  const RegressionData data(problem);
  RegressionView root;
  if (data.points > 0) root.make_root(data);
  const Options endless;
  Control control(endless);
  return resolved(data, root, control, plan);
}

}  // namespace odt
