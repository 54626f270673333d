// Random problems under rules and an oracle that knows every tree of them.
#pragma once

#include <map>
#include <utility>

#include "odt/ruled.hpp"
#include "random_problem.hpp"

namespace odt_test {

using namespace odt;

using Made =
    std::pair<std::vector<odt::Loss>, std::uint64_t>;  // components and facts of a sub-tree
using Trees = std::map<Made, long>;                    // how many sub-trees have these

inline int need_of(const RuledProblem& p, int state) {
  return p.need[static_cast<std::size_t>(state)];
}

// All sub-trees by their components and facts, counted; nothing is left out for being worse.
class AllTrees {
 public:
  explicit AllTrees(const RuledProblem& p)
      : p_(p), labels_(static_cast<std::size_t>(p.base.classes)) {}

  Loss best() const {
    for (const auto& [objective, count] : counts()) return objective;
    return kInfinite;
  }
  // How many trees that keep the rules have which objective.
  std::map<Loss, long> counts() const {
    std::map<Loss, long> found;
    for (const auto& [m, count] : trees((1u << p_.base.rows) - 1, 0, 0))
      if (kept(m)) found[objective(m)] += count;
    return found;
  }

  // Of a tree of the engine: the same, from the rules; a broken rule gives no tree.
  Loss value(const Tree& tree) const {
    const Trees one = of(tree, 0, (1u << p_.base.rows) - 1, 0, 0);
    return one.empty() || !kept(one.begin()->first) ? kInfinite : objective(one.begin()->first);
  }

 private:
  Loss sum(unsigned rows, int at) const {
    Loss total = 0;
    for (std::size_t i = 0; at >= 0 && i < p_.base.rows; ++i)
      if (rows >> i & 1)
        total += p_.value[i * static_cast<std::size_t>(p_.sums) + static_cast<std::size_t>(at)];
    return total;
  }
  bool holds(const std::vector<RowClause>& clauses, const std::vector<int>& open, unsigned rows,
             std::size_t label) const {
    for (int c : open) {
      bool one = false;
      for (const RowLiteral& l : clauses[static_cast<std::size_t>(c)])
        one =
            one || l.constant + sum(rows, l.sum.size() == 1 ? l.sum[0] : l.sum[label]) <= l.at_most;
      if (!one) return false;
    }
    return true;
  }
  Trees leaf(unsigned rows, int state, std::size_t label) const {
    if (need_of(p_, state) > 0 ||
        !holds(p_.leaf_clauses, p_.leaf_rules[static_cast<std::size_t>(state)], rows, label))
      return {};
    std::vector<Loss> values;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p_.components); ++k)
      values.push_back(p_.leaf[k] + sum(rows, p_.sum_of[k * labels_ + label]));
    return {{{values, 0}, 1}};
  }
  // The state below a split that may stand, else -1.
  int below(unsigned rows, int level, int state, std::size_t f, unsigned left) const {
    if (left == 0 || left == rows) return -1;
    if (!holds(p_.split_clauses, p_.split_rules[static_cast<std::size_t>(state)], rows, 0))
      return -1;
    std::uint32_t low = 0, high = p_.base.distinct[f];
    for (std::size_t i = 0; i < p_.base.rows; ++i) {
      if (left >> i & 1)
        low = std::max(low, p_.base.ranks(f)[i]);
      else if (rows >> i & 1)
        high = std::min(high, p_.base.ranks(f)[i]);
    }
    if ((p_.missing_low[f] && low == 0) || (p_.missing_high[f] && high + 1 == p_.base.distinct[f]))
      return -1;
    if (!p_.allowed_at.empty()) {
      const auto& flags = p_.allowed_at[static_cast<std::size_t>(level)][f];
      bool some = flags.empty();
      for (std::uint32_t r = low; !some && r < high; ++r) some = flags[r] != 0;
      if (!some) return -1;
    }
    return p_.next[static_cast<std::size_t>(state * p_.columns + p_.column[f])];
  }
  Trees joined(const Trees& left, const Trees& right, unsigned rows, unsigned of_left, int level,
               int state, std::size_t f) const {
    const std::size_t column = static_cast<std::size_t>(p_.column[f]),
                      columns = static_cast<std::size_t>(p_.columns);
    std::uint64_t facts = p_.split_facts[static_cast<std::size_t>(level) * columns + column];
    for (const Pair& pair : p_.pairs)
      if ((rows >> pair.first & rows >> pair.second & 1) &&
          (of_left >> pair.first & 1) != (of_left >> pair.second & 1))
        facts |= std::uint64_t{1} << pair.fact;
    Trees found;
    for (const auto& [a, count] : left)
      for (const auto& [b, other_count] : right) {
        Made m = a;
        m.second |= b.second | facts;
        for (std::size_t k = 0; k < static_cast<std::size_t>(p_.components); ++k) {
          m.first[k] += b.first[k] + p_.split[k * columns + column];
          if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
            m.first[k] += sum(rows, p_.path_weight[k]) *
                          p_.path_delta[k][static_cast<std::size_t>(state) * columns + column];
        }
        found[m] += count * other_count;
      }
    return found;
  }
  unsigned left_of(unsigned rows, std::size_t f, std::uint32_t cut) const {
    unsigned left = 0;
    for (std::size_t i = 0; i < p_.base.rows; ++i)
      if ((rows >> i & 1) && p_.base.ranks(f)[i] <= cut) left |= 1u << i;
    return left;
  }
  Trees trees(unsigned rows, int level, int state) const {
    Trees found;
    const auto add = [&](const Trees& more) {
      for (const auto& [m, count] : more) found[m] += count;
    };
    for (std::size_t label = 0; label < labels_; ++label) add(leaf(rows, state, label));
    if (level == p_.base.depth) return found;
    for (std::size_t f = 0; f < p_.base.features; ++f)
      for (std::uint32_t cut = 0; cut + 1 < p_.base.distinct[f]; ++cut) {
        const unsigned left = left_of(rows, f, cut);
        if (cut > 0 && left == left_of(rows, f, cut - 1)) continue;  // the same split
        const int next = below(rows, level, state, f, left);
        if (next < 0) continue;
        add(joined(trees(left, level + 1, next), trees(rows & ~left, level + 1, next), rows, left,
                   level, state, f));
      }
    return found;
  }
  Trees of(const Tree& tree, int at, unsigned rows, int level, int state) const {
    const TreeNode& n = tree.nodes[static_cast<std::size_t>(at)];
    if (n.feature < 0) return leaf(rows, state, static_cast<std::size_t>(n.label));
    const std::size_t f = static_cast<std::size_t>(n.feature);
    const unsigned left = left_of(rows, f, n.cut);
    const int next = level < p_.base.depth ? below(rows, level, state, f, left) : -1;
    if (next < 0) return {};
    return joined(of(tree, n.left, left, level + 1, next),
                  of(tree, n.right, rows & ~left, level + 1, next), rows, left, level, state, f);
  }
  bool kept(const Made& m) const {
    for (const ModelClause& clause : p_.clauses) {
      bool one = false;
      for (const ModelLiteral& l : clause)
        one = one || (l.component >= 0 ? m.first[static_cast<std::size_t>(l.component)] <= l.at_most
                                       : ((m.second >> l.fact & 1) == 1) == l.positive);
      if (!one) return false;
    }
    return true;
  }
  Loss objective(const Made& m) const {
    Loss total = 0;
    for (const ObjectiveTerm& t : p_.objective) {
      Loss largest = t.fact >= 0 ? static_cast<Loss>(m.second >> t.fact & 1) : -kInfinite;
      for (int k : t.components) largest = std::max(largest, m.first[static_cast<std::size_t>(k)]);
      total += t.coefficient * largest;
    }
    return total;
  }

  const RuledProblem& p_;
  std::size_t labels_;
};

