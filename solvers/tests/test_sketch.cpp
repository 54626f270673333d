// Trees of depth three that are the best up to a part, and the anytime search that is made of them,
// against all trees.
#include "check.hpp"
#include "odt/dataset.hpp"
#include "odt/finish.hpp"
#include "odt/kernels.hpp"
#include "odt/search.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

Problem some_problem(Random& random, int rows) {
  Problem p = random_problem(random, draw(random, 2, rows), draw(random, 1, 4), draw(random, 2, 4),
                             draw(random, 2, 12));
  p.leaf_price = draw(random, 0, 2);
  if (draw(random, 0, 3) == 0)
    for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, 4));
  if (draw(random, 0, 3) == 0)
    for (int i = 0; i < p.classes * p.classes; ++i) p.cost.push_back(draw(random, 0, 5));
  return p;
}

}  // namespace

CASE(sketches_keep_their_part) {
  Random random(41);
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    Problem p = some_problem(random, 10);
    p.depth = 3;
    const Loss best = Oracle(p).best();
    const Dataset data(p, choose_kernels(Isa::best));
    Options options;
    Control control(options);
    Search search(control);
    View view;
    view.make_root(data, true, true);
    const double part = draw(random, 0, 2) == 0 ? 0 : 0.1 * draw(random, 1, 9);
    const Loss upper =
        draw(random, 0, 1) == 0 ? kInfinite : data.loss.offset + best + draw(random, 0, 4);
    std::vector<BestCut> cuts;
    bool complete = false;
    const Outcome out = search.sketch(view, upper - data.loss.offset, {1, false, 0}, part,
                                      ~std::uint64_t{0}, cuts, complete);
    CHECK(complete);
    if (out.exact) {
      const Loss value = out.value + data.loss.offset;
      CHECK(finished(p, out.plan).value == value);
      CHECK(value >= best && value < upper);
      CHECK(static_cast<double>(value - data.loss.offset) * (1 - part) <=
            static_cast<double>(best - data.loss.offset));
      if (part == 0) CHECK(value == best);
    } else {
      CHECK(best >= upper);
    }
  }
}

CASE(anytime_trees_are_what_they_say) {
  Random random(42);
  int found = 0, trials = check::trials(300);
  for (int trial = 0; trial < trials; ++trial) {
    Problem p = some_problem(random, 11);
    p.depth = draw(random, 4, 6);
    const Loss best = Oracle(p).best();
    Options options;
    options.method = 3;
    options.work_limit = 3000000;
    options.seed = static_cast<std::uint64_t>(trial);
    const Result r = solve(p, options);
    CHECK(evaluate(p, r.tree) == r.value);
    CHECK(r.value >= best && r.bound <= best);
    CHECK(r.status != Status::optimal || r.value == best);
    found += r.value == best;
  }
  CHECK(found >= trials * 99 / 100);
}

CASE(proofs_beside_the_anytime_search) {
  Random random(43);
  for (int trial = 0; trial < check::trials(600); ++trial) {
    Problem p = some_problem(random, 11);
    p.depth = draw(random, 4, 5);
    const Loss best = Oracle(p).best();
    Options options;
    options.alone = 1;
    options.threads = 1 + trial % 2;
    options.seed = static_cast<std::uint64_t>(trial);
    const Result r = solve(p, options);
    CHECK(r.status == Status::optimal);
    CHECK(r.value == best && r.bound == best);
    CHECK(evaluate(p, r.tree) == best);
  }
}
