// Good trees early under rules: the anytime search on losses weighted by multipliers, which knows
// the rules on paths, levels, leaves and prices, and judges whole trees by all rules and the
// objective.
#pragma once

#include <cmath>

#include "odt/anytime.hpp"
#include "odt/ruled_best.hpp"
#include "odt/ruled_judge.hpp"
#include "odt/ruled_prices.hpp"
#include "odt/ruled_weights.hpp"

namespace odt {

// The problem of some multipliers, as the anytime search reads it.
struct RuledLane {
  RuledLane(const RuledProblem& p, const Multipliers& m);

  Weights weights;
  Problem problem;
  bool local = false;      // leaves, levels or prices ask for scans that know the rules
  bool priced = false;     // splits cost something
  std::vector<int> asked;  // columns that some split must test
};

class RuledAnytime : public Anytime {
 public:
  RuledAnytime(RuledLane& lane, const Dataset& data, Judge& judge, Control& control,
               Counters& counters, std::uint64_t seed, Anytime::Told told)
      : Anytime(data, control, counters, seed, std::move(told)),
        p_(lane.weights.p),
        lane_(lane),
        judge_(judge) {
    set_broken();
  }

  // What the best tree is, as the judge has it.
  const Judge::Verdict& verdict() const { return verdict_; }
  // The least tree by the weighted losses alone, under its own labels.
  const Measured& lightest() const { return lightest_; }
  void give(const Grown::Ptr& tree) { offer(tree); }
  Grown::Ptr of(const Plan& plan) { return measure(*views_[0], top_, plan, 0); }

 protected:
  Grown::Ptr leaf(View& view, const Place& at) override;
  Grown::Ptr stump(View& view, const Place& at, bool must = false) override;
  Grown::Ptr scan_bottom(View& view, const Place& at, Loss upper, std::size_t most,
                         bool& complete) override;
  bool open(const Place& at, std::size_t f) const override;
  bool may_cut(const Place& at, std::size_t f, std::uint32_t low,
               std::uint32_t high) const override;
  bool plain() const override { return false; }
  Loss split_price(View& view, const Place& at, std::size_t f) const override;
  void offer(const Grown::Ptr& tree) override;
  Loss limit() const override { return kInfinite; }

 private:
  void set_broken();
  Grown::Ptr with_asked(const Grown::Ptr& tree);
  // The best label that rules on leaves leave open, and its value; else a value that no tree
  // without a broken leaf has.
  Loss best_label(const Loss* losses, const Loss* sums, int state, int& label) const;
  void add_sums(std::uint32_t row, Loss* sums) const;
  Loss price_of(const Loss* sums, int state, std::size_t f) const;

  const RuledProblem& p_;
  RuledLane& lane_;
  Judge& judge_;
  Judge::Verdict verdict_;
  Measured lightest_;
  Loss lightest_value_ = kInfinite;
  Loss broken_ = 0;
};

// Improves the best tree until a limit is met (Stop), or it is as good as is possible.
void improve_ruled(const RuledProblem& p, const Tree& start, Control& control, Counters& counters,
                   RuledBest& best);

}  // namespace odt
