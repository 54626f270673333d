// ALL: that some trees are all of a problem whose values are no worse than told.
#pragma once

#include "odtcheck_rules.hpp"

namespace {

// A tree, a node before its sides: a split as its feature and how many rows go left, a leaf as -1
// less its class. So two trees are one if at each node both ask the same feature, or one that
// differs by where empty cells go, and send the same rows left; and their leaves have the same
// classes.
using Told = vector<Int>;

// What trees on some rows have in common: all that matters of them to the nodes above. `label` is
// the class of a leaf, or -1.
struct Sort {
  Point point;
  Int leaves, label;
  bool operator<(const Sort& o) const {
    return std::tie(point.weighted, point.loss, point.sums, point.facts, leaves, label) <
           std::tie(o.point.weighted, o.point.loss, o.point.sums, o.point.facts, o.leaves, o.label);
  }
};
struct Several {
  Int count = 0;
  vector<Told> told;
};
using Sorts = std::map<Sort, Several>;  // those of least weight first

// As FRONT, but nothing is left out because another tree is no worse.
struct All : Fronts {
  bool named;  // trees are told, not only counted
  Int made = 0;
  vector<string> asked;  // per feature: what it is but for where empty cells go

  All(const Problem& problem, bool names, std::function<bool()> chance)
      : Fronts(problem, std::move(chance)), named(names) {
    for (const Feature& f : p.features) {
      asked.push_back(f.column + '\n' + f.kind.substr(0, f.kind.find(' ')));
      for (const string& word : f.given)
        if (word != (f.kind == "in" ? "empty" : "")) asked.back() += '\n' + word;
    }
  }

  // Of features that differ only by where empty cells go, the first one stands for all where a test
  // of them sends the same rows left, and the same may follow.
  size_t same_test(const View& v, size_t f, size_t t, int state, int level) const {
    const auto& facts = p.facts[static_cast<size_t>(level)];
    for (size_t g = 0; g < f; ++g) {
      if (asked[g] != asked[f] || p.after(state, g) != p.after(state, f) || facts[g] != facts[f] ||
          !may_stand(v, g, t))
        continue;
      vector<Index> mine(v.order[f].begin(), v.order[f].begin() + static_cast<std::ptrdiff_t>(t)),
          others(v.order[g].begin(), v.order[g].begin() + static_cast<std::ptrdiff_t>(t));
      std::sort(mine.begin(), mine.end());
      std::sort(others.begin(), others.end());
      if (mine == others) return g;
    }
    return f;
  }

  // How many leaves a tree has at most, also by rules on a measure that counts nothing else.
  Int most_leaves() const {
    Int most = p.leaves;
    for (const Rule& rule : p.rules) {
      if (rule.scope != "tree" || rule.literals.size() != 1 || rule.literals[0].fact) continue;
      const size_t m = rule.literals[0].at, classes = p.classes.size();
      const Int each = p.measures[m].price;
      bool rows = each <= 0;
      for (const auto& sums : p.sums)
        for (size_t c = 0; c < classes; ++c) rows = rows || sums[m * classes + c];
      if (!rows) most = std::min(most, rule.literals[0].at_most / each);
    }
    return most;
  }

  // Every tree on the rows within the budget, of at most so many leaves.
  Sorts trees(const View& v, int depth, int state, Int budget, Int leaves) {
    ++nodes;
    Sorts found;
    if (leaves < 1) return found;
    if (static_cast<Int>(v.rows()) >= p.leaf_rows)
      leaves_of(v, state, budget, [&](const Point& leaf, size_t c) {
        put(found[{leaf, 1, static_cast<Int>(c)}], 1, {{-1 - static_cast<Int>(c)}});
      });
    if (depth == 0 || leaves == 1 || !meets(p, state, "split", sums_of(p, v.kind, 0))) return found;
    const Index idle = static_cast<Index>(p.most.size() - 1);
    const int level = p.depth - depth;
    for (size_t f = 0; f < p.features.size(); ++f) {
      const int next = p.after(state, f);
      if (next < 0) continue;
      Int limit = budget + 1;
      tests(v, f, depth, next, limit, [&](size_t t, Int, Int b) {
        if (!may_stand(v, f, t) || same_test(v, f, t, state, level) != f) return;
        const Sorts left =
            trees(part(v, f, 0, t, 0, t, idle), depth - 1, next, budget - b, leaves - 1);
        if (left.empty()) return;
        Int fewest = leaves;
        for (const auto& x : left) fewest = std::min(fewest, x.first.leaves);
        const Int room = budget - left.begin()->first.point.weighted;
        const Sorts right = trees(part(v, f, t, v.rows(), t, v.rows(), idle), depth - 1, next, room,
                                  leaves - fewest);
        for (const auto& x : left)
          for (const auto& y : right) {
            if (x.first.point.weighted + y.first.point.weighted > budget) break;
            if (x.first.leaves + y.first.leaves <= leaves) join(found, f, t, level, x, y);
          }
      });
    }
    return found;
  }

