#include "odt/ruled_judge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace odt {

namespace {

// What a rule counts that labels cannot mend; of others the violation is at most about 1.
constexpr double kBroken = 1e6;
constexpr int kFlips = 4;  // per leaf

}  // namespace

Judge::Judge(const RuledProblem& p)
    : p_(p),
      labels_(static_cast<std::size_t>(p.base.classes)),
      components_(static_cast<std::size_t>(p.components)),
      sums_(static_cast<std::size_t>(p.sums)),
      columns_(static_cast<std::size_t>(p.columns)),
      range_(components_, 1) {
  for (std::size_t k = 0; k < components_; ++k)
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      Loss low = kInfinite, high = -kInfinite;
      for (std::size_t c = 0; c < labels_; ++c) {
        const int s = p.sum_of[k * labels_ + c];
        const Loss v = s < 0 ? 0 : p.value[i * sums_ + static_cast<std::size_t>(s)];
        low = std::min(low, v);
        high = std::max(high, v);
      }
      range_[k] += static_cast<double>(high - low);
    }
  if (p.monotone.empty()) return;
  monotone_ = std::make_unique<Monotone>(p.monotone, p.space, p.base.rows, p.base.classes);
  for (const MonotoneRule& rule : p.monotone) order_ |= std::uint64_t{1} << rule.fact;
}

bool Judge::rules_hold(const std::vector<std::vector<int>>& open,
                       const std::vector<RowClause>& clauses, int state, const Sums& sums,
                       int label) const {
  for (int rule : open[static_cast<std::size_t>(state)])
    if (!row_clause_holds(clauses[static_cast<std::size_t>(rule)], sums.data(), label))
      return false;
  return true;
}

void Judge::leaf(const Grown& tree, const Sums& sums, int state, bool empty) {
  Leaf made{static_cast<int>(tree_.nodes.size()) - 1,
            tree.label,
            {},
            std::vector<Loss>(labels_ * components_)};
  const bool stands = !empty && state >= 0 && p_.need[static_cast<std::size_t>(state)] <= 0;
  for (std::size_t c = 0; c < labels_; ++c) {
    if (stands && rules_hold(p_.leaf_rules, p_.leaf_clauses, state, sums, static_cast<int>(c)))
      made.open.push_back(static_cast<int>(c));
    for (std::size_t k = 0; k < components_; ++k) {
      const int s = p_.sum_of[k * labels_ + c];
      made.values[c * components_ + k] =
          p_.leaf[k] + (s < 0 ? 0 : sums[static_cast<std::size_t>(s)]);
    }
  }
  if (made.open.empty()) {
    structure_ += kBroken;
    for (std::size_t c = 0; c < labels_; ++c) made.open.push_back(static_cast<int>(c));
  }
  leaves_.push_back(std::move(made));
}

// The state below; -1 where the split may not stand.
int Judge::split(int level, int state, std::size_t f, const std::uint32_t* rows, std::size_t count,
                 std::size_t left, std::uint32_t low, std::uint32_t high, const Sums& sums) {
  const std::size_t column = static_cast<std::size_t>(p_.column[f]);
  const bool stands = state >= 0 && level < p_.base.depth && left > 0 && left < count &&
                      rules_hold(p_.split_rules, p_.split_clauses, state, sums, 0) &&
                      p_.cut_stands(f, low, high, level);
  const std::size_t step = static_cast<std::size_t>(std::max(0, state)) * columns_ + column;
  const int next = stands ? p_.next[step] : -1;
  if (next < 0) {
    structure_ += kBroken;
    cut_off_ = true;
    return -1;
  }
  for (std::size_t k = 0; k < components_; ++k) {
    base_[k] += p_.split[k * columns_ + column];
    if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
      base_[k] += sums[static_cast<std::size_t>(p_.path_weight[k])] * p_.path_delta[k][step];
  }
  facts_ |= p_.split_facts[static_cast<std::size_t>(level) * columns_ + column];
  for (const Pair& pair : p_.pairs) {
    const auto side = [&](std::uint32_t row) {
      const auto at = std::find(rows, rows + count, row);
      return at == rows + count ? -1
                                : static_cast<int>(at - rows >= static_cast<std::ptrdiff_t>(left));
    };
    const int a = side(pair.first), b = side(pair.second);
    if (a >= 0 && b >= 0 && a != b) facts_ |= std::uint64_t{1} << pair.fact;
  }
  return next;
}

