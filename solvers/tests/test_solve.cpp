// The engine against the oracle, all methods, all instruction sets.
#include <stdexcept>

#include "check.hpp"
#include "odt/finish.hpp"
#include "odt/interval.hpp"
#include "odt/kernels.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

CASE(optimum_equals_every_tree) {
  Random random(11);
  const std::vector<Isa> sets = instruction_sets();
  for (int trial = 0; trial < 400; ++trial) {
    Problem p = random_problem(random, draw(random, 1, 11), draw(random, 1, 3), draw(random, 1, 5),
                               draw(random, 1, 8));
    p.depth = draw(random, 0, 4);
    p.leaf_price = draw(random, 0, 2);
    if (trial % 3 == 0)
      for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, 4));
    if (trial % 4 == 0)
      for (int i = 0; i < p.classes * p.classes; ++i) p.cost.push_back(draw(random, 0, 5));
    if (trial % 24 == 1) p.classes = 20;
    if (trial % 5 == 2) p.distinct[0] += 65535;  // ranks of 32 bits
    if (trial % 24 == 3 && p.cost.empty())
      p.weight.assign(p.rows, Loss{1} << 40);  // sums beyond 32 bits
    const Loss best = Oracle(p).best();
    for (Isa isa : sets)
      for (int method : {1, 2, 4}) {
        Options o;
        o.isa = isa;
        o.method = method;
        o.threads = 1 + trial % 2;
        const Result r = solve(p, o);
        CHECK(r.status == Status::optimal);
        CHECK(r.value == best);
        CHECK(r.bound == best);
        CHECK(evaluate(p, r.tree) == best);
      }
  }
}

// Sums of these do not fit in 32 bits: scans round them, and what is left open is counted exactly.
CASE(optima_of_large_losses_equal_every_tree) {
  Random random(12);
  std::vector<Isa> sets{Isa::portable, Isa::best};
  if (kernels_avx2()) sets.push_back(Isa::avx2);
  int infeasible = 0;
  const int trials = check::trials(4000);
  for (int trial = 0; trial < trials; ++trial) {
    Problem p = random_problem(random, draw(random, 4, 14), draw(random, 1, 4), draw(random, 2, 9),
                               draw(random, 2, 14));
    p.depth = draw(random, 1, 4);
    p.leaf_rows = draw(random, 1, 4) / 2 + (trial % 8 == 0);
    p.leaf_rows = std::max(1, p.leaf_rows);
    // Many sums are alike but for what is rounded off.
    const int digits = draw(random, 24, 44), most = draw(random, 1, 6);
    const auto loss = [&] {
      return (Loss{draw(random, 0, most)} << digits) + draw(random, 0, trial % 2 ? 3 : 1 << 22);
    };
    p.leaf_price = draw(random, 0, 2) ? 0 : loss() / 4;
    for (int i = 0; i < p.classes * p.classes; ++i)
      p.cost.push_back(draw(random, 0, 3) ? loss() : 0);
    if (trial % 3 == 0)
      for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, 3));
    if (draw(random, 0, 2) == 0) forbid_some(random, p);
    if (!p.column.empty() && draw(random, 0, 1)) p.must = draw(random, 0, p.columns - 1);
    const Loss best = Oracle(p).best();
    infeasible += best >= kInfinite;
    Options o;
    o.method = 1;
    o.isa = sets[static_cast<std::size_t>(trial) % sets.size()];
    o.threads = 1 + trial % 7 / 3;
    o.beside = trial % 2 == 0;
    const Result r = solve(p, o);
    CHECK(r.status == (best >= kInfinite ? Status::infeasible : Status::optimal));
    if (best >= kInfinite) continue;
    CHECK(r.value == best);
    CHECK(r.bound == best);
    CHECK(evaluate(p, r.tree) == best);
  }
  CHECK(infeasible < trials / 2);
}

CASE(nearest_cut_finds_what_is_there) {
  Random random(12);
  for (int trial = 0; trial < 2000; ++trial) {
    std::uint64_t ends[4] = {0, 0, 0, 0};
    for (int i = 0; i < draw(random, 0, 6); ++i) {
      const int bit = draw(random, 0, 255);
      ends[bit / 64] |= 1ULL << (bit % 64);
    }
    const int first = draw(random, 1, 255), last = draw(random, first, 255),
              want = draw(random, first, last);
    int best = -1;
    for (int cut = first; cut <= last; ++cut)
      if ((ends[(cut - 1) / 64] >> ((cut - 1) % 64) & 1) &&
          (best < 0 || std::abs(cut - want) < std::abs(best - want)))
        best = cut;
    CHECK(nearest_cut(ends, want, first, last) == best);
  }
}

CASE(bad_problems_throw) {
  Problem p;
  bool threw = false;
  try {
    solve(p, Options{});
  } catch (const std::invalid_argument&) {
    threw = true;
  }
  CHECK(threw);
}

CASE(wide_ranks_and_many_rows) {
  Random random(13);
  Problem p = random_problem(random, 70000, 1, 2, 1 << 30);
  for (std::size_t i = 0; i < p.rows; ++i) p.label[i] = p.rank[i] > 20000 && p.rank[i] < 50000;
  p.depth = 2;
  const Result r = solve(p, Options{});
  CHECK(r.status == Status::optimal);
  CHECK(r.value == 0);
}

CASE(a_time_limit_holds_and_a_tree_comes_back) {
  Random random(14);
  Problem p = random_problem(random, 2000, 8, 3, 500);
  p.depth = 4;
  Options o;
  o.time_limit = 0.2;
  const Result r = solve(p, o);
  CHECK(r.status == Status::feasible);
  CHECK(r.bound <= r.value);
  CHECK(evaluate(p, r.tree) == r.value);
}
