#include "odt/anytime_impl.hpp"

namespace odt {

Plan plan_of(const Grown& tree) {
  if (tree.feature < 0) return Plan::leaf();
  return Plan::split(tree.feature, tree.bound, plan_of(*tree.left), plan_of(*tree.right));
}

namespace {

bool narrow(const Problem& p) { return *std::max_element(p.distinct.begin(), p.distinct.end()) < 65535; }

template <class R>
void improve(const Dataset& data, Control& control, Counters& counters, SharedBest& shared, Result& result, Loss lower, std::uint64_t seed) {
  Anytime<R> search(data, control, counters, seed, [&](const Grown::Ptr& tree) {
    if (shared.offer(tree->value, plan_of(*tree))) control.incumbent(result.timeline, tree->value + data.loss.offset, lower + data.loss.offset);
  });
  search.run(data.problem.depth, lower, &shared);
}

}  // namespace

void improve_tree(const Dataset& data, Control& control, Counters& counters, SharedBest& shared, Result& result, Loss lower) {
  const std::uint64_t seed = control.options().seed;
  if (narrow(data.problem)) improve<std::uint16_t>(data, control, counters, shared, result, lower, seed);
  else improve<std::uint32_t>(data, control, counters, shared, result, lower, seed);
}

RootAnswer solve_anytime(const Dataset& data, Control& control, Result& result, const RootAnswer& start) {
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
