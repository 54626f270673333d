#include "odt/outputs_depth_two.hpp"

#include <algorithm>

namespace odt {
namespace {

// Without what only states ask that are not relaxed: these are not told here.
NumberProblem problem_of(const NumberProblem& p) {
  NumberProblem made = p;
  made.model = NumberModel{};
  made.leaf_price = p.leaf_price / p.factor[0];
  for (auto* asked : {&made.rules.leaf_rules, &made.rules.split_rules})
    for (auto& of_state : *asked) of_state.clear();
  made.rules.leaf_conditions.clear();
  made.rules.split_conditions.clear();
  made.rules.cuts_at.clear();
  made.rules.missing_low.clear();
  made.rules.missing_high.clear();
  made.rules.sums = 0;
  made.rules.value.clear();
  return made;
}

}  // namespace

struct OutputDepthTwo::Scans {
  NumberProblem problem;
  RegressionData data;
  RegressionSearch search;
  RegressionView whole, part;
  std::vector<char> inside;  // per row

  Scans(const NumberProblem& p, Control& control)
      : problem(problem_of(p)), data(problem), search(data, control, 0), inside(p.base.rows, 0) {
    whole.make_root(data);
  }
  void enter(const OutputNode& node);
};

// A point's rows are alike: one of them stands for all.
void OutputDepthTwo::Scans::enter(const OutputNode& node) {
  for (std::size_t i = 0; i < node.rows; ++i) inside[node.of(0)[i]] = 1;
  part.source = &whole;
  part.by_target.clear();
  part.total = Moments{};
  part.renew();
  for (std::uint32_t k : whole.by_target) {
    if (!inside[data.row[k]]) continue;
    part.by_target.push_back(k);
    part.total.add(whole.point[k]);
  }
  for (std::size_t i = 0; i < node.rows; ++i) inside[node.of(0)[i]] = 0;
  part.points = part.by_target.size();
  part.make_points(whole);
  part.make_columns(whole);
}

OutputDepthTwo::OutputDepthTwo(const OutputRows& data, Control& control)
    : data_(data), control_(control) {
  const NumberProblem& p = data.problem;
  const auto weighs = [&](std::uint32_t row) { return p.weight_of(row) > 0; };
  ready_ = data.targets == 1 && data.leaf_rows <= 1 && data.free() &&
           std::all_of(data.used.begin(), data.used.end(), weighs);
}

OutputDepthTwo::~OutputDepthTwo() = default;

double OutputDepthTwo::best(const OutputNode& node, Shape shape, int state, double single,
                            Plan& plan) {
  if (!scans_) scans_ = std::make_unique<Scans>(data_.problem, control_);
  Scans& s = *scans_;
  s.enter(node);
  // What rows of one point lose among themselves, every tree loses.
  const double unit = data_.problem.factor[0], rest = single - unit * s.search.scan().leaf(s.part);
  const RealOutcome found = s.search.search(s.part, 0, {shape, state}, kNever, 0);
  plan = found.plan;
  return unit * found.value + rest;
}

}  // namespace odt
