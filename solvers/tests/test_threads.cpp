// Several threads on problems long enough that they meet: the answers are those of one thread.
// Built with ODT_SANITIZE=thread, every race between them is told.
#include <cmath>

#include "check.hpp"
#include "odt/regression.hpp"
#include "odt/ruled.hpp"
#include "random_problem.hpp"
#include "random_ruled.hpp"

using namespace odt;
using namespace odt_test;

namespace {

Problem noisy(unsigned seed, int rows, int values, int classes) {
  Random random(seed);
  Problem p = random_problem(random, rows, 4, classes, values);
  for (std::size_t i = 0; i < p.rows; ++i)
    if (draw(random, 0, 3) > 0)
      p.label[i] = static_cast<int>(p.rank[i] * static_cast<unsigned>(classes) / p.distinct[0]);
  p.depth = 3;
  return p;
}

Options with_threads(int threads, int method) {
  Options o;
  o.threads = threads;
  o.method = method;
  return o;
}

}  // namespace

CASE(threads_find_the_same_optimum) {
  for (int method : {1, 2})
    for (unsigned seed = 0; seed < 6; ++seed) {
      Problem p = noisy(seed, 300, method == 1 ? 60 : 8, 2 + static_cast<int>(seed % 2));
      const Result one = solve(p, with_threads(1, method));
      const Result four = solve(p, with_threads(4, method));
      CHECK(one.status == Status::optimal && four.status == Status::optimal);
      CHECK(one.value == four.value);
      CHECK(one.method == four.method);
    }
}

CASE(threads_stop_together) {
  for (int method : {1, 2}) {
    Problem p = noisy(7, 2000, method == 1 ? 500 : 12, 3);
    p.depth = 5;
    Options o = with_threads(4, method);
    o.work_limit = 3000000;
    const Result r = solve(p, o);
    CHECK(r.bound <= r.value);
    CHECK(!r.tree.empty());
  }
}

CASE(threads_find_the_same_regression_tree) {
  for (bool absolute : {false, true})
    for (unsigned seed = 0; seed < 3; ++seed) {
      Random random(seed);
      RegressionProblem p;
      p.base = noisy(seed, 200, 40, 2);
      p.loss = absolute ? OutputLoss::absolute : OutputLoss::squared;
      for (int label : p.base.label) p.target.push_back(label + draw(random, -5, 5) * 0.3);
      RegressionOptions o;
      const RegressionResult one = solve_regression(p, o);
      o.threads = 4;
      const RegressionResult four = solve_regression(p, o);
      CHECK(one.status == Status::optimal && four.status == Status::optimal);
      CHECK(std::fabs(one.value - four.value) <= 1e-9 * (1 + std::fabs(one.value)));
    }
}

CASE(threads_find_the_same_optimum_under_rules) {
  Random random(24);
  for (int trial = 0; trial < 200; ++trial) {
    const RuledProblem p = ruled_problem(random, 1);
    const Result one = solve_ruled(p, Options{});
    const Result four = solve_ruled(p, with_threads(4, 0));
    CHECK(one.status == four.status);
    CHECK(one.value == four.value);
  }
}
