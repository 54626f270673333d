// What boxes say of boxes inside and around them: bounds beside the best trees, by brute force, and
// proofs of depth four with cuts carried over beside all trees and beside proofs without.
#include <map>
#include <tuple>

#include "check.hpp"
#include "odt/finish.hpp"
#include "odt/memory.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

struct Rows {
  std::vector<std::size_t> in;
  BoxCache::Box box;
};

// Rows between two ranks of one or two features, and their box.
Rows random_rows(Random& random, const Problem& p) {
  Rows rows;
  const int first = draw(random, 0, static_cast<int>(p.features) - 2);
  std::vector<std::size_t> tested{static_cast<std::size_t>(first)};
  if (draw(random, 0, 3) > 0) tested.push_back(static_cast<std::size_t>(first) + 1);
  std::vector<std::pair<int, int>> range;
  for (const std::size_t f : tested) {
    const int last = static_cast<int>(p.distinct[f]) - 1;
    const int low = draw(random, 0, last);
    range.push_back({low, draw(random, low, last)});
  }
  for (std::size_t i = 0; i < p.rows; ++i) {
    bool in = true;
    for (std::size_t t = 0; t < tested.size(); ++t) {
      const int rank = static_cast<int>(p.ranks(tested[t])[i]);
      in = in && rank >= range[t].first && rank <= range[t].second;
    }
    if (in) rows.in.push_back(i);
  }
  for (std::size_t t = 0; t < tested.size() && !rows.in.empty(); ++t) {
    const std::uint32_t* rank = p.ranks(tested[t]);
    BoxCache::Range r{static_cast<std::uint32_t>(tested[t]), ~0u, 0};
    for (const std::size_t i : rows.in) {
      r.low = std::min(r.low, rank[i]);
      r.high = std::max(r.high, rank[i]);
    }
    rows.box.ranges[t] = r;
  }
  return rows;
}

Problem part(const Problem& p, const std::vector<std::size_t>& in) {
  Problem q;
  q.rows = in.size();
  q.features = p.features;
  q.classes = p.classes;
  q.depth = 2;
  q.distinct = p.distinct;
  for (std::size_t f = 0; f < p.features; ++f)
    for (const std::size_t i : in) q.rank.push_back(p.ranks(f)[i]);
  for (const std::size_t i : in) {
    q.label.push_back(p.label[i]);
    if (!p.weight.empty()) q.weight.push_back(p.weight[i]);
  }
  return q;
}

Loss load_of(const Problem& p) {
  Loss all = 0;
  for (std::size_t i = 0; i < p.rows; ++i) all += p.weight.empty() ? 1 : p.weight[i];
  return all;
}

void weigh(Random& random, Problem& p) {
  const int kind = draw(random, 0, 3);
  const int most = kind == 1 ? 3 : 40;
  if (kind == 1 || kind == 2)
    for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, most));
  if (kind != 3) return;
  for (int label = 0; label < p.classes; ++label)
    for (int c = 0; c < p.classes; ++c) p.cost.push_back(label == c ? 0 : draw(random, 1, most));
}

Options proof(Random& random, std::size_t memory) {
  Options options;
  options.method = 1;
  options.beside = false;
  options.memory_limit = memory;
  static const std::vector<Isa> sets = instruction_sets();
  const int isa = draw(random, 0, static_cast<int>(sets.size()));
  options.isa = isa == 0 ? Isa::best : sets[static_cast<std::size_t>(isa) - 1];
  options.threads = draw(random, 0, 4) == 0 ? 2 : 1;
  return options;
}

}  // namespace

CASE(bounds_of_near_boxes_are_true) {
  Random random(61);
  int bounded = 0, all = 0;
  for (int trial = 0; trial < check::trials(300); ++trial) {
    Problem p =
        random_problem(random, draw(random, 8, 16), 3, draw(random, 2, 3), draw(random, 3, 10));
    if (draw(random, 0, 1) == 0)
      for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 1, 5));
    NearBoxes near(std::size_t{1} << draw(random, 16, 20));
    CHECK(!near.off());
    for (int i = 0; i < 60; ++i) {
      const Rows rows = random_rows(random, p);
      if (rows.in.empty()) continue;
      const Problem q = part(p, rows.in);
      const Loss best = Oracle(q).best(), load = load_of(q);
      const NearBoxes::Cuts found = near.cuts(rows.box);
      const Loss bound = near.bound(rows.box, load, kInfinite);
      CHECK(bound <= best);
      if (found.fewer) CHECK(found.fewer->rows <= static_cast<int>(rows.in.size()));
      if (found.more) CHECK(found.more->rows >= static_cast<int>(rows.in.size()));
      bounded += best > 0 && bound == best;
      all += best > 0;
      KnownCuts cuts;
      cuts.rows = static_cast<std::int32_t>(rows.in.size());
      cuts.load = load;
      if (draw(random, 0, 1) == 0) cuts.cuts.push_back({});
      near.store(rows.box, load, best - draw(random, 0, 1), std::move(cuts));
    }
  }
  CHECK(10 * bounded > all);
}

