// Branch and bound for regression trees of depth three and more.
#pragma once

#include <memory>
#include <vector>

#include "odt/control.hpp"
#include "odt/number_frontier.hpp"
#include "odt/plan.hpp"
#include "odt/regression_scan.hpp"
#include "odt/regression_view.hpp"

namespace odt {

// An answer to a sub-problem under an upper bound: exact, or a lower bound.
struct RealOutcome {
  double value = kNever;
  bool exact = false;
  Plan plan;
};

// What a sub-tree may be: its shape, and the state of the path above it.
struct RealAsk {
  Shape shape;
  int state = 0;
};

class RegressionCache {
 public:
  RegressionCache(const RegressionData& data, std::size_t limit) : data_(data), limit_(limit) {}
  const RealOutcome* find(const RegressionView& view, RealAsk ask);
  void store(const RegressionView& view, RealAsk ask, const RealOutcome& outcome);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry : RealOutcome {
    RowPath path;
  };
  Entry* entry(const RegressionView& view, const SubProblem& key);
  const RegressionData& data_;
  std::size_t limit_, bytes_ = 0;
  RowCache<SubProblem, Entry> entries_;
};

class Frontier : public NumberFrontier<Frontier> {
 public:
  // `splits`: losses of single splits, as RegressionScan::stump leaves them.
  Frontier(const RegressionData& data, const RegressionView& view,
           const std::vector<double>& splits, RealAsk ask);
  void enter(Span& span) const {
    span.cut = (span.low + span.high) / 2;
    span.order = splits_[first_[span.column] + span.cut - 1];
  }
  bool choose(const Span&) const { return true; }
  RealAsk side(const Span& span, int k) const;

 private:
  const std::vector<double> splits_;
  Shape shape_;
  std::vector<int> state_;          // behind a split on a column
  std::vector<std::size_t> first_;  // of a column in splits_
};

class RegressionSearch {
 public:
  RegressionSearch(const RegressionData& data, Control& control, std::size_t cache_bytes);

  // A cut and what is known of its two sides: losses in relaxed states or bounds on them, and
  // outcomes.
  struct Cut {
    Frontier::Span span;
    double value[2];
    RealOutcome side[2];
  };

  // Best tree that is asked for if better than `upper`; `lower` is a known bound. The view has its
  // columns.
  RealOutcome search(const RegressionView& view, int level, RealAsk ask, double upper,
                     double lower);
  // Solves both sides of a cut as far as they can still beat `upper`.
  void evaluate(const RegressionView& view, int level, const Frontier& frontier, double upper,
                Cut& cut);
  // The tree that a cut makes, if both sides are known.
  RealOutcome join(const RegressionView& view, const Cut& cut) const;
  Plan plan_of(const RegressionView& view, const Pick& pick) const;
  Plan plan_of(const RegressionView& view, const ThreeLevels& found) const;
  RegressionScan& scan() { return *scan_; }
  Counters counters() const;

 private:
  RealOutcome solve(RegressionView& view, const RegressionView& parent, int level, RealAsk ask,
                    double upper, double lower);
  RealOutcome solve_side(const RegressionView& side, const RegressionView& view,
                         const Frontier::Span& span, int k, RealAsk ask, double lower);
  RealOutcome branch(const RegressionView& view, int level, RealAsk ask, RealOutcome best,
                     double lower);
  double bound(const RegressionView& view, RealAsk ask, double lower, double enough,
               double hopeless);
  bool solve_sides(const RegressionView& view, int level, const Frontier& frontier, double upper,
                   bool relaxed, double (&value)[2], Cut& cut);
  bool ends(const RegressionView& view, int state) const { return data_.ends(state, view.total.n); }
  using Views = RegressionView[2];
  struct Pair {
    Views views;
  };
  Views& views_at(int level);

  const RegressionData& data_;
  Control& control_;
  double tolerance_;
  std::unique_ptr<RegressionScan> scan_;
  RegressionCache cache_;
  std::vector<std::unique_ptr<Pair>> views_;
  Counters counters_;
};

std::unique_ptr<RegressionScan> make_scan(const RegressionData& data, Control& control);

}  // namespace odt
