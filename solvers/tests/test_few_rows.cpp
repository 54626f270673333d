// Depth two by bitmaps of cuts, against all trees and against the scans.
#include "check.hpp"
#include "odt/dataset.hpp"
#include "odt/depth_two.hpp"
#include "odt/few_rows.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

using Few = FewRows;

// What a tree loses, with prices; its claims about single leaves are checked on the way.
Loss walk(const Dataset& data, const Few::Tree& tree) {
  const Problem& p = data.problem;
  Loss lost[2][2] = {{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < p.rows; ++i) {
    const auto above = [&](int f, std::uint32_t bound) {
      return f >= 0 && p.ranks(static_cast<std::size_t>(f))[i] >= bound ? 1 : 0;
    };
    const int s = above(tree.feature, tree.bound);
    const Few::Stump& stump = tree.side[s];
    const int leaf = above(stump.feature, stump.bound);
    lost[s][leaf] += data.loss.loss(p, i, static_cast<std::size_t>(stump.label[leaf]));
  }
  Loss value = 0;
  for (int s = 0; s < (tree.feature < 0 ? 1 : 2); ++s)
    for (int leaf = 0; leaf < (tree.side[s].feature < 0 ? 1 : 2); ++leaf) {
      CHECK(lost[s][leaf] == tree.side[s].lost[leaf]);
      value += lost[s][leaf] + p.leaf_price;
    }
  return value;
}

// Random labels leave nothing to learn; rows that are alike mostly have one class.
void learnable(Random& random, Problem& p) {
  for (std::size_t i = 0; i < p.rows; ++i)
    if (draw(random, 0, 4) > 0)
      p.label[i] = static_cast<int>(p.ranks(0)[i] + p.ranks(p.features - 1)[i]) / 3 % p.classes;
  p.label[0] = 0;
  p.label[1] = 1;
}

}  // namespace

CASE(few_rows_against_all_trees) {
  Random random(31);
  for (int trial = 0; trial < 4000; ++trial) {
    Problem p = random_problem(random, draw(random, 2, 12), draw(random, 1, 4), draw(random, 2, 4),
                               draw(random, 1, 12));
    learnable(random, p);
    p.depth = 2;
    p.leaf_price = draw(random, 0, 2);
    if (draw(random, 0, 2) == 0) p.weight.assign(p.rows, draw(random, 1, 3));
    const Dataset data(p, choose_kernels(Isa::best));
    CHECK(Few::suits(data, p.rows));
    const Loss best = Oracle(p).best();
    Options options;
    Control control(options);
    Counters counters;
    Few few(control, counters);
    View view;
    view.make_root(data, true, true);
    Few::Tree tree;
    CHECK(few.solve(view, best + draw(random, 1, 5), tree));
    CHECK(tree.value == best);
    CHECK(walk(data, tree) == best);
    CHECK(!few.solve(view, best, tree));
  }
}

CASE(few_rows_against_scans) {
  Random random(32);
  for (int trial = 0; trial < check::trials(1500, 0.4); ++trial) {
    Problem p = random_problem(random, draw(random, 2, static_cast<int>(Few::kMostRows)),
                               draw(random, 1, trial % 8 == 0 ? 33 : 6),
                               trial % 3 == 0 ? 2 : draw(random, 2, 16), draw(random, 2, 200));
    learnable(random, p);
    p.depth = 2;
    p.leaf_price = draw(random, 0, 3);
    p.allowed.resize(p.features);
    for (std::size_t f = 0; f < p.features; ++f)
      if (draw(random, 0, 3) == 0)
        for (std::uint32_t r = 0; r < p.distinct[f]; ++r)
          p.allowed[f].push_back(static_cast<char>(draw(random, 0, 3) > 0));
    const Dataset data(p, choose_kernels(trial % 2 ? Isa::best : Isa::portable));
    Options options;
    Control control(options);
    Counters counters;
    DepthTwo scans(control, counters);
    Few few(control, counters);
    View root, part;
    root.make_root(data, true, true);
    const auto same = [&](View& view, Few::Tree& tree) {
      const Loss best =
          scans.solve(view, shape(2, 4), kInfinite, 0, {1, false, 0}, nullptr, 0).value;
      CHECK(few.solve(view, best + 1, tree));
      CHECK(tree.value == best);
      CHECK(!few.solve(view, best, tree));
    };
    Few::Tree tree;
    same(root, tree);
    CHECK(walk(data, tree) == tree.value);
    // A child, whose ranks are not dense.
    if (p.distinct[0] < 4) continue;
    part.make_child(root, 0, static_cast<std::uint16_t>(p.distinct[0] / 2),
                    draw(random, 0, 1) == 1);
    bool mixed = false;
    for (std::size_t i = 1; i < part.rows(); ++i)
      mixed = mixed || p.label[part.order(0)[i]] != p.label[part.order(0)[0]];
    if (mixed) same(part, tree);
  }
}