// Rows are moved so that those of the left child come first. Their sums.
Judge::Sums Judge::walk(const Grown& tree, std::uint32_t* rows, std::size_t count, int level,
                        int state) {
  const std::size_t at = tree_.nodes.size();
  tree_.nodes.emplace_back();
  Sums sums(sums_, 0);
  if (tree.feature < 0 || state < 0) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t s = 0; s < sums_; ++s) sums[s] += p_.value[rows[i] * sums_ + s];
    if (tree.feature < 0) leaf(tree, sums, state, count == 0);
    return sums;
  }
  const std::size_t f = static_cast<std::size_t>(tree.feature);
  const std::uint32_t* rank = p_.base.ranks(f);
  const std::size_t left = static_cast<std::size_t>(
      std::partition(rows, rows + count, [&](std::uint32_t i) { return rank[i] < tree.bound; }) -
      rows);
  std::uint32_t low = 0, high = p_.base.distinct[f];
  for (std::size_t i = 0; i < left; ++i) low = std::max(low, rank[rows[i]]);
  for (std::size_t i = left; i < count; ++i) high = std::min(high, rank[rows[i]]);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t s = 0; s < sums_; ++s) sums[s] += p_.value[rows[i] * sums_ + s];
  const int next = split(level, state, f, rows, count, left, low, high, sums);
  if (next < 0) return sums;
  TreeNode made;
  made.feature = tree.feature;
  made.cut = low;
  made.next = high;
  made.left = static_cast<int>(tree_.nodes.size());
  walk(*tree.left, rows, left, level + 1, next);
  made.right = static_cast<int>(tree_.nodes.size());
  walk(*tree.right, rows + left, count - left, level + 1, next);
  tree_.nodes[at] = made;
  return sums;
}

std::vector<Loss> Judge::totals(const std::vector<int>& labels) const {
  std::vector<Loss> values = base_;
  for (std::size_t l = 0; l < leaves_.size(); ++l)
    for (std::size_t k = 0; k < components_; ++k)
      values[k] += leaves_[l].values[static_cast<std::size_t>(labels[l]) * components_ + k];
  return values;
}

double Judge::violation(const Loss* values) const {
  double total = 0;
  for (const ModelClause& clause : p_.clauses) {
    double least = kBroken;
    for (const ModelLiteral& l : clause) {
      if (l.component < 0) {
        if (((facts_ >> l.fact & 1) != 0) == l.positive) least = 0;
        continue;
      }
      const Loss over = values[l.component] - l.at_most;
      least = std::min(least, over <= 0 ? 0
                                        : static_cast<double>(over) /
                                              range_[static_cast<std::size_t>(l.component)]);
    }
    total += least;
  }
  return total;
}

// Flips of labels while they help: first those that mend rules at the least cost, then the ones
// that gain most.
void Judge::improve(std::vector<int>& labels) {
  std::vector<Loss> values = totals(labels), moved(components_);
  double broken = violation(values.data());
  Loss objective = objective_of(p_, facts_, values.data());
  for (int flips = static_cast<int>(leaves_.size()) * kFlips; flips > 0; --flips) {
    std::size_t best_leaf = leaves_.size();
    int best_label = 0;
    double best_broken = 0, best_price = 0;
    Loss best_objective = 0;
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const Loss* now =
          leaves_[l].values.data() + static_cast<std::size_t>(labels[l]) * components_;
      for (int c : leaves_[l].open) {
        if (c == labels[l]) continue;
        const Loss* then = leaves_[l].values.data() + static_cast<std::size_t>(c) * components_;
        for (std::size_t k = 0; k < components_; ++k) moved[k] = values[k] + then[k] - now[k];
        const double b = violation(moved.data());
        if (b > broken || (broken == 0 && b > 0)) continue;
        const Loss o = objective_of(p_, facts_, moved.data());
        if (b == broken && o >= objective) continue;
        // What mends is paid by what it mends; what is kept is as good as it gains.
        const double price = b < broken ? static_cast<double>(o - objective) / (broken - b)
                                        : static_cast<double>(o - objective);
        const bool mends = b < broken, before = best_leaf < leaves_.size() && best_broken < broken;
        if (best_leaf < leaves_.size() && (before != mends ? before : price >= best_price))
          continue;
        best_leaf = l;
        best_label = c;
        best_broken = b;
        best_price = price;
        best_objective = o;
      }
    }
    if (best_leaf == leaves_.size()) return;
    const Loss* now = leaves_[best_leaf].values.data() +
                      static_cast<std::size_t>(labels[best_leaf]) * components_;
    const Loss* then =
        leaves_[best_leaf].values.data() + static_cast<std::size_t>(best_label) * components_;
    for (std::size_t k = 0; k < components_; ++k) values[k] += then[k] - now[k];
    labels[best_leaf] = best_label;
    broken = best_broken;
    objective = best_objective;
  }
}

// ---- monotone rules

