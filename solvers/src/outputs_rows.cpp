#include "odt/outputs_rows.hpp"

#include <algorithm>
#include <cmath>

#include "odt/logs.hpp"
#include "odt/outputs_leaf.hpp"

namespace odt {

OutputRows::OutputRows(const NumberProblem& p)
    : problem(p),
      targets(p.targets()),
      leaf_rows(static_cast<std::size_t>(p.leaf_rows)),
      width(kTargets),
      mean(weighted_means(p)) {
  const Problem& b = p.base;
  if (p.loss != OutputLoss::absolute) width += targets;
  centre = p.loss == OutputLoss::squared ? mean : std::vector<double>(targets, 0.0);
  // Rows that weigh nothing are rows of a leaf too.
  const bool counted = p.rules.any_strict() || !p.model.none();
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (!(p.weight_of(i) > 0) && p.leaf_rows <= 1 && !p.weight.empty() && !counted) continue;
    used.push_back(i);
  }
  make_sums();
  hash = row_hashes(b.rows);
  counts.resize(b.features);
  cell.resize(b.features * b.rows);
  for (std::size_t f = 0; f < b.features; ++f) {
    counts[f] = b.cuts_below(f);
    for (std::size_t i = 0; i < b.rows; ++i) cell[f * b.rows + i] = counts[f][b.ranks(f)[i]];
  }
}

void OutputRows::make_sums() {
  OutputSolver solver(problem.set);
  SquaredLoss squared(problem.factor);
  PoissonLoss poisson(problem.factor);
  AbsoluteLoss absolute(problem.factor);
  sum.assign(problem.base.rows * width, 0.0);
  for (std::uint32_t i : used) {
    double* row = &sum[i * width];
    const double w = problem.weight_of(i);
    const double* y = &problem.target[i * targets];
    row[kWeight] = w;
    for (std::size_t t = 0; t < targets && problem.loss != OutputLoss::absolute; ++t) {
      const double d = y[t] - centre[t];
      row[kTargets + t] = w * d;
      const double own = problem.loss == OutputLoss::squared
                             ? d * d
                             : gain_over(y[t], 1, mean[t]);
      row[kOwn] += w * problem.factor[t] * own;
    }
    if (solver.everything() || !(w > 0)) continue;
    const double lost = floor_of(i, solver, squared, poisson, absolute);
    // A deviance can be infinite for a row alone; then it has no floor to speak of.
    row[kFloor] = lost < kUnbounded ? w * lost * (1 - 1e-12) : 0;
  }
}

// What a row loses to its own best feasible output, per unit of weight.
double OutputRows::floor_of(std::uint32_t row, OutputSolver& solver, SquaredLoss& squared,
                            PoissonLoss& poisson, AbsoluteLoss& absolute) const {
  const double* y = &problem.target[row * targets];
  std::vector<double> output(targets);
  switch (problem.loss) {
    case OutputLoss::squared:
      squared.aim(y);
      return solver.solve(squared, output.data());
    case OutputLoss::poisson:
      poisson.aim(y);
      return solver.solve(poisson, output.data());
    case OutputLoss::absolute:
      break;
  }
  absolute.aim({row}, problem.target.data(), nullptr);
  return solver.solve(absolute, output.data());
}

bool OutputRows::free() const { return OutputSolver(problem.set).everything(); }

void OutputNode::make_root(const OutputRows& data) {
  const Problem& b = data.problem.base;
  rows = data.used.size();
  order.reserve(b.features * rows);
  for (std::size_t f = 0; f < b.features; ++f) {
    std::vector<std::uint32_t> sorted = data.used;
    const std::uint32_t* rank = b.ranks(f);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return rank[x] < rank[y]; });
    order.insert(order.end(), sorted.begin(), sorted.end());
  }
  sums.assign(data.width, 0.0);
  for (std::uint32_t i : data.used) {
    for (std::size_t k = 0; k < data.width; ++k) sums[k] += data.of(i)[k];
    set ^= data.hash[i];
  }
  path.rows = rows;
}

void OutputNode::sets(const OutputRows& data, std::size_t f, std::size_t place,
                      std::uint64_t (&sides)[2]) const {
  const int few = 2 * place <= rows ? 0 : 1;
  sides[0] = sides[1] = 0;
  for (std::size_t i = few == 0 ? 0 : place; i < (few == 0 ? place : rows); ++i)
    sides[few] ^= data.hash[of(f)[i]];
  sides[1 - few] = set ^ sides[few];
}

void OutputNode::part(const OutputRows& data, std::size_t f, std::size_t place, OutputNode& left,
                      OutputNode& right, std::vector<char>& side) const {
  left.rows = place;
  right.rows = rows - place;
  left.set = right.set = 0;
  const std::uint32_t last = data.rank(f, of(f)[place - 1]);
  left.path.follow(path, {static_cast<std::uint32_t>(f), last, false}, left.rows);
  right.path.follow(path, {static_cast<std::uint32_t>(f), last, true}, right.rows);
  left.sums.assign(data.width, 0.0);
  right.sums.assign(data.width, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t r = of(f)[i];
    OutputNode& to = i < place ? left : right;
    side[r] = i >= place;
    for (std::size_t k = 0; k < data.width; ++k) to.sums[k] += data.of(r)[k];
    to.set ^= data.hash[r];
  }
  const std::size_t features = data.problem.base.features;
  left.order.resize(features * left.rows);
  right.order.resize(features * right.rows);
  for (std::size_t g = 0; g < features; ++g) {
    const std::uint32_t* from = of(g);
    std::uint32_t* to[2] = {left.order.data() + g * left.rows, right.order.data() + g * right.rows};
    for (std::size_t i = 0; i < rows; ++i) *to[static_cast<int>(side[from[i]])]++ = from[i];
  }
}

}  // namespace odt
