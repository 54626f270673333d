#include "odt/ruled_weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "odt/plan.hpp"

namespace odt {

std::vector<Loss> single_bounds(const RuledProblem& p) {
  std::vector<Loss> bounds(static_cast<std::size_t>(p.components), kInfinite);
  for (const ModelClause& clause : p.clauses) {
    if (clause.size() != 1 || clause[0].component < 0) continue;
    Loss& bound = bounds[static_cast<std::size_t>(clause[0].component)];
    bound = std::min(bound, clause[0].at_most);
  }
  return bounds;
}

Weights::Weights(const RuledProblem& problem, const Multipliers& m, int depth)
    : p(problem),
      multipliers(m),
      labels(static_cast<std::size_t>(p.base.classes)),
      components(static_cast<std::size_t>(p.components)),
      sums(static_cast<std::size_t>(p.sums)),
      columns(static_cast<std::size_t>(p.columns)),
      width(sums + components + 1) {
  for (std::size_t k = 0; k < components; ++k)
    if (multipliers.compared[k]) order.components.push_back(k);
  weigh();
  free.depth = depth;
  choose_bounds();
  choose_facts();
  choose_most();
  for (const auto& flags : p.allowed_at) {
    allowed_upto.emplace_back();
    for (std::size_t f = 0; f < p.base.features; ++f) {
      auto& upto = allowed_upto.back().emplace_back();
      if (f >= flags.size() || flags[f].empty()) continue;
      upto.assign(p.base.distinct[f] + 1, 0);
      for (std::size_t r = 0; r < p.base.distinct[f]; ++r)
        upto[r + 1] = upto[r] + (flags[f][r] != 0);
    }
  }
  deletion = deletion_holds();
  subset = deletion && subset_holds();
  // Facts that are forbidden are never set.
  const std::uint64_t facts = p.facts < 64 ? (std::uint64_t{1} << p.facts) - 1 : ~std::uint64_t{0};
  single =
      order.components.size() == 1 && multipliers.of[order.components[0]] > 0 && forbidden == facts;
}

// The weighted sum of the components as a loss per row and label.
void Weights::weigh() {
  const std::size_t n = p.base.rows;
  weighted.assign(n * labels, 0);
  table.assign(n * width, 0);
  Loss common = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Loss* value = p.value.data() + i * sums;
    Loss* w = weighted.data() + i * labels;
    for (std::size_t k = 0; k < components; ++k) {
      Loss least = kInfinite;
      for (std::size_t c = 0; c < labels; ++c) {
        const int s = p.sum_of[k * labels + c];
        const Loss v = s < 0 ? 0 : value[s];
        least = std::min(least, v);
        w[c] += multipliers.of[k] * v;
      }
      table[i * width + sums + k] = least;
    }
    std::copy(value, value + sums, table.begin() + static_cast<std::ptrdiff_t>(i * width));
    const Loss least = *std::min_element(w, w + labels);
    offset += least;
    table[i * width + width - 1] = least;
    for (std::size_t c = 0; c < labels; ++c) common = std::gcd(common, w[c] -= least);
    worst.push_back(*std::max_element(w, w + labels));
  }
  for (std::size_t k = 0; k < components; ++k) leaf_weight += multipliers.of[k] * p.leaf[k];
  make_free(common);
}

// The free problem, whose optimum bounds all trees.
void Weights::make_free(Loss common) {
  common = std::gcd(common, std::max<Loss>(0, leaf_weight));
  grain = std::max<Loss>(1, common);
  common_ = common;
  free = problem_in(grain);
}

Problem Weights::problem_in(Loss unit) const {
  const std::size_t n = p.base.rows;
  Problem made = p.base;
  made.weight.clear();
  made.cost.clear();
  made.leaf_price = std::max<Loss>(0, leaf_weight) / unit;
  bool plain = true;
  std::map<std::vector<Loss>, int> kinds;  // rows of equal losses
  std::vector<int> kind(n), right(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Loss> row(labels);
    std::size_t zeros = 0, ones = 0;
    for (std::size_t c = 0; c < labels; ++c) {
      row[c] = weighted[i * labels + c] / unit;
      zeros += row[c] == 0;
      ones += row[c] == 1;
      if (row[c] == 0) right[i] = static_cast<int>(c);
    }
    plain = plain && zeros == 1 && ones + 1 == labels;
    kind[i] = kinds.emplace(row, static_cast<int>(kinds.size())).first->second;
  }
  made.label = plain ? right : kind;
  if (plain) return made;
  made.cost.resize(kinds.size() * labels);
  for (const auto& [row, k] : kinds)
    std::copy(
        row.begin(), row.end(),
        made.cost.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(k) * labels));
  return made;
}

