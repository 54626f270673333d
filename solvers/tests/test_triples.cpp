// What trees of three levels lose at least of a mix of losses, by their first column, against all
// trees.
#include <array>
#include <cmath>

#include "check.hpp"
#include "odt/outputs_triples.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

enum class Paths { free, uses, not_both, ordered, sized };

struct Instance {
  NumberProblem p;
  OutputPairs::Mix mix;
  Paths paths = Paths::free;
};

void add_rules(Random& random, Paths paths, NumberRules& rules, const Problem& base) {
  if (paths == Paths::free) return;
  rules.columns = static_cast<int>(base.features);
  for (int f = 0; f < rules.columns; ++f) rules.column.push_back(f);
  const int states = paths == Paths::not_both ? 3 : 2;
  rules.need.assign(static_cast<std::size_t>(states), 0);
  for (int s = 0; s < states; ++s)
    for (int c = 0; c < rules.columns; ++c) {
      int next = s;
      if (paths == Paths::uses || paths == Paths::ordered) next = s == 1 || c == 0 ? 1 : 0;
      if (paths == Paths::ordered && s == 0 && c == 1) next = -1;
      if (paths == Paths::not_both && c < 2) next = s == 2 - c ? -1 : s == 0 ? c + 1 : s;
      rules.next.push_back(next);
    }
  if (paths == Paths::uses) rules.need[0] = 1;
  for (int s = 0; s < states; ++s) rules.relaxed.push_back(paths == Paths::not_both ? s : 1);
  rules.leaf_rules.resize(static_cast<std::size_t>(states));
  rules.split_rules.resize(static_cast<std::size_t>(states));
  if (paths != Paths::sized) return;
  rules.sums = 2;
  for (std::size_t i = 0; i < base.rows; ++i) {
    rules.value.push_back(-draw(random, 0, 1));
    rules.value.push_back(-1);
  }
  rules.leaf_conditions = {{{0, -1}}, {{0, 0}, {1, -3}}};
  rules.leaf_rules[0] = {draw(random, 0, 1)};
}

Instance instance(unsigned seed) {
  Random random(seed);
  Instance made;
  NumberProblem& p = made.p;
  p.base = random_problem(random, draw(random, 5, 16), draw(random, 2, 4), 2, draw(random, 2, 3));
  p.base.depth = 3;
  p.base.allowed.clear();
  const std::size_t targets = seed % 4 == 0 ? 2 : 1;
  p.factor.clear();
  for (std::size_t t = 0; t < targets; ++t) p.factor.push_back(draw(random, 1, 3));
  p.set = OutputSet::all(targets);
  p.leaf_price = seed % 3 == 0 ? 0.5 : 0;
  const bool weights = draw(random, 0, 2) == 0;
  for (std::size_t i = 0; i < p.base.rows; ++i) {
    for (std::size_t t = 0; t < targets; ++t) p.target.push_back(draw(random, -9, 9) * 0.5);
    if (weights) p.weight.push_back(draw(random, 0, 3));
  }
  if (weights) p.weight[0] = 1;
  made.p.leaf_rows = draw(random, 0, 3) == 0 ? 2 : 1;
  made.paths = static_cast<Paths>(draw(random, 0, 4));
  add_rules(random, made.paths, p.rules, p.base);
  NumberModel& model = p.model;
  model.components = 1;
  model.columns = p.base.features;
  model.leaf = {0};
  model.split.assign(model.columns, 0);
  model.path_sum = {-1};
  model.path_delta.resize(1);
  model.split_facts.assign(4 * model.columns, 0);
  NumberMeasure one;
  one.kind = targets == 1 && draw(random, 0, 1) ? MeasuredLoss::absolute : MeasuredLoss::squared;
  for (std::size_t t = 0; t < targets; ++t) one.factor.push_back(draw(random, 1, 2));
  for (std::size_t i = 0; i < p.base.rows; ++i)
    one.weight.push_back(p.weight_of(static_cast<std::uint32_t>(i)) > 0 ? draw(random, 0, 2) : 0);
  model.measures.push_back(one);
  model.clauses.push_back({{0, 0, true, 1}});
  made.mix.loss = draw(random, 0, 2) / 2.0;
  if (made.mix.loss == 0 || draw(random, 0, 3) > 0) made.mix.measure = {draw(random, 1, 4) / 2.0};
  return made;
}

