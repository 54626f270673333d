// Several threads on problems long enough that they meet: the answers are those of one thread.
// Built with ODT_SANITIZE=thread, every race between them is told.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "odt/number_problem.hpp"
#include "odt/row_path.hpp"
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

namespace {

Options at_once(int threads) {
  Options o;
  o.threads = threads;
  o.alone = 0;
  return o;
}

bool same(const Tree& a, const Tree& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const TreeNode& x, const TreeNode& y) {
                      return x.feature == y.feature && x.cut == y.cut && x.left == y.left &&
                             x.right == y.right && x.label == y.label;
                    });
}

}  // namespace

// Also where shelves of the table are emptied all the time, and all sets of rows share one.
CASE(threads_find_the_same_smallest_tree) {
  Random random(29);
  int found = 0, impossible = 0;
  for (int trial = 0; trial < check::trials(1500); ++trial) {
    const bool large = trial % 50 == 0;
    Problem p = random_problem(random, large ? 200 : draw(random, 4, 30), draw(random, 2, 6),
                               2 + trial % 2, large ? 9 : 4);
    for (std::size_t i = 0; i < p.rows; ++i)
      if (draw(random, 0, 9) > 0)
        p.label[i] = (p.rank[i] < 2) != (p.rank[p.rows + i] < p.distinct[1] / 2);
    p.depth = draw(random, 1, 7);
    p.smallest = true;
    blind_hashes = trial % 7 == 3 && !large;
    Options one = at_once(1);
    one.memory_limit = trial % 3 == 0 ? 20000 : 0;
    const Result alone = solve(p, one);
    for (int threads : {2, 3}) {
      Options o = one;
      o.threads = threads;
      const Result r = solve(p, o);
      CHECK(r.status == alone.status && r.bound == alone.bound && same(r.tree, alone.tree));
      CHECK(r.timeline.size() == alone.timeline.size());
    }
    found += alone.status == Status::optimal;
    impossible += alone.status == Status::infeasible;
  }
  blind_hashes = false;
  CHECK(found > 20 && impossible > 20);
}

