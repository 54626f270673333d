// Trees of numbers where features are copies and complements of others, under rules that tell some
// of them apart, against all trees.
#include <cmath>
#include <map>
#include <tuple>

#include "check.hpp"
#include "odt/number_problem.hpp"
#include "odt/number_repeats.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

// Every tree within depth and leaves that keeps the rules on paths, levels and missing cells.
class RepeatsOracle {
 public:
  explicit RepeatsOracle(const NumberProblem& p) : p_(p) {}
  double best() { return best(all(), 0, most_leaves(), 0); }
  // Of those that begin with a cut of a feature.
  double best(std::size_t f, std::uint32_t bound) {
    const unsigned left = below(f, bound);
    const int next = p_.rules.after(0, f);
    double value = kUnbounded;
    for (int l = 1; l < most_leaves() && next >= 0 && left != 0 && left != all(); ++l)
      value = std::min(value, best(left, 1, l, next) +
                                  best(all() & ~left, 1, most_leaves() - l, next));
    return value;
  }
  double leaf(unsigned rows) const {
    double weight = 0, sum = 0, squares = 0;
    for (std::uint32_t i = 0; i < p_.base.rows; ++i)
      if (rows >> i & 1) {
        weight += p_.weight_of(i);
        sum += p_.weight_of(i) * p_.target[i];
        squares += p_.weight_of(i) * p_.target[i] * p_.target[i];
      }
    return squares - (weight > 0 ? sum * sum / weight : 0) + p_.leaf_price;
  }
  // What a tree loses; infinite where it breaks a rule.
  double lost(const Tree& tree, int at, unsigned rows, std::size_t level, int state) const {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(at)];
    if (rows == 0) return kUnbounded;
    if (node.feature < 0) return leaf(rows);
    const std::size_t f = static_cast<std::size_t>(node.feature);
    const int next = p_.rules.after(state, f);
    if (next < 0 || !stands(f, node.cut, node.next, level)) return kUnbounded;
    const unsigned left = below(f, node.cut + 1) & rows;
    return lost(tree, node.left, left, level + 1, next) +
           lost(tree, node.right, rows & ~left, level + 1, next);
  }
  unsigned below(std::size_t f, std::uint32_t bound) const {
    unsigned found = 0;
    for (std::size_t i = 0; i < p_.base.rows; ++i)
      if (p_.base.ranks(f)[i] < bound) found |= 1u << i;
    return found;
  }

 private:
  bool stands(std::size_t f, std::uint32_t low, std::uint32_t high, std::size_t level) const {
    return p_.base.gap_open(f, low, high) && p_.rules.open(f, low, high, level);
  }
  unsigned all() const { return (1u << p_.base.rows) - 1; }
  int most_leaves() const { return p_.base.leaves > 0 ? p_.base.leaves : 1 << p_.base.depth; }
  double best(unsigned rows, std::size_t level, int leaves, int state) {
    const auto key = std::make_tuple(rows, level, leaves, state);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    double value = leaf(rows);
    const bool splits = static_cast<int>(level) < p_.base.depth && leaves > 1;
    for (std::size_t f = 0; f < p_.base.features && splits; ++f) {
      const int next = p_.rules.after(state, f);
      if (next < 0) continue;
      std::map<std::uint32_t, unsigned> of;  // a rank's rows
      for (std::size_t i = 0; i < p_.base.rows; ++i)
        if (rows >> i & 1) of[p_.base.ranks(f)[i]] |= 1u << i;
      unsigned left = 0;
      for (auto low = of.begin(), high = std::next(low); high != of.end(); ++low, ++high) {
        left |= low->second;
        if (!stands(f, low->first, high->first, level)) continue;
        for (int l = 1; l < leaves; ++l)
          value = std::min(value, best(left, level + 1, l, next) +
                                      best(rows & ~left, level + 1, leaves - l, next));
      }
    }
    return known_[key] = value;
  }

  const NumberProblem& p_;
  std::map<std::tuple<unsigned, std::size_t, int, int>, double> known_;
};

// A path has so much to spend on columns; where levels or missing cells are asked about, no state
// is a relaxed one.
void draw_rules(Random& random, NumberProblem& p) {
  NumberRules& r = p.rules;
  const std::size_t features = p.base.features;
  for (std::size_t f = 0; f < features; ++f) r.column.push_back(static_cast<int>(f));
  r.columns = static_cast<int>(features);
  std::vector<int> cost;
  for (std::size_t f = 0; f < features; ++f) cost.push_back(draw(random, 0, 3) % 3);
  const int spent = draw(random, 1, 3), states = spent + 1;
  const bool levels = draw(random, 0, 1), missing = draw(random, 0, 2) == 0,
             strict = levels || missing;
  for (int copy = 0; copy < (strict ? 2 : 1); ++copy)
    for (int state = 0; state < states; ++state) {
      for (std::size_t f = 0; f < features; ++f) {
        const int next = state + cost[f];
        r.next.push_back(next <= spent ? copy * states + next : -1);
      }
      r.need.push_back(0);
      r.relaxed.push_back(strict ? states + state : state);
      r.leaf_rules.emplace_back();
      r.split_rules.emplace_back();
    }
  if (missing)
    for (std::size_t f = 0; f < features; ++f) {
      const int end = draw(random, 0, 5);
      r.missing_low.push_back(end == 0 ? 0 : NumberRules::kNoRank);
      r.missing_high.push_back(end == 1 ? p.base.distinct[f] - 1 : NumberRules::kNoRank);
    }
  if (!levels) return;
  r.cuts_at.resize(static_cast<std::size_t>(p.base.depth));
  for (auto& of_level : r.cuts_at)
    for (std::size_t f = 0; f < features; ++f) {
      const std::vector<std::uint32_t> counts = p.base.cuts_below(f);
      std::vector<std::uint32_t> taken(counts.size(), 0);
      for (std::size_t rank = 1; rank < counts.size(); ++rank)
        taken[rank] = taken[rank - 1] + (counts[rank] > counts[rank - 1] && draw(random, 0, 3) > 0);
      of_level.push_back(taken);
    }
}

