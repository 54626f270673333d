// Answers of depth two remembered by the box of their rows: which rows a box holds, and proofs of
// depth four and five beside all trees, with caches of every size.
#include <map>
#include <tuple>

#include "check.hpp"
#include "odt/box_cache.hpp"
#include "odt/finish.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

BoxCache::Box random_box(Random& random) {
  BoxCache::Box box;
  const int tested = draw(random, 1, 2);
  for (int i = 0; i < tested; ++i)
    box.ranges[static_cast<std::size_t>(i)] = {static_cast<std::uint32_t>(i),
                                               static_cast<std::uint32_t>(draw(random, 0, 9)),
                                               static_cast<std::uint32_t>(draw(random, 10, 19))};
  box.state = draw(random, 0, 1);
  return box;
}

std::tuple<int, std::vector<std::uint32_t>> key_of(const BoxCache::Box& box) {
  std::vector<std::uint32_t> words;
  for (const auto& r : box.ranges)
    for (const std::uint32_t word : {r.feature, r.low, r.high}) words.push_back(word);
  return {box.state, words};
}

}  // namespace

CASE(a_box_finds_its_own_answer_or_none) {
  Random random(51);
  int found = 0;
  for (const std::size_t bytes : {std::size_t{1} << 18, std::size_t{1} << 27}) {
    BoxCache cache(bytes);
    std::map<std::tuple<int, std::vector<std::uint32_t>>, Loss> last;
    for (int i = 0; i < check::trials(40000); ++i) {
      const BoxCache::Box box = random_box(random);
      if (const BoxCache::Answer* known = cache.find(box)) {
        CHECK(last.count(key_of(box)) == 1);
        CHECK(known->bound == last[key_of(box)]);
        ++found;
      }
      Outcome out;
      out.value = draw(random, 0, 1000);
      cache.store(box, out);
      last[key_of(box)] = out.value;
      CHECK(cache.find(box)->bound == out.value);
    }
  }
  CHECK(found > 0);
}

CASE(too_few_bytes_hold_nothing) {
  Random random(54);
  BoxCache cache(1000);
  CHECK(cache.off());
  const BoxCache::Box box = random_box(random);
  cache.store(box, Outcome{});
  CHECK(!cache.find(box) && cache.size() == 0);
}

CASE(answers_come_back_with_their_trees) {
  Random random(52);
  BoxCache cache(std::size_t{1} << 20);
  for (int i = 0; i < 1000; ++i) {
    const BoxCache::Box box = random_box(random);
    Outcome out;
    out.value = i;
    out.exact = draw(random, 0, 3) > 0;
    const int kind = draw(random, 0, 2);
    if (out.exact)
      out.plan = kind == 0   ? Plan::leaf()
                 : kind == 1 ? Plan::stump()
                             : Plan::split(i % 7, static_cast<std::uint32_t>(i), Plan::stump(),
                                           Plan::stump());
    cache.store(box, out);
    const BoxCache::Answer* known = cache.find(box);
    CHECK(known && known->exact == out.exact && known->bound == out.value);
    if (!out.exact) continue;
    const Plan plan = known->plan();
    CHECK(plan.nodes.size() == out.plan.nodes.size());
    CHECK(plan.nodes[0].feature == out.plan.nodes[0].feature);
    CHECK(plan.nodes[0].bound == out.plan.nodes[0].bound);
    CHECK(plan.nodes[0].stump == out.plan.nodes[0].stump);
  }
}

CASE(proofs_with_boxes_beside_all_trees) {
  Random random(53);
  std::uint64_t hits = 0;
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    Problem p = random_problem(random, draw(random, 6, 12), draw(random, 2, 4), draw(random, 2, 3),
                               draw(random, 4, 12));
    p.depth = draw(random, 4, 5);
    p.leaf_price = draw(random, 0, 1);
    p.leaf_rows = draw(random, 1, 3) / 2 + 1;
    if (draw(random, 0, 1) == 0) forbid_some(random, p);
    Options options;
    options.method = 1;
    options.beside = false;
    options.threads = 1 + trial % 7 / 6;
    options.memory_limit =
        std::vector<std::size_t>{0, 1, 100000}[static_cast<std::size_t>(trial % 3)];
    const Result r = solve(p, options);
    const Loss best = Oracle(p).best();
    CHECK(r.status == Status::optimal);
    CHECK(r.value == best && r.bound == best);
    CHECK(evaluate(p, r.tree) == best);
    hits += r.counters.cache_hits;
  }
  CHECK(hits > 0);
}
