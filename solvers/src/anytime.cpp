#include "odt/anytime.hpp"

#include "odt/anytime_limits.hpp"

namespace odt {

Plan plan_of(const Grown& tree) {
  if (tree.feature < 0) return Plan::leaf();
  return Plan::split(tree.feature, tree.bound, plan_of(*tree.left), plan_of(*tree.right));
}

namespace {

void improve(const Dataset& data, Control& control, Counters& counters, SharedBest& shared,
             Result& result, Loss lower) {
  const Problem& p = data.problem;
  const std::uint64_t seed = control.options().seed;
  const auto told = [&](const Grown::Ptr& tree, Loss value) {
    if (value + data.loss.offset > control.options().upper_bound) return;
    const Plan plan = plan_of(*tree);
    if (!shared.offer(value, plan)) return;
    if (control.turns) control.turns->found(static_cast<double>(value + data.loss.offset));
    control.incumbent(result.timeline, value + data.loss.offset, lower + data.loss.offset, {&plan});
  };
  if (p.leaves == 0 && p.must < 0)
    return Anytime(data, control, counters, seed, told).run(p.depth, lower, &shared);
  Problem priced = p;
  priced.leaves = 0;
  const Dataset own(priced, data.kernels);
  LimitedAnytime(own, priced, p, control, counters, seed, told).run(p.depth, lower, &shared);
}

}  // namespace

void improve_tree(const Dataset& data, Control& control, Counters& counters, SharedBest& shared,
                  Result& result, Loss lower) {
  improve(data, control, counters, shared, result, lower);
}

RootAnswer solve_anytime(const Dataset& data, Control& control, Result& result,
                         const RootAnswer& start) {
  RootAnswer answer = start;
  answer.bound = std::max(answer.bound, data.problem.leaf_price + data.inseparable());
  SharedBest shared;
  if (!start.plan.empty()) shared.offer(start.value, start.plan);
  try {
    improve_tree(data, control, result.counters, shared, result, answer.bound);
  } catch (const Stop&) {
  }
  answer.value = kInfinite;
  shared.take(answer.value, answer.plan);
  answer.complete = answer.value <= answer.bound;
  return answer;
}

}  // namespace odt