// The least of a mix among all trees of some rows.
struct EveryTree {
  const Instance& of;
  const OutputRows& data;
  RuleCheck check{of.p.base, of.p.rules};

  double lost(const std::vector<std::uint32_t>& rows) const {
    const NumberProblem& p = of.p;
    double total = of.mix.loss * p.leaf_price;
    for (std::size_t t = 0; t < data.targets; ++t) {
      double w = 0, s = 0;
      for (std::uint32_t i : rows) {
        w += p.weight_of(i);
        s += p.weight_of(i) * p.target[i * data.targets + t];
      }
      const double mean = w > 0 ? s / w : 0;
      for (std::uint32_t i : rows) {
        const double d = p.target[i * data.targets + t] - mean;
        total += of.mix.loss * p.factor[t] * p.weight_of(i) * d * d;
        if (of.mix.measure.empty()) continue;
        const NumberMeasure& one = p.model.measures[0];
        total += of.mix.measure[0] * one.factor[t] * one.weight[i] *
                 (one.kind == MeasuredLoss::absolute ? std::fabs(d) : d * d);
      }
    }
    return total;
  }

  double split(const std::vector<std::uint32_t>& rows, int state, int depth, std::size_t f,
               std::uint32_t bound) {
    const int next = of.p.rules.after(state, f);
    if (next < 0) return kUnbounded;
    std::vector<std::uint32_t> sides[2];
    for (std::uint32_t i : rows) sides[of.p.base.ranks(f)[i] < bound ? 0 : 1].push_back(i);
    if (sides[0].empty() || sides[1].empty()) return kUnbounded;
    const double left = least(sides[0], next, depth - 1);
    return left < kUnbounded ? left + least(sides[1], next, depth - 1) : kUnbounded;
  }

  double least(const std::vector<std::uint32_t>& rows, int state, int depth) {
    double best = kUnbounded;
    if (rows.size() >= static_cast<std::size_t>(of.p.leaf_rows) &&
        check.leaf(state, rows.data(), rows.size()))
      best = lost(rows);
    for (std::size_t f = 0; depth > 0 && f < of.p.base.features; ++f)
      for (std::uint32_t r = 1; r < of.p.base.distinct[f]; ++r)
        best = std::min(best, split(rows, state, depth, f, r));
    return best;
  }

  // Exactly so many leaves on one side, two levels deep; last three, of which the second split
  // weighs no more than `heavy`.
  std::array<double, 6> by_leaves(const std::vector<std::uint32_t>& rows, int state, int depth,
                                  double heavy) {
    std::array<double, 6> best;
    best.fill(kUnbounded);
    if (rows.size() >= static_cast<std::size_t>(of.p.leaf_rows) &&
        check.leaf(state, rows.data(), rows.size()))
      best[1] = lost(rows);
    for (std::size_t f = 0; depth > 0 && f < of.p.base.features; ++f)
      for (std::uint32_t r = 1; r < of.p.base.distinct[f]; ++r) {
        const int next = of.p.rules.after(state, f);
        if (next < 0) continue;
        std::vector<std::uint32_t> sides[2];
        for (std::uint32_t i : rows) sides[of.p.base.ranks(f)[i] < r ? 0 : 1].push_back(i);
        if (sides[0].empty() || sides[1].empty()) continue;
        const std::array<double, 6> low = by_leaves(sides[0], next, depth - 1, heavy),
                                    high = by_leaves(sides[1], next, depth - 1, heavy);
        for (std::size_t a = 1; a < 3; ++a)
          for (std::size_t b = 1; b < 3; ++b) {
            best[a + b] = std::min(best[a + b], low[a] + high[b]);
            if (a + b != 3) continue;
            double weight = 0;
            for (std::uint32_t i : sides[a == 2 ? 0 : 1]) weight += of.p.weight_of(i);
            if (weight <= heavy) best[5] = std::min(best[5], low[a] + high[b]);
          }
      }
    return best;
  }
};

}  // namespace

