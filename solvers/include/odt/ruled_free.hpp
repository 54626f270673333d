// Trees without rules under some multipliers: the problem that bounds all others, its rows, and a
// search for it.
#pragma once

#include <stdexcept>

#include "odt/dataset.hpp"
#include "odt/finish.hpp"
#include "odt/root.hpp"
#include "odt/ruled_weights.hpp"
#include "odt/search.hpp"

namespace odt {

class FreeTrees {
 public:
  // Of trees of at most this depth.
  FreeTrees(const RuledProblem& p, const Multipliers& m, int depth, Control& control)
      : weights(p, m, depth),
        data(weights.free, choose_kernels(control.options().isa), &control),
        search(control) {
    make_root(root);
  }

  void make_root(View& view) const {
    const std::size_t pairs =
        data.features() * data.features() * data.rows() * data.rank_bytes() * 4;
    view.make_root(data, pairs <= (std::size_t{1} << 28), true);
  }

  // A lower bound on the weighted sum of all sub-trees of these rows (of at most `most` leaves, if
  // that is not 0), exact where it is below `upper`.
  Loss bound(View& view, int depth, Loss upper, Loss lower, int most = 0) {
    return bound(search, view, depth, upper, lower, most);
  }
  // The same by another thread's search.
  Loss bound(Search& by, View& view, int depth, Loss upper, Loss lower, int most) const {
    const Loss shift = weights.below_zero(depth);
    const int leaves = most > 0                    ? most
                       : weights.p.base.leaves > 0 ? weights.p.base.leaves
                                                   : full_leaves(30);
    const Loss top = std::max<Loss>(0, round_up(upper - shift, weights.grain));
    const Loss bottom = std::max<Loss>(0, round_down(lower - shift, weights.grain));
    if (bottom >= top) return std::max(lower, upper);
    const Outcome out = by.solve(view, 0, shape(depth, leaves), top, bottom, 1, nullptr, 0);
    return std::max(lower, out.value * weights.grain + shift);
  }

  // The least weighted sum of all trees, as far as the options let it be known, and the best tree
  // found.
  struct Answer {
    Loss bound = 0;
    bool complete = false;
    Tree tree;
    std::uint64_t work = 0;
  };
  Answer solve(const Options& options, Counters& counters) {
    Control control(options);
    Answer answer;
    if (solve_paid(control, counters, answer)) return answer;
    Result found;
    take(prove(data, control, found, {}), data, found, control, counters, answer);
    return answer;
  }
  // A weighted sum, from a value of the free problem.
  Loss sum_of(Loss value) const { return value * grain_ + weights.below_zero(data.problem.depth); }

  Weights weights;
  Dataset data;
  View root;
  Search search;

 private:
  // Where tests cost something, and bit sets can count that: all of the weighted sum, where scans
  // leave it out.
  bool solve_paid(Control& control, Counters& counters, Answer& answer) {
    weights.make_paid();
    if (weights.paid.rows == 0) return false;
    grain_ = weights.paid_grain;
    const Dataset paid(weights.paid, data.kernels, &control);
    Result found;
    if (const auto root_answer = prove_on_bits(paid, control, found, {})) {
      take(*root_answer, paid, found, control, counters, answer);
      return true;
    }
    grain_ = weights.grain;
    return false;
  }
  void take(const RootAnswer& from, const Dataset& of, const Result& found, const Control& control,
            Counters& counters, Answer& answer) {
    answer.complete = from.complete;
    answer.bound = sum_of(from.bound + of.loss.offset);
    answer.work = control.work();
    counters.add(found.counters);
    if (from.plan.empty()) return;
    Finished done = finish(of.problem, of.loss, from.plan);
    if (done.value > from.value + of.loss.offset)
      throw std::logic_error("the free tree's loss differs from the search's claim");
    answer.tree = std::move(done.tree);
  }

  Loss grain_ = weights.grain;
};

}  // namespace odt