// The node as one of the arena, with what it and all below set.
int Judge::arena_of(int node, int level, const std::vector<int>& labels, const std::uint32_t* rows,
                    std::size_t count, int& leaf, std::uint64_t& facts,
                    std::vector<std::pair<int, int>>* wrong) {
  const TreeNode& n = tree_.nodes[static_cast<std::size_t>(node)];
  if (n.feature < 0) return -1 - labels[static_cast<std::size_t>(leaf++)];
  const std::size_t f = static_cast<std::size_t>(n.feature);
  const std::uint32_t* rank = p_.base.ranks(f);
  std::vector<std::uint32_t> side[2];
  std::uint32_t low = 0, high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    side[rank[rows[i]] > n.cut].push_back(rows[i]);
    if (rank[rows[i]] == n.cut) low = rows[i];
    if (rank[rows[i]] == n.next) high = rows[i];
  }
  const int first = leaf;
  int children[2], middle = 0;
  for (int s = 0; s < 2; ++s) {
    monotone_->split(level, f, low, high);
    monotone_->enter(level, s, {});
    if (s == 1) middle = leaf;
    children[s] = arena_of(s == 0 ? n.left : n.right, level + 1, labels, side[s].data(),
                           side[s].size(), leaf, facts, wrong);
  }
  monotone_->split(level, f, low, high);
  const double threshold = monotone_->threshold(level);
  if (const std::uint64_t own = monotone_->facts_of(f)) {
    const Monotone::Meeting here = monotone_->meeting(level);
    const Monotone::Regions left = monotone_->regions(arena_, children[0], here, 0),
                            right = monotone_->regions(arena_, children[1], here, 1);
    std::vector<Monotone::Tangle> tangles;
    facts |=
        monotone_->facts_between(left, right, here, wrong ? own : 0, wrong ? &tangles : nullptr);
    for (const Monotone::Tangle& t : tangles)
      wrong->emplace_back(first + static_cast<int>(t.regions[0] - left.data()),
                          middle + static_cast<int>(t.regions[1] - right.data()));
  }
  arena_.push_back({n.feature, n.cut + 1, children[0], children[1], threshold});
  return static_cast<int>(arena_.size()) - 1;
}

std::uint64_t Judge::order_facts(const std::vector<int>& labels,
                                 std::vector<std::pair<int, int>>* wrong) {
  arena_.clear();
  std::vector<std::uint32_t> rows(p_.base.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  int leaf = 0;
  std::uint64_t facts = 0;
  arena_of(0, 0, labels, rows.data(), rows.size(), leaf, facts, wrong);
  monotone_->forget(0);
  return facts;
}

// Of two leaves in the wrong order, one takes the label of the other: the one whose objective
// suffers less.
void Judge::mend_order(std::vector<int>& labels) {
  std::vector<std::pair<int, int>> wrong;
  for (std::size_t round = 0; round < 4 * leaves_.size() + 4; ++round) {
    wrong.clear();
    facts_ = (facts_ & ~order_) | order_facts(labels, &wrong);
    if (wrong.empty()) return;
    const std::size_t pair[2] = {static_cast<std::size_t>(wrong[0].first),
                                 static_cast<std::size_t>(wrong[0].second)};
    std::vector<int> best;
    double best_broken = 0;
    Loss best_objective = 0;
    for (int way = 0; way < 2; ++way) {
      const int label = labels[pair[1 - way]];
      const auto& open = leaves_[pair[way]].open;
      if (std::find(open.begin(), open.end(), label) == open.end()) continue;
      std::vector<int> tried = labels;
      tried[pair[way]] = label;
      const std::vector<Loss> values = totals(tried);
      const double broken = violation(values.data());
      const Loss objective = objective_of(p_, facts_ & ~order_, values.data());
      if (!best.empty() &&
          (broken > best_broken || (broken == best_broken && objective >= best_objective)))
        continue;
      best = tried;
      best_broken = broken;
      best_objective = objective;
    }
    if (best.empty()) return;
    labels = best;
  }
}

// ---- all of it

Judge::Verdict Judge::judge(const Grown& tree) {
  tree_.nodes.clear();
  leaves_.clear();
  base_.assign(components_, 0);
  facts_ = 0;
  structure_ = 0;
  cut_off_ = false;
  std::vector<std::uint32_t> rows(p_.base.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  walk(tree, rows.data(), rows.size(), 0, 0);
  Verdict made;
  made.broken = structure_;
  if (cut_off_) return made;
  std::vector<int> given, labels;
  for (const Leaf& l : leaves_) given.push_back(l.given);
  made.as_given.free_values = totals(given);
  for (std::size_t k = 0; k < components_; ++k) made.as_given.free_values[k] -= base_[k];
  for (const Leaf& l : leaves_)
    labels.push_back(std::find(l.open.begin(), l.open.end(), l.given) == l.open.end() ? l.open[0]
                                                                                      : l.given);
  if (monotone_) facts_ |= order_facts(labels, nullptr);
  improve(labels);
  if (monotone_) {
    mend_order(labels);
    facts_ = (facts_ & ~order_) | order_facts(labels, nullptr);
  }
  const std::vector<Loss> values = totals(labels);
  made.broken += violation(values.data());
  made.objective = objective_of(p_, facts_, values.data());
  for (std::size_t l = 0; l < leaves_.size(); ++l)
    tree_.nodes[static_cast<std::size_t>(leaves_[l].node)].label = labels[l];
  made.tree = tree_;
  return made;
}

}  // namespace odt
