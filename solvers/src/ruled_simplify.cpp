#include "odt/ruled_simplify.hpp"

#include <algorithm>
#include <utility>

#include "odt/equal_rows.hpp"
#include "odt/ruled_tree.hpp"

namespace odt {
namespace {

using Weighted = std::vector<std::pair<Loss, std::size_t>>;  // coefficients and components

// ---- components

bool has_path(const RuledProblem& p, std::size_t k) {
  return p.path_weight[k] >= 0 && !p.path_delta[k].empty();
}

// Components that stand only in sums of the objective, with what they count there.
Weighted only_summed(const RuledProblem& p) {
  std::vector<Loss> coefficient(static_cast<std::size_t>(p.components), 0);
  std::vector<char> apart(coefficient.size(), 0);
  for (const ObjectiveTerm& t : p.objective)
    for (int k : t.components) {
      if (t.components.size() == 1)
        coefficient[static_cast<std::size_t>(k)] += t.coefficient;
      else
        apart[static_cast<std::size_t>(k)] = 1;
    }
  for (const ModelClause& clause : p.clauses)
    for (const ModelLiteral& l : clause)
      if (l.component >= 0) apart[static_cast<std::size_t>(l.component)] = 1;
  Weighted found;
  bool path = false;
  for (std::size_t k = 0; k < coefficient.size(); ++k) {
    if (apart[k] || coefficient[k] <= 0 || (has_path(p, k) && path)) continue;
    path = path || has_path(p, k);
    found.push_back({coefficient[k], k});
  }
  return found;
}

// The values of a new sum over rows.
int add_sum(RuledProblem& p, const std::vector<Loss>& values) {
  const std::size_t old = static_cast<std::size_t>(p.sums), n = p.base.rows;
  std::vector<Loss> table;
  table.reserve(n * (old + 1));
  for (std::size_t i = 0; i < n; ++i) {
    table.insert(table.end(), p.value.begin() + static_cast<std::ptrdiff_t>(i * old),
                 p.value.begin() + static_cast<std::ptrdiff_t>((i + 1) * old));
    table.push_back(values[i]);
  }
  p.value = std::move(table);
  return p.sums++;
}

void add_component(RuledProblem& p, const Weighted& of) {
  const std::size_t labels = static_cast<std::size_t>(p.base.classes),
                    columns = static_cast<std::size_t>(p.columns);
  for (std::size_t c = 0; c < labels; ++c) {
    std::vector<Loss> values(p.base.rows, 0);
    bool any = false;
    for (const auto& [factor, k] : of) {
      const int s = p.sum_of[k * labels + c];
      any = any || s >= 0;
      for (std::size_t i = 0; s >= 0 && i < p.base.rows; ++i)
        values[i] +=
            factor * p.value[i * static_cast<std::size_t>(p.sums) + static_cast<std::size_t>(s)];
    }
    p.sum_of.push_back(any ? add_sum(p, values) : -1);
  }
  p.leaf.push_back(0);
  p.path_weight.push_back(-1);
  p.path_delta.emplace_back();
  std::vector<Loss> split(columns, 0);
  for (const auto& [factor, k] : of) {
    p.leaf.back() += factor * p.leaf[k];
    for (std::size_t c = 0; c < columns; ++c) split[c] += factor * p.split[k * columns + c];
    if (!has_path(p, k)) continue;
    p.path_weight.back() = p.path_weight[k];
    p.path_delta.back() = p.path_delta[k];
    for (Loss& d : p.path_delta.back()) d *= factor;
  }
  p.split.insert(p.split.end(), split.begin(), split.end());
  ++p.components;
}

template <class T>
void keep_blocks(std::vector<T>& values, const std::vector<std::size_t>& kept, std::size_t width) {
  std::vector<T> left;
  for (std::size_t k : kept)
    left.insert(left.end(), values.begin() + static_cast<std::ptrdiff_t>(k * width),
                values.begin() + static_cast<std::ptrdiff_t>((k + 1) * width));
  values = std::move(left);
}

// Leaves out the components that nothing names.
void drop_components(RuledProblem& p) {
  std::vector<int> place(static_cast<std::size_t>(p.components), -1);
  for (const ObjectiveTerm& t : p.objective)
    for (int k : t.components) place[static_cast<std::size_t>(k)] = 0;
  for (const ModelClause& clause : p.clauses)
    for (const ModelLiteral& l : clause)
      if (l.component >= 0) place[static_cast<std::size_t>(l.component)] = 0;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < place.size(); ++k) {
    if (place[k] < 0) continue;
    place[k] = static_cast<int>(kept.size());
    kept.push_back(k);
  }
  keep_blocks(p.sum_of, kept, static_cast<std::size_t>(p.base.classes));
  keep_blocks(p.split, kept, static_cast<std::size_t>(p.columns));
  keep_blocks(p.leaf, kept, 1);
  keep_blocks(p.path_weight, kept, 1);
  keep_blocks(p.path_delta, kept, 1);
  p.components = static_cast<int>(kept.size());
  for (ObjectiveTerm& t : p.objective)
    for (int& k : t.components) k = place[static_cast<std::size_t>(k)];
  for (ModelClause& clause : p.clauses)
    for (ModelLiteral& l : clause)
      if (l.component >= 0) l.component = place[static_cast<std::size_t>(l.component)];
}

// Leaves out the sums that nothing names.
void drop_sums(RuledProblem& p) {
  std::vector<int> place(static_cast<std::size_t>(p.sums), -1);
  const auto each = [&](auto&& action) {
    for (int& s : p.sum_of) action(s);
    for (int& s : p.path_weight) action(s);
    for (auto* clauses : {&p.leaf_clauses, &p.split_clauses})
      for (RowClause& clause : *clauses)
        for (RowLiteral& l : clause)
          for (int& s : l.sum) action(s);
  };
  each([&](int& s) {
    if (s >= 0) place[static_cast<std::size_t>(s)] = 0;
  });
  std::vector<std::size_t> kept;
  for (std::size_t s = 0; s < place.size(); ++s) {
    if (place[s] < 0) continue;
    place[s] = static_cast<int>(kept.size());
    kept.push_back(s);
  }
  each([&](int& s) {
    if (s >= 0) s = place[static_cast<std::size_t>(s)];
  });
  std::vector<Loss> table;
  table.reserve(p.base.rows * kept.size());
  for (std::size_t i = 0; i < p.base.rows; ++i)
    for (std::size_t s : kept) table.push_back(p.value[i * static_cast<std::size_t>(p.sums) + s]);
  p.value = std::move(table);
  p.sums = static_cast<int>(kept.size());
}

void sum_components(RuledProblem& p) {
  const Weighted summed = only_summed(p);
  if (summed.size() > 1) {
    add_component(p, summed);
    std::vector<ObjectiveTerm> terms{{1, {p.components - 1}, -1}};
    for (const ObjectiveTerm& t : p.objective) {
      const bool gone =
          t.components.size() == 1 && std::any_of(summed.begin(), summed.end(), [&](const auto& s) {
            return static_cast<int>(s.second) == t.components[0];
          });
      if (!gone) terms.push_back(t);
    }
    p.objective = std::move(terms);
  }
  drop_components(p);
  drop_sums(p);
}

// ---- ranks and rows

// Ranks apart only where a cut is admitted, or missing cells end. Flags keep their meaning: one per
// gap that is left.
void merge_ranks(RuledProblem& p, std::vector<std::vector<std::uint32_t>>& last) {
  Problem& base = p.base;
  last.assign(base.features, {});
  for (std::size_t f = 0; f < base.features; ++f) {
    const std::uint32_t count = base.distinct[f];
    std::vector<char>* flags =
        f < base.allowed.size() && !base.allowed[f].empty() ? &base.allowed[f] : nullptr;
    std::vector<std::uint32_t> place(count);
    for (std::uint32_t r = 0; r < count; ++r) {
      place[r] = static_cast<std::uint32_t>(last[f].size());
      const bool missing = (!p.missing_low.empty() && p.missing_low[f] && r == 0) ||
                           (!p.missing_high.empty() && p.missing_high[f] && r + 2 == count);
      if (r + 1 == count || !flags || (*flags)[r] || missing) last[f].push_back(r);
    }
    if (last[f].size() == count) continue;
    for (std::size_t i = 0; i < base.rows; ++i)
      base.rank[f * base.rows + i] = place[base.rank[f * base.rows + i]];
    base.distinct[f] = static_cast<std::uint32_t>(last[f].size());
    const auto shorten = [&](std::vector<char>& all) {
      std::vector<char> left;
      for (std::uint32_t r : last[f]) left.push_back(all[r]);
      all = std::move(left);
    };
    shorten(*flags);
    for (auto& level : p.allowed_at)
      if (f < level.size() && !level[f].empty()) shorten(level[f]);
  }
}

// Merged rows cannot be counted one by one: only where that is much shorter.
constexpr std::size_t kRowsPerGroup = 2;

void merge_rows(RuledProblem& p) {
  Problem plain = p.base;  // all ranks apart
  plain.allowed.clear();
  const EqualRows equal(plain);
  const std::size_t groups = equal.groups(), sums = static_cast<std::size_t>(p.sums);
  if (groups * kRowsPerGroup > p.base.rows) return;
  std::vector<std::uint32_t> rank(p.base.features * groups), group(p.base.rows);
  std::vector<Loss> value(groups * sums, 0);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::uint32_t j = equal.start[g]; j < equal.start[g + 1]; ++j) {
      const std::uint32_t row = equal.row[j];
      group[row] = static_cast<std::uint32_t>(g);
      for (std::size_t f = 0; f < p.base.features; ++f) rank[f * groups + g] = p.base.ranks(f)[row];
      for (std::size_t s = 0; s < sums; ++s) value[g * sums + s] += p.value[row * sums + s];
    }
  p.base.rows = groups;
  p.base.rank = std::move(rank);
  p.base.label.assign(groups, 0);
  p.value = std::move(value);
  for (Pair& pair : p.pairs) {
    pair.first = group[pair.first];
    pair.second = group[pair.second];
  }
}

}  // namespace

Simplified simplify(const RuledProblem& p) {
  Simplified s{p, {}};
  sum_components(s.problem);
  if (!p.monotone.empty()) return s;  // these rules see more of a row than its ranks
  merge_ranks(s.problem, s.last);
  merge_rows(s.problem);
  return s;
}

Tree reduced(const Simplified& s, Tree tree) {
  if (s.last.empty()) return tree;
  for (TreeNode& n : tree.nodes) {
    if (n.feature < 0) continue;
    const auto& last = s.last[static_cast<std::size_t>(n.feature)];
    const auto at = std::lower_bound(last.begin(), last.end(), n.cut);
    n.cut = static_cast<std::uint32_t>(std::min(at, last.end() - 1) - last.begin());
  }
  set_cuts(s.problem.base, tree);
  return tree;
}

Tree restore(const RuledProblem& p, const Simplified& s, Tree tree) {
  if (s.last.empty()) return tree;
  for (TreeNode& n : tree.nodes)
    if (n.feature >= 0) n.cut = s.last[static_cast<std::size_t>(n.feature)][n.cut];
  set_cuts(p.base, tree);
  return tree;
}

}  // namespace odt