inline void draw_components(Random& r, RuledProblem& p, Loss big) {
  const std::size_t n = p.base.rows, labels = static_cast<std::size_t>(p.base.classes),
                    columns = static_cast<std::size_t>(p.columns);
  p.components = draw(r, 1, 3);
  p.sums = draw(r, 1, 4);
  const int low = draw(r, 0, 1) ? -3 : 0;
  for (std::size_t i = 0; i < n * static_cast<std::size_t>(p.sums); ++i)
    p.value.push_back(draw(r, low, 4) * big);
  const bool leaves = draw(r, 0, 2) == 0, splits = draw(r, 0, 2) == 0;
  for (int k = 0; k < p.components; ++k) {
    for (std::size_t c = 0; c < labels; ++c) p.sum_of.push_back(draw(r, -1, p.sums - 1));
    p.leaf.push_back(leaves ? draw(r, -2, 3) * big : 0);
    for (std::size_t c = 0; c < columns; ++c) p.split.push_back(splits ? draw(r, -2, 2) * big : 0);
    const bool paths = draw(r, 0, 2) == 0;
    p.path_weight.push_back(paths ? draw(r, -1, p.sums - 1) : -1);
    p.path_delta.emplace_back();
    if (paths)
      for (std::size_t i = 0; i < static_cast<std::size_t>(p.states) * columns; ++i)
        p.path_delta.back().push_back(draw(r, low, 3));
  }
  for (int terms = draw(r, 1, 3); terms > 0; --terms) {
    ObjectiveTerm t;
    t.coefficient = draw(r, 1, 3);
    for (int some = draw(r, 1, 2); some > 0; --some)
      t.components.push_back(draw(r, 0, p.components - 1));
    p.objective.push_back(t);
  }
  if (p.facts > 0 && draw(r, 0, 2) == 0)
    p.objective.push_back({draw(r, 1, 4) * big, {}, draw(r, 0, p.facts - 1)});
}

