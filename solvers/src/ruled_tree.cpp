#include "odt/ruled_tree.hpp"

#include <algorithm>
#include <numeric>

#include "odt/plan.hpp"

namespace odt {
namespace {

using Rows = std::vector<std::uint32_t>;

Rows all_rows(const Problem& p) {
  Rows rows(p.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

// Walks a tree with the rows of each node.
class Walk {
 public:
  Walk(const RuledProblem& p, const Tree& tree) : p_(p), tree_(tree) {
    made_.values.assign(static_cast<std::size_t>(p.components), 0);
    made_.free_values = made_.values;
    made_.stands = p.monotone.empty();
  }
  Measured run() {
    node(0, 0, 0, all_rows(p_.base));
    return std::move(made_);
  }

 private:
  std::vector<Loss> sums_of(const Rows& rows) const {
    std::vector<Loss> sums(static_cast<std::size_t>(p_.sums), 0);
    for (std::uint32_t i : rows)
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += p_.value[i * sums.size() + s];
    return sums;
  }
  bool rules_hold(const std::vector<std::vector<int>>& open, const std::vector<RowClause>& clauses,
                  int state, const std::vector<Loss>& sums, int label) const {
    for (int rule : open[static_cast<std::size_t>(state)])
      if (!row_clause_holds(clauses[static_cast<std::size_t>(rule)], sums.data(), label))
        return false;
    return true;
  }
  // A state below 0 stands for a path that may not be.
  void node(int at, int level, int state, const Rows& rows) {
    const TreeNode& n = tree_.nodes[static_cast<std::size_t>(at)];
    const std::vector<Loss> sums = sums_of(rows);
    if (n.feature < 0) return leaf(sums, state, n.label);
    const std::size_t f = static_cast<std::size_t>(n.feature);
    const auto [sides, low, high] = PartedRows(p_.base, f, n.cut + 1, rows);
    const bool split = state >= 0 && level < p_.base.depth && !sides[0].empty() &&
                       !sides[1].empty() && p_.cut_stands(f, low, high, level) &&
                       rules_hold(p_.split_rules, p_.split_clauses, state, sums, 0);
    const int next = split ? enter(level, state, f, sums, rows, n.cut) : -1;
    node(n.left, level + 1, next, sides[0]);
    node(n.right, level + 1, next, sides[1]);
  }
  void leaf(const std::vector<Loss>& sums, int state, int label) {
    made_.stands = made_.stands && state >= 0 && p_.need[static_cast<std::size_t>(state)] <= 0 &&
                   rules_hold(p_.leaf_rules, p_.leaf_clauses, state, sums, label);
    for (std::size_t k = 0; k < made_.values.size(); ++k) {
      const int s = p_.sum_of[k * static_cast<std::size_t>(p_.base.classes) +
                              static_cast<std::size_t>(label)];
      const Loss value = p_.leaf[k] + (s < 0 ? 0 : sums[static_cast<std::size_t>(s)]);
      made_.values[k] += value;
      made_.free_values[k] += value;
    }
  }
  // The state below a split, whose prices and facts are counted.
  int enter(int level, int state, std::size_t f, const std::vector<Loss>& sums, const Rows& rows,
            std::uint32_t cut) {
    const std::size_t columns = static_cast<std::size_t>(p_.columns),
                      column = static_cast<std::size_t>(p_.column[f]);
    const std::size_t step = static_cast<std::size_t>(state) * columns + column;
    for (std::size_t k = 0; k < made_.values.size(); ++k) {
      made_.values[k] += p_.split[k * columns + column];
      if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
        made_.values[k] +=
            sums[static_cast<std::size_t>(p_.path_weight[k])] * p_.path_delta[k][step];
    }
    made_.facts |= p_.split_facts[static_cast<std::size_t>(level) * columns + column];
    const std::uint32_t* rank = p_.base.ranks(f);
    for (const Pair& pair : p_.pairs) {
      if ((rank[pair.first] <= cut) == (rank[pair.second] <= cut)) continue;
      const auto here = [&](std::uint32_t row) {
        return std::find(rows.begin(), rows.end(), row) != rows.end();
      };
      if (here(pair.first) && here(pair.second)) made_.facts |= std::uint64_t{1} << pair.fact;
    }
    return p_.next[step];
  }

  const RuledProblem& p_;
  const Tree& tree_;
  Measured made_;
};

void set_cuts(const Problem& p, Tree& tree, int at, const Rows& rows) {
  TreeNode& n = tree.nodes[static_cast<std::size_t>(at)];
  if (n.feature < 0) return;
  const PartedRows parted(p, static_cast<std::size_t>(n.feature), n.cut + 1, rows);
  n.cut = parted.low;
  n.next = parted.high;
  set_cuts(p, tree, n.left, parted.side[0]);
  set_cuts(p, tree, n.right, parted.side[1]);
}

}  // namespace

Measured measure(const RuledProblem& p, const Tree& tree) { return Walk(p, tree).run(); }

bool row_clause_holds(const RowClause& clause, const Loss* sums, int label) {
  for (const RowLiteral& l : clause) {
    const int s = l.sum.size() == 1 ? l.sum[0] : l.sum[static_cast<std::size_t>(label)];
    if (l.constant + (s < 0 ? 0 : sums[s]) <= l.at_most) return true;
  }
  return false;
}

bool clause_holds(const ModelClause& clause, std::uint64_t facts, const Loss* values) {
  for (const ModelLiteral& l : clause)
    if (l.component >= 0 ? values[l.component] <= l.at_most
                         : ((facts >> l.fact & 1) != 0) == l.positive)
      return true;
  return false;
}

bool keeps_clauses(const RuledProblem& p, std::uint64_t facts, const Loss* values) {
  return std::all_of(p.clauses.begin(), p.clauses.end(),
                     [&](const ModelClause& c) { return clause_holds(c, facts, values); });
}

Loss objective_of(const RuledProblem& p, std::uint64_t facts, const Loss* values) {
  Loss total = 0;
  for (const ObjectiveTerm& t : p.objective) {
    Loss largest = t.fact >= 0 ? static_cast<Loss>(facts >> t.fact & 1) : -kInfinite;
    for (int k : t.components) largest = std::max(largest, values[k]);
    total += t.coefficient * largest;
  }
  return total;
}

Loss largest_objective(const RuledProblem& p) {
  const std::size_t labels = static_cast<std::size_t>(p.base.classes),
                    sums = static_cast<std::size_t>(p.sums);
  const std::size_t columns = static_cast<std::size_t>(p.columns);
  const auto leaves = static_cast<Loss>(
      std::min<std::size_t>(p.base.rows, static_cast<std::size_t>(full_leaves(p.base.depth))));
  std::vector<Loss> most;
  for (std::size_t k = 0; k < static_cast<std::size_t>(p.components); ++k) {
    const int* of = p.sum_of.data() + k * labels;
    const auto price = p.split.begin() + static_cast<std::ptrdiff_t>(k * columns);
    const Loss split =
        columns == 0 ? 0 : *std::max_element(price, price + static_cast<std::ptrdiff_t>(columns));
    Loss total = std::max<Loss>(0, p.leaf[k]) * leaves + std::max<Loss>(0, split) * (leaves - 1);
    const bool paid = p.path_weight[k] >= 0 && !p.path_delta[k].empty();
    const Loss low = paid ? *std::min_element(p.path_delta[k].begin(), p.path_delta[k].end()) : 0;
    const Loss high = paid ? *std::max_element(p.path_delta[k].begin(), p.path_delta[k].end()) : 0;
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      const Loss* value = p.value.data() + i * sums;
      Loss row = -kInfinite;
      for (std::size_t c = 0; c < labels; ++c) row = std::max(row, of[c] < 0 ? 0 : value[of[c]]);
      total += row;
      if (paid)
        total += p.base.depth *
                 std::max({Loss{0}, value[p.path_weight[k]] * low, value[p.path_weight[k]] * high});
    }
    most.push_back(total);
  }
  return objective_of(p, ~std::uint64_t{0}, most.data());
}

void set_cuts(const Problem& p, Tree& tree) { set_cuts(p, tree, 0, all_rows(p)); }

}  // namespace odt
