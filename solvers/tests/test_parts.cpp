// Bounds of parts of the rows: never above what all of them lose.
#include "check.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

Problem random_weighted(Random& random) {
  Problem p = random_problem(random, draw(random, 8, 12), draw(random, 3, 4), draw(random, 2, 4),
                             draw(random, 3, 8));
  p.depth = 4;
  p.leaf_price = draw(random, 0, 2);
  if (draw(random, 0, 1))
    for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, 3));
  if (draw(random, 0, 2) == 0)
    for (int i = 0; i < p.classes * p.classes; ++i) p.cost.push_back(draw(random, 0, 4));
  return p;
}

Options proof() {
  Options options;
  options.method = 1;
  return options;
}

Problem repeated(const Problem& p, std::size_t times) {
  Problem many = p;
  many.rows = p.rows * times;
  many.rank.clear();
  many.label.clear();
  many.weight.clear();
  const auto repeat = [&](const auto* from, auto& to) {
    for (std::size_t t = 0; t < times; ++t) to.insert(to.end(), from, from + p.rows);
  };
  for (std::size_t f = 0; f < p.features; ++f) repeat(p.ranks(f), many.rank);
  repeat(p.label.data(), many.label);
  if (!p.weight.empty()) repeat(p.weight.data(), many.weight);
  many.leaf_price *= static_cast<Loss>(times);
  return many;
}

}  // namespace

CASE(a_part_of_the_rows_loses_no_more) {
  Random random(61);
  for (int trial = 0; trial < check::trials(2000); ++trial) {
    Problem p = random_weighted(random);
    p.leaf_rows = draw(random, 1, 2);
    p.leaves = draw(random, 0, 6);
    const Result all = solve(p, proof());
    const Result part = solve(thinned(p, static_cast<std::size_t>(draw(random, 2, 4))), proof());
    CHECK(all.status == Status::optimal && part.status == Status::optimal);
    CHECK(part.value <= all.value);
  }
}

CASE(bounds_of_parts_beside_all_trees) {
  Random random(62);
  bool moved = false;
  for (int trial = 0; trial < check::trials(60); ++trial) {
    const Problem p = random_weighted(random);
    const std::size_t times = 72000 / (p.rows * p.features);
    const Loss best = static_cast<Loss>(times) * Oracle(p).best();
    const Result r = solve(repeated(p, times), proof());
    CHECK(r.status == Status::optimal && r.value == best && r.bound == best);
    for (const Incumbent& at : r.timeline) {
      CHECK(at.bound <= best);
      moved = moved || (at.bound > 0 && at.bound < best);
    }
  }
  CHECK(moved);
}
