// Lists of all trees under rules against all trees: how many have which objective, in order, each
// once.
#include <set>
#include <vector>

#include "check.hpp"
#include "odt/control.hpp"
#include "odt/enumerate.hpp"
#include "random_ruled.hpp"

using namespace odt;
using namespace odt_test;

namespace {

Listing up_to(const RuledProblem& p, Loss most) {
  Listing listing;
  listing.at_most = most;
  listing.twin.assign(p.base.features, -1);
  listing.absent.resize(p.base.features);
  return listing;
}

// A tree by what the engine says of its nodes.
std::vector<int> written(const Tree& tree) {
  std::vector<int> found;
  for (const TreeNode& n : tree.nodes)
    found.insert(found.end(),
                 {n.feature, n.feature < 0 ? n.label : static_cast<int>(n.cut), n.left, n.right});
  return found;
}

struct Seen {
  std::map<Loss, long> counts;
  std::vector<std::vector<int>> trees;
  bool in_order = true, once = true, right = true, complete = false;
};

Seen list(const RuledProblem& p, const AllTrees& all, Loss most, int threads) {
  Seen seen;
  std::set<std::vector<int>> known;
  Loss last = -kInfinite;
  Listing listing = up_to(p, most);
  listing.found = [&](const Tree& tree, Loss value, int) {
    seen.in_order = seen.in_order && value >= last;
    last = value;
    seen.trees.push_back(written(tree));
    seen.once = seen.once && known.insert(seen.trees.back()).second;
    seen.right = seen.right && all.value(tree) == value;
    ++seen.counts[value];
    return true;
  };
  Options o;
  o.threads = threads;
  o.alone = 0;
  seen.complete = enumerate(p, listing, o).complete;
  return seen;
}

}  // namespace

CASE(a_list_has_every_tree_once_in_order) {
  Random random(31);
  long trees = 0;
  for (int trial = 0; trial < 700; ++trial) {
    RuledProblem p = ruled_problem(random, trial % 5 == 0 ? Loss{1} << 40 : 1);
    if (draw(random, 0, 2) == 0) {  // a limit on leaves, as a component and as the engine's own
      p.base.leaves = draw(random, 1, 5);
      p.clauses.push_back({{p.components, 0, true, p.base.leaves}});
      ++p.components;
      p.leaf.push_back(1);
      for (int label = 0; label < p.base.classes; ++label) p.sum_of.push_back(-1);
      for (int column = 0; column < p.columns; ++column) p.split.push_back(0);
      p.path_weight.push_back(-1);
      p.path_delta.emplace_back();
    }
    const AllTrees all(p);
    std::map<Loss, long> expected = all.counts();
    const int ranks = draw(random, 1, 12);
    while (static_cast<int>(expected.size()) > ranks) expected.erase(std::prev(expected.end()));
    const Loss most = expected.empty() ? 1000 : expected.rbegin()->first;
    const Seen seen = list(p, all, most, 1 + trial % 3);
    CHECK(seen.complete && seen.in_order && seen.once && seen.right);
    CHECK(seen.counts == expected);
    for (const auto& [value, count] : expected) trees += count;
  }
  CHECK(trees > 5000);
}

CASE(a_list_of_several_threads_is_that_of_one) {
  Random random(34);
  long trees = 0;
  for (int trial = 0; trial < check::trials(1000); ++trial) {
    const RuledProblem p = ruled_problem(random, trial % 5 == 0 ? Loss{1} << 40 : 1);
    const AllTrees all(p);
    const std::map<Loss, long> counts = all.counts();
    if (counts.empty()) continue;
    const Loss most = std::next(counts.begin(), std::min<long>(4, counts.size() - 1))->first;
    const Seen one = list(p, all, most, 1);
    for (int threads : {2, 3}) {
      const Seen more = list(p, all, most, threads);
      CHECK(more.complete && more.trees == one.trees);
    }
    trees += static_cast<long>(one.trees.size());
  }
  CHECK(trees > 100);
}

CASE(threads_of_a_list_stop_together) {
  Random random(35);
  int stopped = 0, short_of_memory = 0;
  Looks::work = 50;
  for (int trial = 0; trial < 150; ++trial) {
    const RuledProblem p = ruled_problem(random, 1);
    Listing listing = up_to(p, 1000);
    listing.count = true;
    const Listed whole = enumerate(p, listing, Options{});
    Options o;
    o.threads = 3;
    o.alone = 0;
    o.work_limit = static_cast<std::uint64_t>(draw(random, 1, 5000));
    o.memory_limit = trial % 2 == 0 ? static_cast<std::size_t>(draw(random, 1000, 100000)) : 0;
    const Listed part = enumerate(p, listing, o);
    if (part.complete) CHECK(part.counts == whole.counts && part.without == whole.without);
    stopped += !part.complete && !part.no_memory;
    short_of_memory += part.no_memory;
  }
  Looks::work = Looks::kUsual;
  CHECK(stopped > 0 && short_of_memory > 0);
}

CASE(a_list_ends_when_it_is_told_to) {
  Random random(32);
  for (int trial = 0; trial < 100; ++trial) {
    const RuledProblem p = ruled_problem(random, 1);
    const Loss best = AllTrees(p).best();
    if (best >= kInfinite) continue;
    Listing listing = up_to(p, best + 3);
    int count = 0;
    listing.found = [&](const Tree&, Loss value, int) {
      CHECK(count > 0 || value == best);
      return ++count < 3;
    };
    const Listed listed = enumerate(p, listing, Options{});
    CHECK(count <= 3 && (listed.complete || count == 3));
  }
}

CASE(a_list_without_memory_or_time_is_not_complete) {
  Random random(33);
  RuledProblem p;
  do p = ruled_problem(random, 1);
  while (AllTrees(p).counts().size() < 5);
  Listing listing = up_to(p, 1000);
  listing.found = [](const Tree&, Loss, int) { return true; };
  Options o;
  for (std::size_t least : {1, 1000}) {  // not even for the rows; for them
    o.memory_limit = least;
    const Listed small = enumerate(p, listing, o);
    CHECK(!small.complete && small.no_memory);
  }
  o.memory_limit = 0;
  CHECK(enumerate(p, listing, o).complete);
}
