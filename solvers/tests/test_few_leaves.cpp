// What rows lose where trees have fewer leaves than there are classes: bounds beside those of each
// cut by itself, and optima beside all trees and beside the search on bit sets.
#include <algorithm>
#include <functional>
#include <numeric>

#include "check.hpp"
#include "odt/few_leaves.hpp"
#include "odt/finish.hpp"
#include "odt/loss_model.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

Loss lost(const std::vector<int>& label, std::int32_t from, std::int32_t to, int classes,
          int leaves) {
  std::vector<Loss> count(static_cast<std::size_t>(classes), 0);
  for (std::int32_t i = from; i < to; ++i)
    ++count[static_cast<std::size_t>(label[static_cast<std::size_t>(i)])];
  std::sort(count.begin(), count.end(), std::greater<>());
  return std::accumulate(count.begin() + std::min(leaves, classes), count.end(), Loss{0});
}

// Few classes are frequent.
int random_label(Random& random, int classes) {
  return std::min(draw(random, 0, classes - 1), draw(random, 0, classes - 1));
}

Problem few_leaved(Random& random, int rows, int features, int classes, int values) {
  Problem p = random_problem(random, rows, features, classes, values);
  for (int& label : p.label) label = random_label(random, classes);
  return p;
}

}  // namespace

CASE(cuts_that_lose_enough_are_closed) {
  Random random(81);
  int closed = 0, tighter = 0;
  for (int trial = 0; trial < check::trials(4000); ++trial) {
    const int classes = draw(random, 3, 16), rows = draw(random, 2, trial % 8 == 0 ? 700 : 150);
    // One side may have more leaves than there are classes.
    const int fewer = draw(random, 1, classes - 1),
              other = draw(random, 1, trial % 5 ? classes : 40);
    const int leaves[2] = {trial % 2 ? fewer : other, trial % 2 ? other : fewer};
    LossModel loss(random_problem(random, 3, 1, 3, 3));
    loss.kind = LossKind::multi_class;
    loss.labels = classes;
    loss.each = draw(random, 1, 3);
    const std::size_t stride = classes <= 8 ? 8 : 16;
    std::vector<int> label;
    std::vector<std::uint64_t> bits((static_cast<std::size_t>(rows) / 64 + 1) * stride, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      label.push_back(random_label(random, classes));
      bits[i / 64 * stride + static_cast<std::size_t>(label[i])] |= 1ULL << i % 64;
    }
    FewLeaves few;
    few.begin(bits.data(), static_cast<int>(stride), static_cast<std::size_t>(rows), loss);
    for (int again = 0; again < 3; ++again) {
      Interval i{};
      i.low = draw(random, 0, rows - 1);
      i.high = draw(random, i.low + 1, rows);
      i.low_left = draw(random, 0, rows) * loss.each;
      i.high_left = i.low_left + draw(random, 0, i.high - i.low) * loss.each;
      i.high_right = draw(random, 0, rows) * loss.each;
      i.low_right = i.high_right + draw(random, 0, i.high - i.low) * loss.each;
      const RowWeights w{nullptr, loss.each};
      const Loss upper = interval_bound(i, w) + draw(random, 1, 1 + rows / 4) * loss.each;
      const OpenCuts before = open_cuts(i, w, upper);
      const OpenCuts after = few.narrow(i, before, upper, leaves[0], leaves[1]);
      Loss least = kInfinite;
      for (std::int32_t t = i.low + 1; t < i.high; ++t) {
        const Loss left =
            std::max(i.low_left + loss.each * lost(label, i.low, t, classes, leaves[0]),
                     i.high_left - w.between(t, i.high));
        const Loss right =
            std::max(i.high_right + loss.each * lost(label, t, i.high, classes, leaves[1]),
                     i.low_right - w.between(i.low, t));
        least = std::min(least, left + right);
        if (left + right < upper && t >= before.first && t <= before.last)
          CHECK(t >= after.first && t <= after.last);
      }
      if (after.first > after.last) {
        closed += before.first <= before.last;
      } else {
        CHECK(after.first >= before.first && after.last <= before.last);
      }
      CHECK(few.lost(i.low, i.high, leaves[0]) ==
            loss.each * lost(label, i.low, i.high, classes, leaves[0]));
      const Loss bound = few.bound(i, leaves[0], leaves[1]);
      CHECK(bound <= least);
      tighter += bound > interval_bound(i, w) && least < kInfinite;
    }
  }
  CHECK(10 * closed > check::trials(4000));
  CHECK(2 * tighter > check::trials(4000));
}

CASE(optimum_of_many_classes_equals_every_tree) {
  Random random(82);
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    Problem p = few_leaved(random, draw(random, 5, 11), draw(random, 1, 3), draw(random, 3, 8),
                           draw(random, 2, 11));
    p.depth = draw(random, 2, 4);
    p.leaf_price = trial % 3 == 0 ? draw(random, 1, 2) : 0;
    const Loss best = Oracle(p).best();
    Options o;
    o.method = 1;
    o.threads = 1 + trial % 2;
    const Result r = solve(p, o);
    CHECK(r.status == Status::optimal);
    CHECK(r.value == best && r.bound == best);
    CHECK(evaluate(p, r.tree) == best);
  }
}

CASE(optimum_of_many_classes_equals_that_on_bit_sets) {
  Random random(83);
  for (int trial = 0; trial < check::trials(400); ++trial) {
    Problem p = few_leaved(random, draw(random, 40, 200), draw(random, 2, 4), draw(random, 3, 9),
                           draw(random, 4, 9));
    p.depth = draw(random, 3, 4);
    p.leaf_price = trial % 4 == 0 ? 1 : 0;
    p.leaves = trial % 5 == 0 ? draw(random, 5, 9) : 0;
    Loss value[2];
    for (int method : {1, 2}) {
      Options o;
      o.method = method;
      const Result r = solve(p, o);
      CHECK(r.status == Status::optimal);
      value[method - 1] = r.value;
    }
    CHECK(value[0] == value[1]);
  }
}

// Nearly all is done in nodes of two leaves, whose work counts too. The time is for a search that
// does not end by its work.
CASE(a_limit_holds_where_nodes_have_two_leaves) {
  Random random(84);
  Problem p = random_problem(random, 60, 10, 3, 1000);
  p.depth = 6;
  p.leaves = 7;
  Options o;
  o.method = 1;
  o.alone = 1000000000;
  o.work_limit = 300000;
  o.time_limit = 30;
  const Result r = solve(p, o);
  CHECK(r.status == Status::feasible);
  CHECK(r.work > o.work_limit && r.counters.scans < 16 * r.work);
}