  void join(Sorts& found, size_t f, size_t t, int level, const Sorts::value_type& x,
            const Sorts::value_type& y) {
    const Sort &left = x.first, &right = y.first;
    if (!p.idle && left.label >= 0 && left.label == right.label) return;
    const auto facts = p.facts[static_cast<size_t>(level)][f];
    Several& to =
        found[{joined(left.point, right.point, facts), left.leaves + right.leaves, Int{-1}}];
    vector<Told> both;
    for (const Told& a : x.second.told)
      for (const Told& b : y.second.told) {
        both.push_back({static_cast<Int>(f), static_cast<Int>(t)});
        both.back().insert(both.back().end(), a.begin(), a.end());
        both.back().insert(both.back().end(), b.begin(), b.end());
        hold(static_cast<Int>(both.back().size()));
      }
    const Wide count = Wide{x.second.count} * y.second.count;
    demand(count < kLargest, "more trees than this checker can count");
    put(to, static_cast<Int>(count), both);
  }

  void hold(Int numbers) {
    made += numbers;
    demand(made < (Int{1} << 25), "more trees than this checker can hold");
  }

  void put(Several& to, Int count, const vector<Told>& told) {
    to.count += count;
    demand(to.count < kLargest, "more trees than this checker can count");
    hold(1);
    if (named) to.told.insert(to.told.end(), told.begin(), told.end());
  }

  // A tree of the certificate, of which `Held` has found that it may stand, as it is told here.
  // `rows`: those of the view, in its order.
  void tell(const View& v, const vector<Index>& rows, int at, int state, int level,
            Told& told) const {
    const Node& node = p.tree[static_cast<size_t>(at)];
    if (node.feature < 0) return told.push_back(-1 - static_cast<Int>(node.label));
    const size_t named_as = static_cast<size_t>(node.feature);
    const double threshold = number(node.threshold);
    vector<Index> sides[2];
    for (Index i : rows) sides[p.features[named_as].value[i] > threshold].push_back(i);
    const size_t t = sides[0].size(), f = same_test(v, named_as, t, state, level);
    told.insert(told.end(), {static_cast<Int>(f), static_cast<Int>(t)});
    const Index idle = static_cast<Index>(p.most.size() - 1);
    const int next = p.after(state, f);
    tell(part(v, f, 0, t, 0, t, idle), sides[0], node.left, next, level + 1, told);
    tell(part(v, f, t, v.rows(), t, v.rows(), idle), sides[1], node.right, next, level + 1, told);
  }
};

// The largest value that is no worse than told; no tree's is larger than `p.limit` allows.
Int worst_value(const Problem& p) {
  Wide most = p.base + Wide{p.price} * p.leaves, value = 0, below = p.limit, above = 0;
  for (Index k : p.kind) most += p.most[k];
  size_t at = 0;
  for (const Stage& s : p.stages) {
    if (!s.zero && at < p.upto.size()) {
      need(at == 0 || Wide{p.upto[at]} * s.unit < above,
           "a stage is told to be larger than it can");
      value += Wide{p.upto[at++]} * s.unit;
      below = value + s.unit;
    }
    above = s.unit;
  }
  need(at == p.upto.size(), "values of more stages than there are");
  if (below >= 0) most = std::min(most, below - 1);
  if (p.limit >= 0) most = std::min<Wide>(most, p.limit - 1);
  return static_cast<Int>(std::min<Wide>(most, kLargest));
}

// The trees of a certificate of all trees, each of which may stand and is no worse than claimed.
std::set<Told> listed(const Problem& p, const View& all, Int worst) {
  std::set<Told> named;
  vector<Index> rows(p.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  string values;
  Int least = kLargest;
  for (size_t i = 0; i < p.roots.size(); ++i) {
    const Held tree(p, i);
    demand(tree.value <= worst, "a listed tree is worse than is claimed");
    Told told;
    All(p, true, nullptr).tell(all, rows, p.roots[i], 0, 0, told);
    demand(named.insert(told).second, "a tree is listed twice");
    if (tree.value >= least) continue;
    least = tree.value;
    values = "values: " + std::to_string(tree.depth);
    for (Int of_stage : tree.stages) values += " " + std::to_string(of_stage);
  }
  // Where the depth comes first, a shallower tree that is worse than claimed would be better.
  if (!values.empty() && !p.least_depth) std::printf("%s\n", values.c_str());
  return named;
}

}  // namespace