// What prices below zero may take off, and how far above the least that rows allow a component may
// be.
void Weights::choose_bounds() {
  const int depth = p.base.depth;
  const std::size_t n = p.base.rows;
  const auto leaves = [&](int d) {
    return static_cast<Loss>(std::min<std::size_t>(n, static_cast<std::size_t>(full_leaves(d))));
  };
  // Prices below zero, per component: of a leaf, of a split, of a level of paths.
  std::vector<Loss> leaf(components), split(components, 0), path(components, 0);
  for (std::size_t k = 0; k < components; ++k) {
    leaf[k] = std::min<Loss>(0, p.leaf[k]);
    for (std::size_t c = 0; c < columns; ++c)
      split[k] = std::min(split[k], p.split[k * columns + c]);
    if (p.path_weight[k] < 0 || p.path_delta[k].empty()) continue;
    const auto& delta = p.path_delta[k];
    const Loss low = *std::min_element(delta.begin(), delta.end()),
               high = *std::max_element(delta.begin(), delta.end());
    for (std::size_t i = 0; i < n; ++i) {
      const Loss w = p.value[i * sums + static_cast<std::size_t>(p.path_weight[k])];
      path[k] += std::min<Loss>(0, std::min(w * low, w * high));
    }
  }
  const auto below = [&](std::size_t k, int d) {
    return leaf[k] * leaves(d) + split[k] * (leaves(d) - 1) + path[k] * d;
  };
  negative.assign(static_cast<std::size_t>(depth) + 1, 0);
  const bool priced = leaf_weight >= 0;  // then the leaves' prices are in the free loss
  for (int d = 0; d <= depth; ++d)
    for (std::size_t k = 0; k < components; ++k)
      negative[static_cast<std::size_t>(d)] +=
          multipliers.of[k] * (below(k, d) - (priced ? leaf[k] * leaves(d) : 0));
  slack = single_bounds(p);
  for (std::size_t k = 0; k < components; ++k) {
    if (slack[k] >= kInfinite) continue;
    Loss least = below(k, depth);
    for (std::size_t i = 0; i < n; ++i) least += table[i * width + sums + k];
    slack[k] = multipliers.compared[k] ? slack[k] - least : kInfinite;
  }
}

// Facts that clauses or the objective want set or clear.
void Weights::choose_facts() {
  for (const ModelClause& clause : p.clauses)
    for (const ModelLiteral& l : clause) {
      if (l.component >= 0) continue;
      (l.positive ? order.wanted : order.unwanted) |= std::uint64_t{1} << l.fact;
      if (clause.size() == 1 && !l.positive) forbidden |= std::uint64_t{1} << l.fact;
    }
  for (const ObjectiveTerm& t : p.objective)
    if (t.fact >= 0) order.unwanted |= std::uint64_t{1} << t.fact;
}

void Weights::choose_most() {
  const int depth = p.base.depth;
  const Loss leaves = static_cast<Loss>(
      std::min<std::size_t>(p.base.rows, static_cast<std::size_t>(full_leaves(depth))));
  most = std::max<Loss>(0, leaf_weight) * leaves;
  for (std::size_t i = 0; i < p.base.rows; ++i) most += worst[i];
  for (std::size_t k = 0; k < components; ++k) {
    Loss split = 0;
    for (std::size_t c = 0; c < columns; ++c) split = std::max(split, p.split[k * columns + c]);
    most += multipliers.of[k] * split * leaves;
    if (p.path_weight[k] < 0 || p.path_delta[k].empty()) continue;
    Loss delta = 0;
    for (Loss d : p.path_delta[k]) delta = std::max(delta, std::abs(d));
    for (std::size_t i = 0; i < p.base.rows; ++i)
      most += multipliers.of[k] * delta * depth *
              std::abs(table[i * width + static_cast<std::size_t>(p.path_weight[k])]);
  }
}

// A tree that may stand on some rows may stand on more of them, and a row more costs at most its
// worst loss.
bool Weights::deletion_holds() const {
  const auto none = [](const std::vector<Loss>& values) {
    return std::all_of(values.begin(), values.end(), [](Loss v) { return v == 0; });
  };
  if (!p.pairs.empty() || !none(negative)) return false;
  for (std::size_t k = 0; k < components; ++k)
    if (slack[k] < kInfinite || (p.path_weight[k] >= 0 && multipliers.of[k] > 0)) return false;
  for (const auto* clauses : {&p.leaf_clauses, &p.split_clauses})
    for (const RowClause& clause : *clauses)
      for (const RowLiteral& l : clause)
        for (int s : l.sum)
          for (std::size_t i = 0; s >= 0 && i < p.base.rows; ++i)
            if (table[i * width + static_cast<std::size_t>(s)] > 0) return false;
  return true;
}

// A test may be left out of any path, so that a tree that may stand on some rows has one for fewer
// of them.
bool Weights::subset_holds() const {
  const auto none = [](const std::vector<char>& flags) {
    return std::all_of(flags.begin(), flags.end(), [](char f) { return !f; });
  };
  return p.monotone.empty() && p.closed && p.leaf_clauses.empty() && p.split_clauses.empty() &&
         p.allowed_at.empty() && none(p.missing_low) && none(p.missing_high);
}

}  // namespace odt
