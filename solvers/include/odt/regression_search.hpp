// Branch and bound for regression trees of depth three and more.
#pragma once

#include <memory>
#include <vector>

#include "odt/control.hpp"
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

// The cuts of a node that are still open, as spans between known ones.
class Frontier {
 public:
  struct Span {
    std::uint32_t column, low, high;  // evaluated cuts, exclusive
    std::uint32_t cut;                // the next to evaluate
    int leaves;                       // of the side below the cut
    double bound[2];  // below the low cut, beside the high cut: losses in relaxed states
    double split;     // loss of the cut as a single split
    double least() const { return bound[0] + bound[1]; }
  };

  // `splits`: losses of single splits, as RegressionScan::stump leaves them.
  Frontier(const RegressionData& data, const RegressionView& view,
           const std::vector<double>& splits, RealAsk ask);
  // The span of the least bound if it may hold something better than `limit`.
  bool pop(double limit, Span& span);
  // Losses in relaxed states (or lower bounds) below and beside the cut of `span` are known now.
  void part(const Span& span, double below, double beside);
  double least_bound() const;
  RealAsk side(const Span& span, int k) const;
  std::uint64_t pruned = 0;

 private:
  void push(Span span);
  static bool later(const Span& a, const Span& b);
  const std::vector<double> splits_;
  Shape shape_;
  std::vector<int> state_;          // behind a split on a column
  std::vector<std::size_t> first_;  // of a column in splits_
  std::vector<Span> heap_;
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