CASE(threads_for_the_smallest_tree_stop_together) {
  Problem p = noisy(5, 500, 12, 2);
  p.depth = 12;
  p.smallest = true;
  for (std::uint64_t work : {1000, 100000, 3000000}) {
    Options o = at_once(4);
    o.work_limit = work;
    const Result r = solve(p, o);
    CHECK(r.status == Status::unknown || r.status == Status::feasible);
  }
  const auto caller = std::this_thread::get_id();
  int asked = 0, elsewhere = 0;
  Options o = at_once(3);
  o.interrupted = [&] {
    elsewhere += std::this_thread::get_id() != caller;
    return ++asked > 3;
  };
  CHECK(solve(p, o).status != Status::optimal && asked > 3 && elsewhere == 0);
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

// With one thread the search for good trees leads in the calling thread, and the proof gets one of
// its own. Only the calling thread is asked for interrupts, also while it waits, and what a
// callback throws comes out of it, from whichever of the two.
CASE(a_search_that_leads_runs_in_the_calling_thread) {
  Problem p = noisy(3, 3000, 800, 2);
  p.depth = 5;
  const auto caller = std::this_thread::get_id();
  for (int most : {1, 5, 40}) {
    int asked = 0, elsewhere = 0;
    Options o;
    o.interrupted = [&] {
      elsewhere += std::this_thread::get_id() != caller;
      return ++asked >= most;
    };
    const Result r = solve(p, o);
    CHECK(asked >= most && elsewhere == 0);
    CHECK(r.status == Status::feasible && !r.tree.empty() && r.bound <= r.value);
  }
  for (int told : {1, 2, 4}) {
    int count = 0;
    Options o;
    o.progress = [&](const Incumbent&, const Found&) {
      if (++count >= told) throw std::runtime_error("told");
    };
    bool thrown = false;
    try {
      solve(p, o);
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown && count >= told);
  }
  // A tree without an error ends it before there is a proof.
  for (std::size_t i = 0; i < p.rows; ++i) p.label[i] = p.rank[i] < p.distinct[0] / 2;
  const Result perfect = solve(p, Options{});
  CHECK(perfect.status == Status::optimal && perfect.value == 0 && perfect.method == "sorted");
}

CASE(threads_find_the_same_regression_tree) {
  for (bool absolute : {false, true})
    for (unsigned seed = 0; seed < 3; ++seed) {
      Random random(seed);
      NumberProblem p;
      p.base = noisy(seed, 200, 40, 2);
      p.loss = absolute ? OutputLoss::absolute : OutputLoss::squared;
      for (int label : p.base.label) p.target.push_back(label + draw(random, -5, 5) * 0.3);
      NumberOptions o;
      const NumberResult one = solve_numbers(p, o);
      o.threads = 4;
      const NumberResult four = solve_numbers(p, o);
      CHECK(one.status == Status::optimal && four.status == Status::optimal);
      CHECK(std::fabs(one.value - four.value) <= 1e-9 * (1 + std::fabs(one.value)));
    }
}

namespace {

// Least errors, of which only so many may be rows of the first label.
RuledProblem few_missed(unsigned seed, int rows, int values, Loss at_most) {
  RuledProblem p;
  p.base = noisy(seed, rows, values, 2);
  p.columns = 1;
  p.column.assign(p.base.features, 0);
  p.components = 2;
  p.sums = 3;
  for (int label : p.base.label)
    p.value.insert(p.value.end(), {label != 0, label != 1, label == 0});
  p.sum_of = {0, 1, -1, 2};
  p.leaf = p.split = {0, 0};
  p.path_weight = {-1, -1};
  p.path_delta.resize(2);
  p.next = p.need = {0};
  p.leaf_rules.resize(1);
  p.split_rules.resize(1);
  p.split_facts.assign(static_cast<std::size_t>(p.base.depth), 0);
  p.missing_low.assign(p.base.features, 0);
  p.missing_high.assign(p.base.features, 0);
  p.objective.push_back({1, {0}, -1});
  ModelLiteral most;
  most.component = 1;
  most.at_most = at_most;
  p.clauses.push_back({most});
  return p;
}

}  // namespace

CASE(threads_find_the_same_optimum_under_rules) {
  Random random(24);
  for (int trial = 0; trial < check::trials(400); ++trial) {
    const RuledProblem p = ruled_problem(random, 1);
    Options many = with_threads(4, 0);
    many.alone = trial % 2 ? 0 : many.alone;
    const Result one = solve_ruled(p, Options{});
    const Result four = solve_ruled(p, many);
    CHECK(one.status == four.status);
    CHECK(one.value == four.value);
  }
}

CASE(threads_share_a_long_search_under_rules) {
  const unsigned seeds = static_cast<unsigned>(check::trials(20));
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const RuledProblem p = few_missed(seed, 200, 40, 3);
    Options many = with_threads(4, 0);
    many.alone = 0;
    const Result one = solve_ruled(p, Options{});
    const Result four = solve_ruled(p, many);
    CHECK(one.status == Status::optimal && four.status == Status::optimal);
    CHECK(one.value == four.value && four.bound == four.value);
  }
}

CASE(threads_under_rules_stop_together) {
  const RuledProblem p = few_missed(7, 2000, 500, 20);
  Options o = with_threads(4, 0);
  o.alone = 0;
  const Result known = solve_ruled(few_missed(7, 2000, 6, 20), o);
  for (std::uint64_t work : {300000, 3000000, 30000000}) {
    o.work_limit = work;
    const Result r = solve_ruled(p, o);
    CHECK(r.status != Status::optimal && r.status != Status::infeasible);
    CHECK(r.tree.empty() || r.bound <= r.value);
  }
  o.work_limit = 0;
  int calls = 0;
  o.interrupted = [&] { return ++calls > 5; };
  CHECK(solve_ruled(p, o).bound <= known.value || calls > 5);
}