CASE(losses_by_shapes_and_first_columns) {
  int met = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(::check::trials(2000)); ++seed) {
    Instance made = instance(seed);
    if (made.paths == Paths::ordered) continue;
    made.mix = {};
    const OutputRows data(made.p);
    const OutputPairs pairs(data);
    if (!pairs.ready()) continue;
    Random random(seed);
    std::vector<OutputTriples::Sides> heavy(pairs.columns().size());
    for (auto& sides : heavy)
      for (double& one : sides)
        one = draw(random, 0, 3) == 0 ? kUnbounded : draw(random, 0, 9) + 0.5;
    const Options endless;
    Control control(endless);
    OutputTriples triples(data, pairs);
    const std::vector<OutputTriples::Shapes> found = triples.shapes(heavy, 0, control);
    EveryTree all{made, data};
    for (std::size_t c = 0; c < found.size(); ++c) {
      const OutputPairs::Column& column = pairs.columns()[c];
      const int next = made.p.rules.after(0, column.feature);
      std::vector<std::uint32_t> rows[2];
      for (std::uint32_t i : data.used)
        rows[made.p.base.ranks(column.feature)[i] < column.bound ? 0 : 1].push_back(i);
      if (rows[0].empty() || rows[1].empty() || next < 0) continue;
      const std::array<double, 6> low = all.by_leaves(rows[0], next, 2, heavy[c][0]),
                                  high = all.by_leaves(rows[1], next, 2, heavy[c][1]);
      for (std::size_t l = 1; l < 5; ++l)
        for (std::size_t r = 1; r < 5; ++r) {
          const double least = low[l == 3 && r == 1 ? 5 : l] + high[r == 3 && l == 1 ? 5 : r],
                       slack = 1e-9 * (1 + std::fabs(least));
          CHECK((found[c][l][r] < kUnbounded) == (least < kUnbounded));
          CHECK(!(least < kUnbounded) || std::fabs(found[c][l][r] - least) <= slack);
          met += least < kUnbounded;
        }
    }
  }
  CHECK(met > 0);
}

CASE(mixes_of_losses_by_first_columns) {
  int met[2] = {0, 0};
  for (unsigned seed = 0; seed < static_cast<unsigned>(::check::trials(4000)); ++seed) {
    const Instance made = instance(seed);
    odt::check(made.p.rules, made.p.base);
    const OutputRows data(made.p);
    const OutputPairs pairs(data);
    if (!pairs.ready() || !pairs.measures()) continue;
    OutputTriples triples(data, pairs);
    CHECK(triples.tells(made.mix));
    const Options endless;
    Control control(endless);
    const std::vector<double> found = triples.least(made.mix, 0, control);
    EveryTree all{made, data};
    std::size_t weighed = 0;
    for (double w : made.p.model.measures[0].weight) weighed += w > 0;
    const bool exact =
        made.paths != Paths::ordered && (made.mix.measure.empty() || weighed <= 8 ||
                                         made.p.model.measures[0].kind == MeasuredLoss::squared);
    for (std::size_t c = 0; c < found.size(); ++c) {
      const OutputPairs::Column& column = pairs.columns()[c];
      const double true_least = all.split(data.used, 0, 3, column.feature, column.bound),
                   slack = 1e-9 * (1 + std::fabs(true_least));
      ++met[exact];
      CHECK(found[c] <= true_least + slack);
      if (!exact) continue;
      CHECK((found[c] < kUnbounded) == (true_least < kUnbounded));
      CHECK(!(true_least < kUnbounded) || found[c] >= true_least - slack);
    }
  }
  CHECK(met[0] > 0 && met[1] > 0);
}
