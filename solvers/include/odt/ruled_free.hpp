// Trees without rules under some multipliers: the problem that bounds all others, its rows, and a search for it.
#pragma once

#include "odt/dataset.hpp"
#include "odt/finish.hpp"
#include "odt/ruled_weights.hpp"
#include "odt/search.hpp"

namespace odt {

template <class R>
class FreeTrees {
 public:
  FreeTrees(const RuledProblem& p, const Multipliers& m, Control& control)
      : weights(p, m), data(weights.free, choose_kernels(control.options().isa)), search(control) {
    const std::size_t pairs = data.features() * data.features() * data.rows() * sizeof(R) * 4;
    root.make_root(data, pairs <= (std::size_t{1} << 28), true);
  }

  // A lower bound on the weighted sum of all sub-trees of these rows, exact where it is below `upper`.
  Loss bound(View<R>& view, int depth, Loss upper, Loss lower, Plan* plan = nullptr) {
    const Loss shift = weights.below_zero(depth);
    const int leaves = weights.p.base.leaves > 0 ? weights.p.base.leaves : full_leaves(30);
    const Loss top = std::max<Loss>(0, round_up(upper - shift, weights.grain));
    const Loss bottom = std::max<Loss>(0, round_down(lower - shift, weights.grain));
    if (bottom >= top) return std::max(lower, upper);
    const Outcome out = search.solve(view, 0, shape(depth, leaves), top, bottom, 1, nullptr, 0);
    if (plan) *plan = out.plan;
    return std::max(lower, out.value * weights.grain + shift);
  }

  // The least of all trees of a depth, and one that has it.
  Loss least(int depth, Tree& tree) {
    Plan plan;
    const Loss found = bound(root, depth, weights.most + 1, weights.below_zero(depth), &plan);
    if (!plan.empty()) tree = finish(weights.free, data.loss, plan).tree;
    return found;
  }

  Weights weights;
  Dataset data;
  View<R> root;
  Search<R> search;
};

}  // namespace odt
