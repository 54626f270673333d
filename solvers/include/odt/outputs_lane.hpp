// Branch and bound for trees of output vectors: one thread's part, with its own cache.
#pragma once

#include <memory>
#include <vector>

#include "odt/number_frontier.hpp"
#include "odt/outputs_depth_two.hpp"
#include "odt/outputs_pairs.hpp"
#include "odt/outputs_stumps.hpp"
#include "odt/plan.hpp"

namespace odt {

// What is asked of a node beside its rows.
struct OutputAsk {
  Shape shape;
  int state = 0;  // of the path above
  std::size_t level = 0;
  OutputAsk below(int leaves, int next) const {
    return {odt::shape(shape.depth - 1, leaves), next, level + 1};
  }
};

inline SubProblem key_of(std::uint64_t set, const OutputAsk& ask) {
  return {set, ask.shape.depth, ask.shape.leaves, ask.state};
}

// Above the floor, prices of leaves included. `value`: of the best tree, if it is below what was
// asked; `lower`: no tree without rules on leaf sizes, and under relaxed rules, has less; `least`:
// no tree under all rules has less.
struct OutputAnswer {
  double value = kUnbounded, lower = 0, least = 0;
  Plan plan;
};

class OutputFrontier : public NumberFrontier<OutputFrontier> {
 public:
  // `by_first`: what trees lose at least that begin with each feature; empty: unknown.
  OutputFrontier(const OutputRows& data, const OutputNode& node, const OutputAsk& ask,
                 const std::vector<double>& by_first = {});
  // Wide spans come first.
  void enter(Span& span) const { span.order = -static_cast<double>(span.high - span.low); }
  bool choose(Span& span) const;
  std::size_t place(const Span& span) const { return places_[span.column][span.cut - 1]; }

 private:
  bool open_at(std::size_t feature, std::size_t place) const;

  const OutputRows& data_;
  const OutputNode& node_;
  std::size_t level_;
  bool strict_;
  std::vector<std::vector<std::uint32_t>> places_;  // per feature: rows left of each cut
};

class OutputLane {
 public:
  OutputLane(const OutputRows& data, Control& control, std::size_t cache_bytes, double tolerance);

  // The best tree that loses less than `upper`.
  OutputAnswer solve(const OutputNode& node, const OutputAsk& ask, double upper);
  // Both sides of a cut of a node: exact where both may lose less than `limit` together.
  void evaluate(const OutputNode& node, const OutputAsk& ask, const OutputFrontier::Span& span,
                std::size_t place, double limit, OutputAnswer sides[2]);
  OutputValues& values() { return values_; }
  OutputPairs& pairs() { return pairs_; }
  Counters counters() const;

 private:
  struct Entry {
    double value = kUnbounded, lower = 0, least = 0;
    Plan plan;
    RowPath path;
  };
  struct Level {
    OutputNode left, right;
  };
  bool sized(std::size_t rows) const { return rows >= leaf_rows_; }
  double leaf(const OutputNode& node) {
    return values_.leaf({node.of(0), node.rows, node.sums.data()}, kUnbounded);
  }
  OutputAnswer leaf_of(const OutputPart& part, int state, double single, double upper);
  bool of_scans(const OutputNode& node, const OutputAsk& ask, double single, double upper,
                OutputAnswer& answer);
  OutputAnswer of_pairs(const OutputNode& node, const OutputAsk& ask, double upper);
  OutputAnswer ruled(const OutputNode& node, const OutputAsk& ask, double single, double upper);
  OutputAnswer stump(const OutputNode& node, const OutputAsk& ask, double single, double upper);
  void stumps(const OutputNode& node, const OutputAsk& ask, const OutputFrontier::Span& span,
              std::size_t place, const double most[2], double limit, OutputAnswer sides[2]);
  void deeper(const OutputNode& node, const OutputAsk& ask, const OutputFrontier::Span& span,
              std::size_t place, const double most[2], double limit, OutputAnswer sides[2]);
  void branch(const OutputNode& node, const OutputAsk& ask, double upper, OutputAnswer& answer);
  Entry* entry(const OutputNode& node, const OutputAsk& ask);
  bool recall(const OutputNode& node, const OutputAsk& ask, double upper, OutputAnswer& answer);
  void remember(const OutputNode& node, const OutputAsk& ask, const OutputAnswer& answer);

  const OutputRows& data_;
  const NumberRules& rules_;
  RuleCheck check_;
  Control& control_;
  std::size_t leaf_rows_, room_, cached_ = 0;
  double tolerance_;
  Counters counters_;
  OutputValues values_;
  OutputStumps stumps_;
  OutputPairs pairs_;
  OutputDepthTwo depth_two_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<char> side_;
  std::vector<double> sums_[2];
  RowCache<SubProblem, Entry> cache_;
};

// `sides` as a tree, if it loses less than `limit`: then its value, else infinity.
double joined(const OutputRows& data, const OutputNode& node, const OutputFrontier::Span& span,
              std::size_t place, double limit, const OutputAnswer sides[2], Plan& plan);

}  // namespace odt