CASE(many_boxes_take_the_place_of_old_ones) {
  NearBoxes near(std::size_t{1} << 22);
  BoxCache::Box box;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    box.ranges[0] = {0, 10 * i, 10 * i + 9};
    near.store(box, 10, i, {});
    CHECK(near.bound(box, 10, kInfinite) == i);
  }
  box.ranges[0] = {0, 0, 9};
  CHECK(near.bound(box, 10, kInfinite) == 0);
  CHECK(NearBoxes(1000).off());
}

CASE(what_is_taken_is_known) {
  Random random(64);
  const auto random_box = [&] {
    BoxCache::Box box;
    for (std::uint32_t f = 0; f < 2; ++f) {
      const auto low = static_cast<std::uint32_t>(draw(random, 0, 9));
      box.ranges[f] = {f, low, low + static_cast<std::uint32_t>(draw(random, 0, 9))};
    }
    return box;
  };
  for (int trial = 0; trial < check::trials(200); ++trial) {
    Memory all(std::size_t{1} << 22), first(std::size_t{1} << 22), second(std::size_t{1} << 22);
    for (int i = 0; i < 60; ++i) {
      const BoxCache::Box box = random_box();
      Outcome out;
      out.value = draw(random, 0, 50);
      const Loss load = draw(random, 50, 90);
      KnownCuts cuts;
      cuts.rows = draw(random, 1, 90);
      cuts.cuts.resize(static_cast<std::size_t>(draw(random, 0, 1)));
      KnownCuts same = cuts;
      Memory& part = i < 30 ? first : second;
      part.near.store(box, load, out.value, std::move(cuts));
      part.boxes.store(box, out);
      all.near.store(box, load, out.value, std::move(same));
      all.boxes.store(box, out);
    }
    const auto rows = [](const KnownCuts* cuts) { return cuts ? cuts->rows : 0; };
    const auto compare = [&](const BoxCache::Box& box, Loss bound, const NearBoxes::Cuts& found) {
      const NearBoxes::Cuts near = all.near.cuts(box);
      CHECK(all.near.bound(box, 60, kInfinite) == bound);
      CHECK(rows(near.fewer) == rows(found.fewer) && rows(near.more) == rows(found.more));
    };
    std::vector<BoxCache::Box> asked;
    for (int i = 0; i < 20; ++i) {
      asked.push_back(random_box());
      NearBoxes::Cuts near = first.near.cuts(asked.back());
      near.add(second.near.cuts(asked.back()));
      compare(asked.back(),
              std::max(first.near.bound(asked.back(), 60, kInfinite),
                       second.near.bound(asked.back(), 60, kInfinite)),
              near);
    }
    first.take(second);
    CHECK(second.boxes.size() == 0);
    for (const BoxCache::Box& box : asked) {
      compare(box, first.near.bound(box, 60, kInfinite), first.near.cuts(box));
      CHECK(second.near.bound(box, 60, kInfinite) == 0);
      const BoxCache::Answer *known = first.boxes.find(box), *same = all.boxes.find(box);
      CHECK(!known == !same && (!known || known->bound == same->bound));
    }
  }
}

CASE(proofs_with_near_boxes_beside_all_trees) {
  Random random(62);
  std::uint64_t pruned = 0;
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    Problem p = random_problem(random, draw(random, 6, 14), draw(random, 2, 4), draw(random, 2, 4),
                               draw(random, 4, 14));
    weigh(random, p);
    p.depth = 4;
    p.leaf_price = draw(random, 0, 2) == 0 ? draw(random, 1, 6) : 0;
    const Result r = solve(p, proof(random, trial % 3 == 0 ? 1000000 : 0));
    const Loss best = Oracle(p).best();
    CHECK(r.status == Status::optimal);
    CHECK(r.value == best && r.bound == best);
    CHECK(evaluate(p, r.tree) == best);
    pruned += r.counters.pruned_lower;
  }
  CHECK(pruned > 0);
}

// On more rows than an oracle takes; a limit of one byte keeps nothing.
CASE(proofs_with_near_boxes_beside_those_without) {
  Random random(63);
  std::uint64_t with = 0, without = 0;
  for (int trial = 0; trial < check::trials(300); ++trial) {
    Problem p = random_problem(random, draw(random, 30, 120), draw(random, 2, 4),
                               draw(random, 2, 5), draw(random, 6, 120));
    for (std::size_t i = 0; i < p.rows; ++i)  // so that trees find something
      if (draw(random, 0, 4) > 0)
        p.label[i] = static_cast<int>(p.ranks(0)[i] / 9 + p.ranks(1)[i] / 13) % p.classes;
    weigh(random, p);
    p.depth = draw(random, 0, 9) == 0 ? 5 : 4;
    p.leaf_price = draw(random, 0, 2) == 0 ? draw(random, 1, 6) : 0;
    const Result r = solve(p, proof(random, 0)), plain = solve(p, proof(random, 1));
    CHECK(r.status == Status::optimal && plain.status == Status::optimal);
    CHECK(r.value == plain.value && r.bound == plain.bound);
    CHECK(evaluate(p, r.tree) == r.value);
    with += r.counters.scans;
    without += plain.counters.scans;
  }
  CHECK(with < without);
}
