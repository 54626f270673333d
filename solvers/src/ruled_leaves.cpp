// Leaves and stumps of the search under rules, and what is asked of the rows and columns of one
// node.
#include "odt/ruled_search.hpp"

#include <algorithm>

namespace odt {

// Per row value, then per component the least that labels allow, then the least of the weighted
// sum.
void RuledSearch::totals(const View& view, std::vector<Loss>& sums) const {
  sums.assign(w_.width, 0);
  for (std::size_t i = 0; i < view.rows(); ++i) add(view.order(0)[i], sums.data());
}

void RuledSearch::add(std::uint32_t row, Loss* sums) const {
  const Loss* value = w_.table.data() + row * w_.width;
  for (std::size_t s = 0; s < w_.width; ++s) sums[s] += value[s];
}

Loss RuledSearch::leaf_value(const Loss* sums, std::size_t k, int label) const {
  const int s = p_.sum_of[k * w_.labels + static_cast<std::size_t>(label)];
  return p_.leaf[k] + (s < 0 ? 0 : sums[s]);
}

// The labels that the rules on leaves leave open.
void RuledSearch::leaves(const Loss* sums, int state, std::vector<int>& labels) const {
  labels.clear();
  if (need(state) > 0) return;
  for (int c = 0; c < static_cast<int>(w_.labels); ++c) {
    bool holds = true;
    for (int rule : p_.leaf_rules[static_cast<std::size_t>(state)])
      holds = holds && row_clause_holds(p_.leaf_clauses[static_cast<std::size_t>(rule)], sums, c);
    if (holds) labels.push_back(c);
  }
}

// Components whose bound cannot be met with these values, whatever the rest of the tree.
bool RuledSearch::within(const Loss* values, const Loss* lowest) const {
  for (std::size_t k = 0; k < w_.components; ++k)
    if (w_.slack[k] < kInfinite && values[k] - lowest[k] > w_.slack[k]) return false;
  return true;
}

Loss RuledSearch::split_values(const Loss* sums, int state, int column,
                               std::vector<Loss>& out) const {
  out.assign(w_.components, 0);
  Loss weighted = 0;
  for (std::size_t k = 0; k < w_.components; ++k) {
    out[k] = p_.split[k * w_.columns + static_cast<std::size_t>(column)];
    if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
      out[k] +=
          sums[p_.path_weight[k]] * p_.path_delta[k][static_cast<std::size_t>(state) * w_.columns +
                                                     static_cast<std::size_t>(column)];
    weighted += w_.multipliers.of[k] * out[k];
  }
  return weighted;
}

std::uint64_t RuledSearch::facts_of(const View& view, std::size_t f, std::uint32_t bound,
                                    int level) {
  std::uint64_t facts = p_.split_facts[static_cast<std::size_t>(level) * w_.columns +
                                       static_cast<std::size_t>(p_.column[f])];
  if (p_.pairs.empty()) return facts;
  const std::uint32_t* rank = p_.base.ranks(f);
  const std::uint32_t* order = view.order(0);
  for (const Pair& pair : p_.pairs) {
    if ((rank[pair.first] < bound) == (rank[pair.second] < bound)) continue;
    int here = 0;
    for (std::size_t i = 0; i < view.rows(); ++i)
      here += order[i] == pair.first || order[i] == pair.second;
    if (here == 2) facts |= std::uint64_t{1} << pair.fact;
  }
  return facts;
}

void RuledSearch::offer_leaf(const Loss* sums, int label, Loss budget, Front& front) {
  std::vector<Loss> values(w_.components);
  Entry e;
  e.left = -1 - label;
  e.weighted = w_.leaf_weight;
  for (std::size_t k = 0; k < w_.components; ++k) values[k] = leaf_value(sums, k, label);
  // The weighted sum is counted above the least that each row must lose.
  for (std::size_t k = 0; k < w_.components; ++k)
    e.weighted += w_.multipliers.of[k] * (values[k] - p_.leaf[k]);
  e.weighted -= sums[w_.width - 1];
  if (e.weighted < budget && within(values.data(), sums + w_.sums)) front.offer(e, values.data());
}

void RuledSearch::stumps(View& view, int level, int state, Loss budget, Front& front) {
  Level& here = at(level);
  for (std::size_t f = 0; f < view.features(); ++f) {
    const int column = p_.column[f];
    const int next =
        p_.next[static_cast<std::size_t>(state) * w_.columns + static_cast<std::size_t>(column)];
    if (next < 0 || need(next) > 0 || !view.splittable(f)) continue;
    ++counters_.scans;
    const Loss price = split_values(here.sums.data(), state, column, here.split);
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    here.part[0].assign(w_.width, 0);
    std::vector<Loss>& left = here.weighted;
    left.assign(2 * w_.labels, 0);
    Loss* right = left.data() + w_.labels;
    for (std::size_t i = 0; i < view.rows(); ++i)
      for (std::size_t c = 0; c < w_.labels; ++c) right[c] += w_.weighted[order[i] * w_.labels + c];
    std::size_t summed = 0;
    for (std::size_t i = 0; i + 1 < view.rows(); ++i) {
      const Loss* w = w_.weighted.data() + order[i] * w_.labels;
      for (std::size_t c = 0; c < w_.labels; ++c) {
        left[c] += w[c];
        right[c] -= w[c];
      }
      if (!(ends[i / kBlock] >> (i % kBlock) & 1)) continue;
      const Loss least =
          *std::min_element(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(w_.labels)) +
          *std::min_element(right, right + w_.labels) + 2 * w_.leaf_weight + price;
      budget = tightened(budget, front, level);
      if (least >= budget) continue;
      for (; summed <= i; ++summed) add(order[summed], here.part[0].data());
      stump_at(view, level, next, f, i, price, budget, front);
    }
  }
}

// Both leaves of a split behind position i of the feature's order, all labels that the rules leave
// open.
void RuledSearch::stump_at(View& view, int level, int next, std::size_t f, std::size_t i,
                           Loss price, Loss budget, Front& front) {
  Level& here = at(level);
  const std::uint32_t low = view.sorted(f)[i], high = view.sorted(f)[i + 1];
  if (!w_.may_stand(f, low, high, level)) return;
  if (monotone_) monotone_->split(level, f, view.order(f)[i], view.order(f)[i + 1]);
  here.part[1].resize(w_.width);
  for (std::size_t s = 0; s < w_.width; ++s) here.part[1][s] = here.sums[s] - here.part[0][s];
  for (int s = 0; s < 2; ++s) {
    leaves(here.part[s].data(), next, here.labels_of[s]);
    if (monotone_) monotone_->keep(level, s, here.labels_of[s]);
    if (here.labels_of[s].empty()) return;
  }
  const std::uint64_t facts = facts_of(view, f, low + 1, level);
  if (facts & w_.forbidden) return;
  const Loss* weighted[2] = {here.weighted.data(), here.weighted.data() + w_.labels};
  here.values.resize(w_.components);
  for (int a : here.labels_of[0])
    for (int b : here.labels_of[1]) {
      Entry e;
      e.weighted = weighted[0][a] + weighted[1][b] + 2 * w_.leaf_weight + price;
      if (e.weighted >= budget) continue;
      for (std::size_t k = 0; k < w_.components; ++k)
        here.values[k] = leaf_value(here.part[0].data(), k, a) +
                         leaf_value(here.part[1].data(), k, b) + here.split[k];
      if (!within(here.values.data(), here.sums.data() + w_.sums)) continue;
      e.facts = facts;
      if (monotone_) {
        e.facts |= monotone_->stump_facts(level, a, b);
        if (e.facts & w_.forbidden) continue;
        e.threshold = monotone_->threshold(level);
      }
      e.feature = static_cast<int>(f);
      e.bound = low + 1;
      e.left = -1 - a;
      e.right = -1 - b;
      if (level == 0)
        consider(e, here.values.data());
      else
        front.offer(e, here.values.data());
    }
}

}  // namespace odt