inline void draw_states(Random& r, RuledProblem& p) {
  const std::size_t columns = static_cast<std::size_t>(p.columns),
                    states = static_cast<std::size_t>(p.states);
  const int never = 1000000;
  for (std::size_t s = 0; s < states; ++s) {
    p.need.push_back(draw(r, 0, 3) ? 0 : never);
    for (std::size_t c = 0; c < columns; ++c)
      p.next.push_back(draw(r, draw(r, 0, 2) ? 0 : -1, p.states - 1));
  }
  for (int round = 0; round <= p.base.depth; ++round)
    for (std::size_t i = 0; i < p.next.size(); ++i)
      if (p.next[i] >= 0)
        p.need[i / columns] = std::min(p.need[i / columns], need_of(p, p.next[i]) + 1);
  for (int& next : p.next)
    if (next >= 0 && need_of(p, next) >= never) next = -1;
  p.leaf_rules.resize(states);
  p.split_rules.resize(states);
  for (int c = draw(r, 0, 2); c > 0; --c) {
    const bool leaf = draw(r, 0, 1) == 1;
    RowClause clause;
    for (int l = draw(r, 1, 2); l > 0; --l) {
      RowLiteral literal;
      const int entries = leaf && draw(r, 0, 1) ? p.base.classes : 1;
      for (int i = 0; i < entries; ++i) literal.sum.push_back(draw(r, -1, p.sums - 1));
      literal.constant = draw(r, -2, 2);
      literal.at_most = draw(r, -2, 8);
      clause.push_back(literal);
    }
    auto& clauses = leaf ? p.leaf_clauses : p.split_clauses;
    clauses.push_back(clause);
    for (std::size_t s = 0; s < states; ++s)
      if (draw(r, 0, 1))
        (leaf ? p.leaf_rules : p.split_rules)[s].push_back(static_cast<int>(clauses.size()) - 1);
  }
}

inline void draw_facts(Random& r, RuledProblem& p) {
  p.facts = draw(r, 0, 3);
  for (int i = 0; i < p.base.depth * p.columns; ++i)
    p.split_facts.push_back(p.facts ? static_cast<std::uint64_t>(draw(r, 0, (1 << p.facts) - 1)) &
                                          static_cast<std::uint64_t>(draw(r, 0, 7))
                                    : 0);
  if (p.facts > 0 && draw(r, 0, 1))
    p.pairs.push_back({draw(r, 0, p.facts - 1),
                       static_cast<std::uint32_t>(draw(r, 0, static_cast<int>(p.base.rows) - 1)),
                       static_cast<std::uint32_t>(draw(r, 0, static_cast<int>(p.base.rows) - 1))});
}

inline void draw_clauses(Random& r, RuledProblem& p, Loss big) {
  for (int c = draw(r, 0, 2); c > 0; --c) {
    ModelClause clause;
    for (int l = draw(r, 1, 2); l > 0; --l) {
      ModelLiteral literal;
      if (p.facts > 0 && draw(r, 0, 1)) {
        literal.fact = draw(r, 0, p.facts - 1);
        literal.positive = draw(r, 0, 1) == 1;
      } else {
        literal.component = draw(r, 0, p.components - 1);
        literal.at_most = draw(r, -6, 14) * big;
      }
      clause.push_back(literal);
    }
    p.clauses.push_back(clause);
  }
}

inline void draw_cuts(Random& r, RuledProblem& p) {
  for (std::size_t f = 0; f < p.base.features; ++f) {
    p.missing_low.push_back(draw(r, 0, 5) == 0);
    p.missing_high.push_back(draw(r, 0, 5) == 0);
  }
  if (draw(r, 0, 2)) return;
  p.base.allowed.resize(p.base.features);
  p.allowed_at.resize(static_cast<std::size_t>(p.base.depth));
  for (std::size_t f = 0; f < p.base.features; ++f) {
    auto& any = p.base.allowed[f];
    any.assign(p.base.distinct[f], 0);
    for (auto& level : p.allowed_at) {
      level.resize(p.base.features);
      for (char& flag : any) {
        level[f].push_back(draw(r, 0, 1) == 1);
        flag = flag || level[f].back();
      }
    }
    if (p.allowed_at.empty()) any.clear();
  }
}

inline RuledProblem ruled_problem(Random& r, Loss big) {
  RuledProblem p;
  const bool deep = draw(r, 0, 3) == 0;
  const int features = draw(r, 1, deep ? 2 : 3);
  p.base = random_problem(r, draw(r, 1, deep ? 6 : 8), features, draw(r, 1, 3),
                          deep ? 3 : draw(r, 2, 4));
  p.base.depth = deep ? 3 : draw(r, 0, 2);
  p.columns = draw(r, 1, features);
  for (int f = 0; f < features; ++f) p.column.push_back(draw(r, 0, p.columns - 1));
  p.states = draw(r, 1, 4);
  draw_facts(r, p);
  draw_components(r, p, big);
  draw_states(r, p);
  draw_clauses(r, p, big);
  draw_cuts(r, p);
  return p;
}

}  // namespace odt_test
