// The search under rules against all trees: random components, states, facts, rules and objectives.
#include "check.hpp"
#include "odt/ruled.hpp"
#include "random_ruled.hpp"

using namespace odt;
using namespace odt_test;

CASE(the_optimum_under_rules_equals_every_tree) {
  Random random(21);
  int infeasible = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const RuledProblem p = ruled_problem(random, trial % 5 == 0 ? Loss{1} << 40 : 1);
    const AllTrees all(p);
    const Loss best = all.best();
    const Result r = solve_ruled(p, Options{});
    infeasible += best >= kInfinite;
    CHECK(r.status == (best >= kInfinite ? Status::infeasible : Status::optimal));
    if (best >= kInfinite) continue;
    CHECK(r.value == best);
    CHECK(r.bound == best);
    CHECK(all.value(r.tree) == best);
    for (const Incumbent& i : r.timeline) CHECK(i.bound <= best);
  }
  CHECK(infeasible > 100 && infeasible < 1000);
}

CASE(an_upper_bound_keeps_what_reaches_it) {
  Random random(22);
  for (int trial = 0; trial < 300; ++trial) {
    const RuledProblem p = ruled_problem(random, 1);
    const Loss best = AllTrees(p).best();
    if (best >= kInfinite) continue;
    Options o;
    o.upper_bound = best;
    const Result at = solve_ruled(p, o);
    CHECK(at.status == Status::optimal && at.value == best);
    o.upper_bound = best - 1;
    CHECK(solve_ruled(p, o).status == Status::infeasible);
  }
}

CASE(a_stopped_search_under_rules_has_a_true_bound) {
  Random random(23);
  RuledProblem p;
  p.base = random_problem(random, 400, 4, 2, 200);
  p.base.depth = 3;
  p.columns = 1;
  p.column.assign(4, 0);
  p.components = 1;
  p.sums = 2;
  for (int label : p.base.label) {
    p.value.push_back(label != 0);
    p.value.push_back(label != 1);
  }
  p.sum_of = {0, 1};
  p.leaf = {0};
  p.split = {0};
  p.path_weight = {-1};
  p.path_delta.resize(1);
  p.next = {0};
  p.need = {0};
  p.leaf_rules.resize(1);
  p.split_rules.resize(1);
  p.split_facts.assign(3, 0);
  p.missing_low.assign(4, 0);
  p.missing_high.assign(4, 0);
  p.objective.push_back({1, {0}, -1});
  const Result whole = solve(p.base, Options{});
  CHECK(whole.status == Status::optimal);
  for (int most : {1, 3, 10, 40}) {
    Options o;
    int calls = 0;
    o.interrupted = [&] { return ++calls > most; };
    const Result r = solve_ruled(p, o);
    CHECK(r.bound <= whole.value);
    CHECK(r.tree.empty() || r.value >= whole.value);
    CHECK(r.status != Status::infeasible &&
          (r.status != Status::optimal || r.value == whole.value));
  }
}

// Every tree that comes keeps the rules and is of the objective that is said, whoever found it;
// proofs and bounds are true.
CASE(the_anytime_search_beside_the_one_under_rules) {
  Random random(24);
  int proven = 0, stopped = 0;
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    RuledProblem p = ruled_problem(random, trial % 7 == 0 ? Loss{1} << 40 : 1);
    if (p.base.depth < 2) continue;
    const AllTrees all(p);
    const Loss best = all.best();
    Options o;
    o.alone = 0;
    o.threads = trial % 3 == 0 ? 2 : 1;
    o.seed = static_cast<std::uint64_t>(trial);
    if (trial % 2) o.work_limit = static_cast<std::uint64_t>(draw(random, 1, 3000));
    if (trial % 4 == 1 && best < kInfinite) {
      Options quick;
      quick.beside = false;
      quick.work_limit = 300;
      o.start = solve_ruled(p, quick).tree;
    }
    const Result r = solve_ruled(p, o);
    proven += r.status == Status::optimal;
    stopped += r.status == Status::feasible;
    CHECK(r.bound <= best || best >= kInfinite);
    CHECK(r.status != Status::infeasible || best >= kInfinite);
    CHECK(r.status != Status::optimal || r.value == best);
    CHECK(r.tree.empty() || (r.value >= best && all.value(r.tree) == r.value));
    for (const Incumbent& i : r.timeline) CHECK(i.bound <= best && i.value >= best);
    if (o.threads > 1) continue;
    const Result again = solve_ruled(p, o);
    CHECK(again.value == r.value && again.work == r.work &&
          again.tree.nodes.size() == r.tree.nodes.size());
  }
  CHECK(proven > check::trials(500) && stopped > check::trials(100));
}