NumberProblem repeated(Random& random) {
  NumberProblem p;
  p.base = random_problem(random, draw(random, 2, 9), draw(random, 2, 6), 2, draw(random, 2, 4));
  for (std::size_t f = 1; f < p.base.features; ++f) {
    if (draw(random, 0, 2) == 0) continue;
    const std::size_t other = static_cast<std::size_t>(draw(random, 0, static_cast<int>(f) - 1));
    const bool turned = draw(random, 0, 1) == 1;
    p.base.distinct[f] = p.base.distinct[other];
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      const std::uint32_t rank = p.base.ranks(other)[i];
      p.base.rank[f * p.base.rows + i] = turned ? p.base.distinct[f] - 1 - rank : rank;
    }
  }
  p.base.depth = draw(random, 1, 3);
  if (draw(random, 0, 2) == 0) p.base.leaves = draw(random, 2, 7);
  if (draw(random, 0, 2) == 0) {
    p.base.allowed.resize(p.base.features);
    for (std::size_t f = 0; f < p.base.features; ++f)
      for (std::uint32_t r = 0; r < p.base.distinct[f]; ++r)
        p.base.allowed[f].push_back(static_cast<char>(draw(random, 0, 4) > 0));
  }
  const bool weighed = draw(random, 0, 1);
  for (std::size_t i = 0; i < p.base.rows; ++i) {
    p.target.push_back(draw(random, 0, 9));
    if (weighed) p.weight.push_back(draw(random, 1, 3));
  }
  if (draw(random, 0, 1)) p.leaf_price = 0.5;
  if (draw(random, 0, 2) > 0) draw_rules(random, p);
  return p;
}

// A tree of one or two random splits that keeps the rules, if there is one.
Tree some_tree(Random& random, const NumberProblem& p, const RepeatsOracle& oracle) {
  const auto split = [&](int left, int right) {
    const std::size_t f =
        static_cast<std::size_t>(draw(random, 0, static_cast<int>(p.base.features) - 1));
    const std::uint32_t cut = static_cast<std::uint32_t>(
        draw(random, 0, std::max(0, static_cast<int>(p.base.distinct[f]) - 2)));
    return TreeNode{static_cast<int>(f), cut, cut + 1, left, right, -1};
  };
  const bool two = p.base.depth > 1 && p.base.leaves != 2 && p.rules.missing_low.empty();
  for (int trial = 0; trial < 20; ++trial) {
    Tree tree;
    tree.nodes.resize(two ? 5 : 3);
    tree.nodes[0] = split(1, 2);
    if (two) tree.nodes[1] = split(3, 4);
    if (p.base.distinct[static_cast<std::size_t>(tree.nodes[0].feature)] > 1 &&
        oracle.lost(tree, 0, (1u << p.base.rows) - 1, 0, 0) < kUnbounded)
      return tree;
  }
  return {};
}

}  // namespace

CASE(repeated_cuts_against_all_trees) {
  Random random(45);
  int met = 0, started = 0;
  for (int trial = 0; trial < check::trials(6000); ++trial) {
    const NumberProblem p = repeated(random);
    RepeatsOracle oracle(p);
    const unsigned all = (1u << p.base.rows) - 1;
    met += !NumberRepeats(p).none();
    NumberOptions o;
    o.vectors = trial % 3 == 0;
    const NumberResult found = solve_numbers(p, o);
    const double value = oracle.best();
    CHECK(found.status == Status::optimal);
    CHECK(std::fabs(found.value - value) < 1e-8);
    CHECK(std::fabs(oracle.lost(found.tree, 0, all, 0, 0) - value) < 1e-8);
    const std::vector<std::size_t> first = first_cuts(p.base);
    for (std::size_t f = 0; f < p.base.features && !found.by_first.empty(); ++f)
      for (std::uint32_t bound = 1; bound < p.base.distinct[f]; ++bound)
        CHECK(found.by_first[first[f] + bound - 1] <= oracle.best(f, bound) + 1e-8);
    o.start = some_tree(random, p, oracle);
    if (o.start.empty()) continue;
    ++started;
    const double begun = oracle.lost(o.start, 0, all, 0, 0);
    const Tree same = NumberRepeats(p).retold(o.start);
    CHECK(std::fabs(oracle.lost(same, 0, all, 0, 0) - begun) < 1e-8);
    o.upper_bound = begun;
    o.work_limit = 1;
    const NumberResult soon = solve_numbers(p, o);
    CHECK(soon.value <= begun + 1e-8);
    CHECK(std::fabs(oracle.lost(soon.tree, 0, all, 0, 0) - soon.value) < 1e-8);
  }
  CHECK(met > check::trials(3000));
  CHECK(started > check::trials(3000));
}
