// The search for good trees of numbers, alone, in turns with the proof and in a thread of its own.
#include <cmath>

#include "check.hpp"
#include "odt/number_problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

NumberProblem regression(unsigned seed, int rows, int values, int depth) {
  Random random(seed);
  NumberProblem p;
  p.base = random_problem(random, rows, 4, 2, values);
  p.base.depth = depth;
  p.loss = seed % 2 == 1 ? OutputLoss::absolute : OutputLoss::squared;
  p.leaf_price = seed % 3 == 0 ? 0.5 : 0;
  for (std::size_t i = 0; i < p.base.rows; ++i) {
    p.target.push_back(p.base.rank[i] * 0.3 + draw(random, -5, 5));
    if (seed % 4 == 3) p.weight.push_back(draw(random, 0, 3));
  }
  return p;
}

// Two targets; of the second only what lies between 0 and 3, and not both may be above 1.
NumberProblem outputs(unsigned seed, int rows, int depth, bool ruled) {
  const NumberProblem from = regression(seed, rows, 20, depth);
  NumberProblem p;
  p.base = from.base;
  p.loss = seed % 3 == 0 ? OutputLoss::absolute : OutputLoss::squared;
  p.factor = {1, 2};
  for (double y : from.target) {
    p.target.push_back(y);
    p.target.push_back(std::fabs(y - 2));
  }
  p.set.targets = 2;
  p.set.step = {0, 0};
  OutputPiece piece;
  piece.low = {-kUnbounded, ruled ? 0.0 : -kUnbounded};
  piece.high = {kUnbounded, ruled ? 3.0 : kUnbounded};
  piece.gaps.resize(2);
  if (ruled) {
    OutputCount count;
    count.most = 1;
    count.target = {0, 1};
    count.low = {-kUnbounded, -kUnbounded};
    count.high = {1, 1};
    piece.counts.push_back(count);
    if (seed % 2 == 1) piece.gaps[0].push_back({0.5, 1.5});
  }
  p.set.pieces = {piece};
  return p;
}

void agree(const NumberProblem& p, const NumberOptions& proof) {
  const NumberResult best = solve_numbers(p, proof);
  CHECK(best.status == Status::optimal);
  const double slack = 1e-8 * (1 + std::fabs(best.value));
  for (int threads : {1, 3}) {
    NumberOptions o = proof;
    o.beside = true;
    o.alone = 0;
    o.threads = threads;
    const NumberResult both = solve_numbers(p, o);
    CHECK(both.status == Status::optimal);
    CHECK(std::fabs(both.value - best.value) <= slack);
  }
  NumberOptions o = proof;
  o.prove = false;
  o.work_limit = 60000;
  const NumberResult found = solve_numbers(p, o);
  CHECK(!found.tree.empty());
  CHECK(found.value >= best.value - slack);
  CHECK(found.bound <= best.value + slack);
}

}  // namespace

CASE(numbers_beside_a_proof) {
  NumberOptions o;
  o.beside = false;
  for (unsigned seed = 0; seed < 6; ++seed) agree(regression(seed, 60, 12, 3), o);
}

CASE(numbers_of_few_leaves_beside_a_proof) {
  NumberOptions o;
  o.beside = false;
  for (unsigned seed = 0; seed < 4; ++seed) {
    NumberProblem p = regression(seed, 40, 8, 4);
    p.base.leaves = 5;
    agree(p, o);
  }
}

CASE(vectors_beside_a_proof) {
  NumberOptions o;
  o.beside = false;
  for (unsigned seed = 0; seed < 8; ++seed) {
    NumberProblem p = outputs(seed, 30, 3, seed % 4 != 2);
    p.leaf_rows = seed % 4 == 0 ? 3 : 1;
    agree(p, o);
  }
}

CASE(numbers_stop_together) {
  for (unsigned seed = 0; seed < 6; ++seed)
    for (int threads : {1, 3}) {
      const NumberProblem p = regression(seed, 800, 200, 6);
      NumberOptions o;
      o.alone = 100000;
      o.threads = threads;
      o.work_limit = 4000000;
      const NumberResult r = solve_numbers(p, o);
      CHECK(!r.tree.empty());
      CHECK(r.bound <= r.value);
    }
}
