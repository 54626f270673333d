// Caches know sets of rows by a hash and compare them. Where all hashes are equal, each look finds
// entries of other rows, and answers stay what they are.
#include <cmath>

#include "check.hpp"
#include "odt/number_problem.hpp"
#include "odt/row_path.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

constexpr int kTrials = 120;  // not fewer: caches are to be met

// Solves with hashes and without, and adds up hits of the caches.
template <class Solve>
void answers_agree(Solve solve, std::uint64_t (&hits)[2]) {
  decltype(solve()) found[2];
  for (int blind : {0, 1}) {
    blind_hashes = blind == 1;
    found[blind] = solve();
    hits[blind] += found[blind].counters.cache_hits;
  }
  blind_hashes = false;
  CHECK(found[0].status == found[1].status);
  if (found[0].status == Status::infeasible) return;
  const double value = static_cast<double>(found[0].value);
  CHECK(std::fabs(static_cast<double>(found[1].value) - value) <= 1e-9 * (1 + std::fabs(value)));
}

void check_hits(const std::uint64_t (&hits)[2]) { CHECK(hits[0] > 0 && hits[1] > 0); }

NumberProblem numbers(Random& random, int rows, int features, int values, int depth) {
  NumberProblem p;
  p.base = random_problem(random, rows, features, 2, values);
  p.base.depth = depth;
  for (std::size_t i = 0; i < p.base.rows; ++i) p.target.push_back(draw(random, -9, 9));
  return p;
}

}  // namespace

CASE(bit_sets_rest_on_no_hash) {
  Random random(61);
  std::uint64_t hits[2] = {0, 0};
  for (int trial = 0; trial < kTrials; ++trial) {
    Problem p = random_problem(random, draw(random, 20, 60), draw(random, 4, 7), 2 + trial % 2,
                               2 + trial % 3);
    p.depth = 4 + trial % 2;
    p.leaf_price = trial % 5 == 0 ? 1 : 0;
    Options o;
    o.method = 2;
    o.threads = 1 + trial % 2;
    answers_agree([&] { return solve(p, o); }, hits);
  }
  check_hits(hits);
}

CASE(smallest_trees_rest_on_no_hash) {
  Random random(62);
  std::uint64_t hits[2] = {0, 0};
  for (int trial = 0; trial < kTrials; ++trial) {
    Problem p = random_problem(random, draw(random, 8, 24), draw(random, 3, 6), 2, 3);
    p.depth = 6;
    p.smallest = true;
    Options o;
    o.threads = 1 + trial % 2;
    o.alone = 0;
    answers_agree([&] { return solve(p, o); }, hits);
  }
  check_hits(hits);
}

CASE(numbers_rest_on_no_hash) {
  Random random(63);
  std::uint64_t hits[2] = {0, 0};
  for (int trial = 0; trial < kTrials; ++trial) {
    NumberProblem p = numbers(random, draw(random, 12, 40), draw(random, 2, 5),
                              trial % 3 == 0 ? 2 : 8, 3 + trial % 2);
    if (trial % 4 == 1) p.loss = OutputLoss::absolute;
    p.leaf_price = trial % 5 == 0 ? 2 : 0;
    NumberOptions o;
    o.beside = trial % 2 == 1;
    answers_agree([&] { return solve_numbers(p, o); }, hits);
  }
  check_hits(hits);
}

// Vectors of two numbers; under a rule on the whole tree, too: at most three leaves, or no split on
// the first column.
CASE(vectors_rest_on_no_hash) {
  Random random(64);
  std::uint64_t free_hits[2] = {0, 0}, ruled_hits[2] = {0, 0};
  for (int trial = 0; trial < kTrials; ++trial) {
    const bool ruled = trial % 2 == 1;
    const NumberProblem from =
        numbers(random, draw(random, 10, 24), draw(random, 2, 4), 9, 3 + trial / 2 % 2);
    NumberProblem p;
    p.base = from.base;
    p.factor = {1, 2};
    for (double y : from.target)
      for (double of : {y, std::fabs(y - 2)}) p.target.push_back(of);
    p.set.targets = 2;
    p.set.step = {0, 0};
    OutputPiece piece;
    piece.low = {-kUnbounded, 0};
    piece.high = {kUnbounded, 3};
    piece.gaps.resize(2);
    p.set.pieces = {piece};
    if (ruled) {
      NumberRules& paths = p.rules;  // one state that allows everything
      paths.columns = static_cast<int>(p.base.features);
      for (int f = 0; f < paths.columns; ++f) paths.column.push_back(f);
      paths.next.assign(p.base.features, 0);
      paths.need = paths.relaxed = {0};
      paths.leaf_rules.resize(1);
      paths.split_rules.resize(1);
      p.model.components = 2;
      p.model.columns = p.base.features;
      p.model.leaf = {1, 0};
      p.model.split.assign(2 * p.model.columns, 0);
      p.model.split[p.model.columns] = 1;
      p.model.split_facts.assign(static_cast<std::size_t>(p.base.depth) * p.model.columns, 0);
      p.model.path_sum = {-1, -1};
      p.model.path_delta.resize(2);
      NumberLiteral few, none;
      few.component = 0;
      few.at_most = 3;
      none.component = 1;
      p.model.clauses.push_back({few, none});
    }
    answers_agree([&] { return solve_numbers(p, NumberOptions{}); },
                  ruled ? ruled_hits : free_hits);
  }
  check_hits(free_hits);
  check_hits(ruled_hits);
}
