#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

namespace odt {

inline Loss round_up(Loss a, Loss b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
inline Loss round_down(Loss a, Loss b) { return -round_up(-a, b); }

template <class R>
RuledSearch<R>::RuledSearch(const RuledProblem& p, Control& control, Result& result)
    : p_(p), control_(control), result_(result), labels_(static_cast<std::size_t>(p.base.classes)),
      components_(static_cast<std::size_t>(p.components)), sums_(static_cast<std::size_t>(p.sums)),
      columns_(static_cast<std::size_t>(p.columns)), search_(control) {
  weigh();
  choose_bounds();
  choose_most();
  for (const auto& flags : p.allowed_at) {
    allowed_upto_.emplace_back();
    for (std::size_t f = 0; f < p.base.features; ++f) {
      auto& upto = allowed_upto_.back().emplace_back();
      if (f >= flags.size() || flags[f].empty()) continue;
      upto.assign(p.base.distinct[f] + 1, 0);
      for (std::size_t r = 0; r < p.base.distinct[f]; ++r) upto[r + 1] = upto[r] + (flags[f][r] != 0);
    }
  }
  data_ = std::make_unique<Dataset>(free_problem_, choose_kernels(control.options().isa));
  const std::size_t pairs = data_->features() * data_->features() * data_->rows() * sizeof(R) * 4;
  root_.make_root(*data_, pairs <= (std::size_t{1} << 28), true);
  if (!p.monotone.empty()) monotone_ = std::make_unique<Monotone>(p.monotone, p.space, p.base.rows, p.base.classes);
  deletion_ = deletion_holds();
  subset_ = deletion_ && p.monotone.empty() && p.closed && p.leaf_clauses.empty() && p.split_clauses.empty() && p.allowed_at.empty() &&
            std::count(p.missing_low.begin(), p.missing_low.end(), 0) == static_cast<std::ptrdiff_t>(p.missing_low.size()) &&
            std::count(p.missing_high.begin(), p.missing_high.end(), 0) == static_cast<std::ptrdiff_t>(p.missing_high.size());
  // Facts that are forbidden are never set.
  const std::uint64_t facts = p.facts < 64 ? (std::uint64_t{1} << p.facts) - 1 : ~std::uint64_t{0};
  single_ = components_ == 1 && p.multiplier[0] > 0 && forbidden_ == facts;
}

// The weighted sum of the components as a loss per row and label: the free problem, whose optimum bounds all trees.
template <class R>
void RuledSearch<R>::weigh() {
  const std::size_t n = p_.base.rows;
  weighted_.assign(n * labels_, 0);
  width_ = sums_ + components_ + 1;
  table_.assign(n * width_, 0);
  Loss common = 0;
  bool plain = true;
  for (std::size_t i = 0; i < n; ++i) {
    const Loss* value = p_.value.data() + i * sums_;
    Loss* w = weighted_.data() + i * labels_;
    for (std::size_t k = 0; k < components_; ++k) {
      Loss least = kInfinite;
      for (std::size_t c = 0; c < labels_; ++c) {
        const int s = p_.sum_of[k * labels_ + c];
        const Loss v = s < 0 ? 0 : value[s];
        least = std::min(least, v);
        w[c] += p_.multiplier[k] * v;
      }
      table_[i * width_ + sums_ + k] = least;
    }
    std::copy(value, value + sums_, table_.begin() + static_cast<std::ptrdiff_t>(i * width_));
    const Loss least = *std::min_element(w, w + labels_);
    offset_ += least;
    table_[i * width_ + width_ - 1] = least;
    for (std::size_t c = 0; c < labels_; ++c) common = std::gcd(common, w[c] -= least);
    worst_.push_back(*std::max_element(w, w + labels_));
  }
  for (std::size_t k = 0; k < components_; ++k) leaf_weight_ += p_.multiplier[k] * p_.leaf[k];
  const Loss price = std::max<Loss>(0, leaf_weight_);
  grain_ = std::max<Loss>(1, std::gcd(common, price));
  free_problem_ = p_.base;
  free_problem_.weight.clear();
  free_problem_.cost.clear();
  free_problem_.leaf_price = price / grain_;
  std::map<std::vector<Loss>, int> kinds;  // rows of equal losses
  std::vector<int> kind(n), right(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Loss> row(labels_);
    std::size_t zeros = 0, ones = 0;
    for (std::size_t c = 0; c < labels_; ++c) {
      row[c] = weighted_[i * labels_ + c] / grain_;
      zeros += row[c] == 0;
      ones += row[c] == 1;
      if (row[c] == 0) right[i] = static_cast<int>(c);
    }
    plain = plain && zeros == 1 && ones + 1 == labels_;
    kind[i] = kinds.emplace(row, static_cast<int>(kinds.size())).first->second;
  }
  free_problem_.label = plain ? right : kind;
  if (plain) return;
  free_problem_.cost.resize(kinds.size() * labels_);
  for (const auto& [row, k] : kinds)
    std::copy(row.begin(), row.end(), free_problem_.cost.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(k) * labels_));
}

template <class R>
void RuledSearch<R>::choose_bounds() {
  const int depth = p_.base.depth;
  const std::size_t n = p_.base.rows;
  const auto most = [&](int d) { return static_cast<Loss>(std::min<std::size_t>(n, static_cast<std::size_t>(full_leaves(d)))); };
  // Prices below zero, per component: of a leaf, of a split, of a level of paths.
  std::vector<Loss> leaf(components_), split(components_, 0), path(components_, 0);
  for (std::size_t k = 0; k < components_; ++k) {
    leaf[k] = std::min<Loss>(0, p_.leaf[k]);
    for (std::size_t c = 0; c < columns_; ++c) split[k] = std::min(split[k], p_.split[k * columns_ + c]);
    if (p_.path_weight[k] < 0 || p_.path_delta[k].empty()) continue;
    const auto& delta = p_.path_delta[k];
    const Loss low = *std::min_element(delta.begin(), delta.end()), high = *std::max_element(delta.begin(), delta.end());
    for (std::size_t i = 0; i < n; ++i) {
      const Loss w = p_.value[i * sums_ + static_cast<std::size_t>(p_.path_weight[k])];
      path[k] += std::min<Loss>(0, std::min(w * low, w * high));
    }
  }
  const auto below = [&](std::size_t k, int d) { return leaf[k] * most(d) + split[k] * (most(d) - 1) + path[k] * d; };
  negative_.assign(static_cast<std::size_t>(depth) + 1, 0);
  const bool priced = leaf_weight_ >= 0;  // then the leaves' prices are in the free loss
  for (int d = 0; d <= depth; ++d)
    for (std::size_t k = 0; k < components_; ++k)
      negative_[static_cast<std::size_t>(d)] += p_.multiplier[k] * (below(k, d) - (priced ? leaf[k] * most(d) : 0));
  slack_.assign(components_, kInfinite);
  for (const ModelClause& clause : p_.clauses) {
    for (const ModelLiteral& l : clause) {
      if (l.component >= 0) continue;
      (l.positive ? wanted_ : unwanted_) |= std::uint64_t{1} << l.fact;
      if (clause.size() == 1 && !l.positive) forbidden_ |= std::uint64_t{1} << l.fact;
    }
    if (clause.size() != 1 || clause[0].component < 0) continue;
    const std::size_t k = static_cast<std::size_t>(clause[0].component);
    Loss least = below(k, depth);
    for (std::size_t i = 0; i < n; ++i) least += table_[i * width_ + sums_ + k];
    slack_[k] = std::min(slack_[k], clause[0].at_most - least);
  }
  for (const ObjectiveTerm& t : p_.objective)
    if (t.fact >= 0) unwanted_ |= std::uint64_t{1} << t.fact;
}

// A tree that may stand on some rows may stand on more of them, and a row more costs at most its worst loss.
template <class R>
bool RuledSearch<R>::deletion_holds() const {
  const auto none = [](const std::vector<Loss>& values) { return std::all_of(values.begin(), values.end(), [](Loss v) { return v == 0; }); };
  if (!p_.pairs.empty() || !none(negative_)) return false;
  for (std::size_t k = 0; k < components_; ++k)
    if (slack_[k] < kInfinite || (p_.path_weight[k] >= 0 && p_.multiplier[k] > 0)) return false;
  for (const auto* clauses : {&p_.leaf_clauses, &p_.split_clauses})
    for (const RowClause& clause : *clauses)
      for (const RowLiteral& l : clause)
        for (int s : l.sum)
          for (std::size_t i = 0; s >= 0 && i < p_.base.rows; ++i)
            if (table_[i * width_ + static_cast<std::size_t>(s)] > 0) return false;
  return true;
}

template <class R>
typename RuledSearch<R>::Level& RuledSearch<R>::at(int level) {
  while (static_cast<int>(levels_.size()) <= level) levels_.push_back(std::make_unique<Level>());
  return *levels_[static_cast<std::size_t>(level)];
}

// ---- one sub-tree

// A lower bound on the weighted sum of all sub-trees of these rows, exact where it is below `upper`.
template <class R>
Loss RuledSearch<R>::free_loss(View<R>& view, int depth, Loss upper, Loss lower) {
  const Loss shift = negative(depth);
  const int most = p_.base.leaves > 0 ? p_.base.leaves : full_leaves(30);
  const Loss top = std::max<Loss>(0, round_up(upper - shift, grain_));
  const Loss bottom = std::max<Loss>(0, round_down(lower - shift, grain_));
  if (bottom >= top) return std::max(lower, upper);
  const Outcome out = search_.solve(view, 0, shape(depth, most), top, bottom, 1, nullptr, 0);
  return std::max(lower, out.value * grain_ + shift);
}

// Per row value, then per component the least that labels allow, then the least of the weighted sum.
template <class R>
void RuledSearch<R>::totals(const View<R>& view, std::vector<Loss>& sums) const {
  sums.assign(width_, 0);
  for (std::size_t i = 0; i < view.rows(); ++i) add(view.order(0)[i], sums.data());
}

template <class R>
void RuledSearch<R>::add(std::uint32_t row, Loss* sums) const {
  const Loss* value = table_.data() + row * width_;
  for (std::size_t s = 0; s < width_; ++s) sums[s] += value[s];
}

template <class R>
bool RuledSearch<R>::clause_holds(const RowClause& clause, const Loss* sums, int label) const {
  for (const RowLiteral& l : clause) {
    const int s = l.sum.size() == 1 ? l.sum[0] : l.sum[static_cast<std::size_t>(label)];
    if (l.constant + (s < 0 ? 0 : sums[s]) <= l.at_most) return true;
  }
  return false;
}

template <class R>
Loss RuledSearch<R>::leaf_value(const Loss* sums, int k, int label) const {
  const int s = p_.sum_of[static_cast<std::size_t>(k) * labels_ + static_cast<std::size_t>(label)];
  return p_.leaf[static_cast<std::size_t>(k)] + (s < 0 ? 0 : sums[s]);
}

// The labels that the rules on leaves leave open.
template <class R>
void RuledSearch<R>::leaves(const Loss* sums, int state, std::vector<int>& labels) const {
  labels.clear();
  if (need(state) > 0) return;
  for (int c = 0; c < static_cast<int>(labels_); ++c) {
    bool holds = true;
    for (int rule : p_.leaf_rules[static_cast<std::size_t>(state)])
      holds = holds && clause_holds(p_.leaf_clauses[static_cast<std::size_t>(rule)], sums, c);
    if (holds) labels.push_back(c);
  }
}

// Components whose bound cannot be met with these values, whatever the rest of the tree.
template <class R>
bool RuledSearch<R>::within(const Loss* values, const Loss* lowest) const {
  for (std::size_t k = 0; k < components_; ++k)
    if (slack_[k] < kInfinite && values[k] - lowest[k] > slack_[k]) return false;
  return true;
}

template <class R>
Loss RuledSearch<R>::split_values(const Loss* sums, int state, int column, std::vector<Loss>& out) const {
  out.assign(components_, 0);
  Loss weighted = 0;
  for (std::size_t k = 0; k < components_; ++k) {
    out[k] = p_.split[k * columns_ + static_cast<std::size_t>(column)];
    if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
      out[k] += sums[p_.path_weight[k]] * p_.path_delta[k][static_cast<std::size_t>(state) * columns_ + static_cast<std::size_t>(column)];
    weighted += p_.multiplier[k] * out[k];
  }
  return weighted;
}

template <class R>
bool RuledSearch<R>::may_stand(std::size_t f, std::uint32_t low, std::uint32_t high, int level) const {
  if (!p_.missing_low.empty() && p_.missing_low[f] && low == 0) return false;
  if (!p_.missing_high.empty() && p_.missing_high[f] && high + 1 == p_.base.distinct[f]) return false;
  if (static_cast<std::size_t>(level) >= allowed_upto_.size()) return true;
  const auto& upto = allowed_upto_[static_cast<std::size_t>(level)][f];
  return upto.empty() || upto[high] > upto[low];
}

template <class R>
std::uint64_t RuledSearch<R>::facts_of(const View<R>& view, std::size_t f, std::uint32_t bound, int level) {
  std::uint64_t facts = p_.split_facts[static_cast<std::size_t>(level) * columns_ + static_cast<std::size_t>(p_.column[f])];
  if (p_.pairs.empty()) return facts;
  const std::uint32_t* rank = p_.base.ranks(f);
  const std::uint32_t* order = view.order(0);
  for (const Pair& pair : p_.pairs) {
    if ((rank[pair.first] < bound) == (rank[pair.second] < bound)) continue;
    int here = 0;
    for (std::size_t i = 0; i < view.rows(); ++i) here += order[i] == pair.first || order[i] == pair.second;
    if (here == 2) facts |= std::uint64_t{1} << pair.fact;
  }
  return facts;
}

template <class R>
void RuledSearch<R>::offer_leaf(const Loss* sums, int label, Loss budget, Front& front) {
  std::vector<Loss> values(components_);
  Entry e;
  e.left = -1 - label;
  e.weighted = leaf_weight_;
  for (std::size_t k = 0; k < components_; ++k) values[k] = leaf_value(sums, static_cast<int>(k), label);
  // The weighted sum is counted above the least that each row must lose.
  for (std::size_t k = 0; k < components_; ++k) e.weighted += p_.multiplier[k] * (values[k] - p_.leaf[k]);
  e.weighted -= sums[width_ - 1];
  if (e.weighted < budget && within(values.data(), sums + sums_)) front.offer(e, values.data());
}

template <class R>
void RuledSearch<R>::keep(Front& front) {
  for (Entry& e : front.entries()) {
    if (e.feature < 0) continue;
    arena_.push_back({e.feature, e.bound, e.left, e.right, e.threshold});
    e.left = static_cast<int>(arena_.size()) - 1;
    e.feature = -1;
  }
  check_memory();
}

template <class R>
void RuledSearch<R>::check_memory() const {
  const std::size_t limit = control_.options().memory_limit ? control_.options().memory_limit : std::size_t{1} << 31;
  std::size_t bytes = arena_.size() * sizeof(ArenaNode) + (monotone_ ? monotone_->bytes() + case_bytes_ : 0);
  for (const auto& level : levels_) bytes += level->front[0].bytes() + level->front[1].bytes();
  if (bytes > limit) throw Stop{};
}

// ---- nodes

// All sub-trees below the budget that none dominates.
template <class R>
void RuledSearch<R>::solve(View<R>& view, int level, int depth, int state, Loss budget, Front& front) {
  front.clear(components_, wanted_, unwanted_, monotone_ ? monotone_->facts_above(level) & wanted_ : 0);
  ++search_.counters.nodes;
  control_.poll(view.rows() * view.features());
  Level& here = at(level);
  totals(view, here.sums);
  leaves(here.sums.data(), state, here.labels);
  if (monotone_) monotone_->keep(monotone_->limits(level), here.labels);
  for (int label : here.labels) offer_leaf(here.sums.data(), label, budget, front);
  if (level == 0)
    for (const Entry& e : front.entries()) consider(e, front.components(e));
  bool may_split = depth > 0;
  for (int rule : p_.split_rules[static_cast<std::size_t>(state)])
    may_split = may_split && clause_holds(p_.split_clauses[static_cast<std::size_t>(rule)], here.sums.data(), 0);
  if (may_split && depth == 1) stumps(view, level, state, tightened(budget, front, level), front);
  if (may_split && depth > 1) branch(view, level, depth, state, tightened(budget, front, level), front);
  keep(front);
}

// Where one number says all, only a better sub-tree is of use.
template <class R>
Loss RuledSearch<R>::tightened(Loss budget, const Front& front, int level) const {
  if (level == 0) return std::min(budget, ceiling());
  return single_ && !front.empty() ? std::min(budget, front.entries()[0].weighted) : budget;
}

template <class R>
void RuledSearch<R>::branch(View<R>& view, int level, int depth, int state, Loss budget, Front& front) {
  Level& here = at(level);
  const Loss shift = negative(depth - 1);
  const Loss whole = free_loss(view, depth - 1, budget, shift);
  for (std::size_t f = 0; f < view.features(); ++f) {
    const int column = p_.column[f];
    const int next = p_.next[static_cast<std::size_t>(state) * columns_ + static_cast<std::size_t>(column)];
    if (next < 0 || need(next) > depth - 1 || !view.splittable(f)) continue;
    const Loss price = split_values(here.sums.data(), state, column, here.split);
    here.upto.resize(view.rows() + 1);
    here.upto[0] = 0;
    for (std::size_t i = 0; i < view.rows(); ++i) here.upto[i + 1] = here.upto[i] + worst_[view.order(f)[i]];
    const RowWeights weights{here.upto.data()};
    here.stack.assign(1, {{0, static_cast<std::int32_t>(view.rows()), shift, whole, whole, shift, 0, 0}, whole, whole});
    while (!here.stack.empty()) {
      RuledInterval i = here.stack.back();
      here.stack.pop_back();
      budget = tightened(budget, front, level);
      const Loss room = budget - price;
      settle(i.ends, weights);
      if (interval_bound(i, weights) >= room) {
        ++search_.counters.pruned_interval;
        continue;
      }
      const OpenCuts open = open_cuts(i, weights, room);
      if (open.first > i.ends.low + 1 || open.last < i.ends.high - 1) ++search_.counters.pruned_neighbour;
      const std::int32_t cut =
          open.first > open.last ? -1 : nearest_cut(view.ends(f), open.first + (open.last - open.first) / 2, open.first, open.last);
      if (cut < 0) continue;
      const Sides sides = evaluate(view, level, depth, next, f, cut, i, weights, room, front);
      const Interval& e = i.ends;
      here.stack.push_back({{e.low, cut, e.low_left, e.low_right, sides.free[0], sides.free[1], 0, 0}, i.low_right, sides.ruled[0]});
      here.stack.push_back({{cut, e.high, sides.free[0], sides.free[1], e.high_left, e.high_right, 0, 0}, sides.ruled[1], i.high_left});
    }
  }
}

// Bounds on both sides of a cut and, where these leave room, all sub-trees that split there.
template <class R>
typename RuledSearch<R>::Sides RuledSearch<R>::evaluate(View<R>& view, int level, int depth, int next, std::size_t f,
                                                        std::int32_t cut, const RuledInterval& whole, const RowWeights& weights,
                                                        Loss room, Front& front) {
  Level& here = at(level);
  ++search_.counters.cuts;
  const R bound = static_cast<R>(view.sorted(f)[cut - 1] + 1);
  const Interval& around = whole.ends;
  const Loss below = weights.between(around.low, cut), above = weights.between(cut, around.high);
  Loss value[2] = {std::max(around.low_left, around.high_left - above), std::max(around.high_right, around.low_right - below)};
  const Loss slack = std::min(below, above) / 2;  // exact bounds prune neighbours
  const int first = 2 * cut <= static_cast<std::int32_t>(view.rows()) ? 0 : 1;
  bool open = true;
  for (int k = 0; k < 2; ++k) {
    const int s = k == 0 ? first : 1 - first;
    const Loss limit = room - value[1 - s] + slack;
    open = open && value[s] < limit;
    if (!open) break;
    here.side[s].make_child(view, f, bound, s == 0);
    value[s] = free_loss(here.side[s], depth - 1, limit, value[s]);
  }
  if (open && value[0] + value[1] < room && may_stand(f, view.sorted(f)[cut - 1], view.sorted(f)[cut], level)) {
    const std::uint64_t facts = facts_of(view, f, bound, level);
    Sides sides{{value[0], value[1]}, {value[0], value[1]}};
    const bool deletion = deletion_at(level, depth);
    if (deletion) {
      sides.ruled[0] = std::max(value[0], whole.high_left - above);
      sides.ruled[1] = std::max(value[1], whole.low_right - below);
    }
    if (monotone_) monotone_->split(level, f, view.order(f)[cut - 1], view.order(f)[cut]);
    if (!(facts & forbidden_)) join(view, level, depth, next, f, bound, facts, sides, room, slack, first, front);
    if (!deletion) return {{value[0], value[1]}, {value[0], value[1]}};
    if (subset_)
      for (int s = 0; s < 2; ++s) sides.free[s] = sides.ruled[s];
    return sides;
  }
  return {{value[0], value[1]}, {value[0], value[1]}};
}

template <class R>
void RuledSearch<R>::join(View<R>& view, int level, int depth, int next, std::size_t f, std::uint32_t bound, std::uint64_t facts, Sides& sides,
                          Loss room, Loss slack, int first, Front& front) {
  Level& here = at(level);
  // As in the plain search: a side solved a little beyond what can still win prunes its neighbours.
  const bool deletion = deletion_at(level, depth);
  const Loss beyond = deletion && single_ ? slack : 0;
  for (int k = 0; k < 2; ++k) {
    const int s = k == 0 ? first : 1 - first;
    if (sides.ruled[0] + sides.ruled[1] >= room) return;
    const Loss budget = room - sides.ruled[1 - s] + beyond;
    if (monotone_) monotone_->enter(level, s, monotone_->limits_of(level, s));
    solve(here.side[s], level + 1, depth - 1, next, budget, here.front[s]);
    const Loss found = here.front[s].empty() ? budget : here.front[s].entries()[0].weighted;
    if (deletion || k == 0) sides.ruled[s] = std::max(sides.ruled[s], found);
    if (here.front[s].empty()) return;
  }
  Loss price = 0;
  for (std::size_t k = 0; k < components_; ++k) price += p_.multiplier[k] * here.split[k];
  if (monotone_ && monotone_->facts_of(f) != 0) return untangle(view, level, depth, next, f, bound, facts, room, price, front);
  here.values.resize(components_);
  std::uint64_t work = 0;
  for (const Entry& a : here.front[0].entries())
    for (const Entry& b : here.front[1].entries()) {
      if ((work += front.entries().size() + components_ + 1) > 20000) {  // large fronts: an offer looks through all entries
        control_.poll(work);
        check_memory();
        work = 0;
      }
      if (a.weighted + b.weighted >= tightened(room + price, front, level) - price) break;
      const Loss* x = here.front[0].components(a);
      const Loss* y = here.front[1].components(b);
      for (std::size_t k = 0; k < components_; ++k) here.values[k] = x[k] + y[k] + here.split[k];
      if (!within(here.values.data(), here.sums.data() + sums_)) continue;
      Entry e;
      e.weighted = a.weighted + b.weighted + price;
      e.facts = a.facts | b.facts | facts;
      e.feature = static_cast<int>(f);
      e.bound = bound;
      e.left = a.left;
      e.right = b.left;
      if (monotone_) e.threshold = monotone_->threshold(level);
      if (level == 0) consider(e, here.values.data());
      else front.offer(e, here.values.data());
    }
}

template <class R>
void RuledSearch<R>::stumps(View<R>& view, int level, int state, Loss budget, Front& front) {
  Level& here = at(level);
  for (std::size_t f = 0; f < view.features(); ++f) {
    const int column = p_.column[f];
    const int next = p_.next[static_cast<std::size_t>(state) * columns_ + static_cast<std::size_t>(column)];
    if (next < 0 || need(next) > 0 || !view.splittable(f)) continue;
    ++search_.counters.scans;
    const Loss price = split_values(here.sums.data(), state, column, here.split);
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    here.part[0].assign(width_, 0);
    std::vector<Loss>& left = here.weighted;
    left.assign(2 * labels_, 0);
    Loss* right = left.data() + labels_;
    for (std::size_t i = 0; i < view.rows(); ++i)
      for (std::size_t c = 0; c < labels_; ++c) right[c] += weighted_[order[i] * labels_ + c];
    std::size_t summed = 0;
    for (std::size_t i = 0; i + 1 < view.rows(); ++i) {
      const Loss* w = weighted_.data() + order[i] * labels_;
      for (std::size_t c = 0; c < labels_; ++c) {
        left[c] += w[c];
        right[c] -= w[c];
      }
      if (!(ends[i / kBlock] >> (i % kBlock) & 1)) continue;
      const Loss least = *std::min_element(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(labels_)) +
                         *std::min_element(right, right + labels_) + 2 * leaf_weight_ + price;
      budget = tightened(budget, front, level);
      if (least >= budget) continue;
      for (; summed <= i; ++summed) add(order[summed], here.part[0].data());
      stump_at(view, level, next, f, i, price, budget, front);
    }
  }
}

// Both leaves of a split behind position i of the feature's order, all labels that the rules leave open.
template <class R>
void RuledSearch<R>::stump_at(View<R>& view, int level, int next, std::size_t f, std::size_t i, Loss price, Loss budget,
                              Front& front) {
  Level& here = at(level);
  const std::uint32_t low = view.sorted(f)[i], high = view.sorted(f)[i + 1];
  if (!may_stand(f, low, high, level)) return;
  if (monotone_) monotone_->split(level, f, view.order(f)[i], view.order(f)[i + 1]);
  here.part[1].resize(width_);
  for (std::size_t s = 0; s < width_; ++s) here.part[1][s] = here.sums[s] - here.part[0][s];
  for (int s = 0; s < 2; ++s) {
    leaves(here.part[s].data(), next, here.labels_of[s]);
    if (monotone_ && !monotone_->limits(level).empty()) monotone_->keep(monotone_->limits_of(level, s), here.labels_of[s]);
    if (here.labels_of[s].empty()) return;
  }
  const std::uint64_t facts = facts_of(view, f, low + 1, level);
  if (facts & forbidden_) return;
  const Loss* weighted[2] = {here.weighted.data(), here.weighted.data() + labels_};
  here.values.resize(components_);
  for (int a : here.labels_of[0])
    for (int b : here.labels_of[1]) {
      Entry e;
      e.weighted = weighted[0][a] + weighted[1][b] + 2 * leaf_weight_ + price;
      if (e.weighted >= budget) continue;
      for (std::size_t k = 0; k < components_; ++k)
        here.values[k] = leaf_value(here.part[0].data(), static_cast<int>(k), a) +
                         leaf_value(here.part[1].data(), static_cast<int>(k), b) + here.split[k];
      if (!within(here.values.data(), here.sums.data() + sums_)) continue;
      e.facts = facts;
      if (monotone_) {
        e.facts |= monotone_->stump_facts(level, a, b);
        if (e.facts & forbidden_) continue;
        e.threshold = monotone_->threshold(level);
      }
      e.feature = static_cast<int>(f);
      e.bound = low + 1;
      e.left = -1 - a;
      e.right = -1 - b;
      if (level == 0) consider(e, here.values.data());
      else front.offer(e, here.values.data());
    }
}

// ---- the root

template <class R>
bool RuledSearch<R>::accepts(std::uint64_t facts, const Loss* values) const {
  for (const ModelClause& clause : p_.clauses) {
    bool holds = false;
    for (const ModelLiteral& l : clause)
      holds = holds || (l.component >= 0 ? values[l.component] <= l.at_most : ((facts >> l.fact & 1) != 0) == l.positive);
    if (!holds) return false;
  }
  return true;
}

template <class R>
Loss RuledSearch<R>::objective(std::uint64_t facts, const Loss* values) const {
  Loss total = 0;
  for (const ObjectiveTerm& t : p_.objective) {
    Loss largest = t.fact >= 0 ? static_cast<Loss>(facts >> t.fact & 1) : -kInfinite;
    for (int k : t.components) largest = std::max(largest, values[k]);
    total += t.coefficient * largest;
  }
  return total;
}

// A whole tree: the incumbent, if it keeps the rules and is better.
template <class R>
void RuledSearch<R>::consider(const Entry& e, const Loss* values) {
  if (!accepts(e.facts, values)) return;
  const Loss value = objective(e.facts, values);
  if (value >= best_) return;
  best_ = value;
  result_.tree.nodes.clear();
  if (e.feature >= 0) {
    arena_.push_back({e.feature, e.bound, e.left, e.right, e.threshold});
    build(static_cast<int>(arena_.size()) - 1);
  } else {
    build(e.left);
  }
  result_.value = value;
  control_.incumbent(result_.timeline, value, result_.bound);
}

template <class R>
int RuledSearch<R>::build(int node) {
  TreeNode made;
  const int index = static_cast<int>(result_.tree.nodes.size());
  result_.tree.nodes.push_back(made);
  if (node < 0) {
    result_.tree.nodes.back().label = -1 - node;
    return index;
  }
  const ArenaNode n = arena_[static_cast<std::size_t>(node)];
  made.feature = n.feature;
  made.cut = n.bound - 1;
  made.next = n.bound;
  made.left = build(n.left);
  made.right = build(n.right);
  result_.tree.nodes[static_cast<std::size_t>(index)] = made;
  return index;
}

// Trees of interest have a weighted sum below this.
template <class R>
Loss RuledSearch<R>::ceiling() const {
  if (best_ >= kInfinite) return most_ + 1;
  return std::min(most_ + 1, best_ * p_.objective_scale + p_.constant - offset_);
}

// What every tree costs whose weighted sum is at least `budget`.
template <class R>
Loss RuledSearch<R>::objective_from(Loss budget) const {
  return round_up(budget + offset_ - p_.constant, p_.objective_scale);
}

// The largest weighted sum that a tree can have.
template <class R>
void RuledSearch<R>::choose_most() {
  const int depth = p_.base.depth;
  const Loss leaf_count = static_cast<Loss>(std::min<std::size_t>(p_.base.rows, static_cast<std::size_t>(full_leaves(depth))));
  most_ = std::max<Loss>(0, leaf_weight_) * leaf_count;
  for (std::size_t i = 0; i < p_.base.rows; ++i) most_ += worst_[i];
  for (std::size_t k = 0; k < components_; ++k) {
    Loss split = 0;
    for (std::size_t c = 0; c < columns_; ++c) split = std::max(split, p_.split[k * columns_ + c]);
    most_ += p_.multiplier[k] * split * leaf_count;
    if (p_.path_weight[k] < 0 || p_.path_delta[k].empty()) continue;
    Loss delta = 0;
    for (Loss d : p_.path_delta[k]) delta = std::max(delta, std::abs(d));
    for (std::size_t i = 0; i < p_.base.rows; ++i)
      most_ += p_.multiplier[k] * delta * depth * std::abs(table_[i * width_ + static_cast<std::size_t>(p_.path_weight[k])]);
  }
}

// Trees of at most this depth under growing budgets, so many rounds (below 0: any number). Whether none is left out.
template <class R>
bool RuledSearch<R>::grow(int depth, int rounds) {
  const bool final = depth == p_.base.depth;
  const Loss least = free_loss(root_, depth, most_ + 1, negative(depth));
  if (final) result_.bound = std::min(best_, objective_from(least));
  Loss step = std::max<Loss>(grain_, (least - negative(depth)) / 32), budget = least;
  while (budget < ceiling() && rounds-- != 0) {
    budget = std::min(budget + step, ceiling());
    step *= 2;
    arena_.clear();
    Front front;
    solve(root_, 0, depth, 0, budget, front);
    if (!final) continue;
    result_.bound = std::min(best_, std::max(result_.bound, objective_from(budget)));
    if (budget < ceiling() && best_ < kInfinite) control_.incumbent(result_.timeline, best_, result_.bound);
    if (control_.close_enough(best_, result_.bound)) break;
  }
  return budget >= ceiling();
}

template <class R>
void RuledSearch<R>::run() {
  best_ = control_.options().upper_bound >= kInfinite ? kInfinite : control_.options().upper_bound + 1;
  const int depth = p_.base.depth;
  result_.bound = -kInfinite;
  result_.isa = data_->kernels.name;
  result_.method = "ruled";
  try {
    // Shallower trees first: an incumbent early, at a small part of the cost.
    for (int d = 0; d < depth; ++d) grow(d, 8);
    const bool proven = grow(depth, -1);
    if (result_.tree.empty()) result_.status = Status::infeasible;
    else result_.status = proven || result_.bound >= best_ ? Status::optimal : Status::feasible;
    if (result_.status == Status::optimal) result_.bound = result_.value;
  } catch (const Stop&) {
    result_.status = result_.tree.empty() ? Status::unknown : Status::feasible;
  }
  search_.counters.cache_entries = arena_.size();
  result_.counters.add(search_.counters);
}

}  // namespace odt
