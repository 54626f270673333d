// The streams of all nodes, and how they go on: see enumerate.hpp.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "odt/enumerate.hpp"
#include "odt/ruled_free.hpp"
#include "odt/ruled_tree.hpp"
#include "odt/tree_stream.hpp"

namespace odt {

struct NoMemory {};

template <class R>
class TreeStreams {
 public:
  using Kind = TreeStream::Kind;
  using Item = TreeStream::Item;

  TreeStreams(FreeTrees<R>& free, const Listing& listing, Control& control)
      : free_(free),
        w_(free.weights),
        p_(w_.p),
        listing_(listing),
        control_(control),
        counters_(free.search.counters) {}

  // The trees of all rows; with a number of leaves, only those that have it.
  TreeStream& root(int leaves) {
    std::vector<std::uint32_t> all(p_.base.rows);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
    return stream(std::move(all), {}, p_.base.depth, 0, leaves, w_.below_zero(p_.base.depth));
  }
  // Finds one more tree, if one weighs at most this.
  bool advance(TreeStream& s, Loss limit);
  Tree tree_of(const TreeStream& s, std::size_t rank) const {
    Tree tree;
    build(s, rank, tree);
    set_cuts(p_.base, tree);
    return tree;
  }
  std::size_t streams() const { return known_.size(); }

 private:
  struct Key {
    std::vector<std::uint64_t> bits;
    bool operator==(const Key& o) const { return bits == o.bits; }
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = 0x9e3779b97f4a7c15ULL;
      for (std::uint64_t b : k.bits) h = (h ^ b) * 0xff51afd7ed558ccdULL, h ^= h >> 32;
      return static_cast<std::size_t>(h);
    }
  };

  TreeStream& stream(std::vector<std::uint32_t> rows, std::vector<Step> path, int depth, int state,
                     int leaves, Loss floor);
  void start(TreeStream& s, Loss limit);
  void start_cuts(TreeStream& s, Loss limit);
  void scan(TreeStream& s, Loss limit);
  void scan_feature(TreeStream& s, std::size_t f, Loss limit);
  void add_stumps(TreeStream& s, std::size_t f, const std::vector<std::uint32_t>& order,
                  std::size_t left, Loss price, Loss limit);
  void refine(TreeStream& s, const Item& item, Loss limit);
  bool sides(TreeStream& s, std::size_t f, std::int32_t cut, const Interval& around,
             const RowWeights& weights, Loss room, Loss (&value)[2]);
  void enter(TreeStream& s, const Item& item);
  void pair(TreeStream& s, std::size_t split, std::uint32_t i, std::uint32_t j);
  bool join(TreeStream& s, const Item& item, Loss limit);
  void emit(TreeStream& s, const Item& item);
  int build(const TreeStream& s, std::size_t rank, Tree& tree) const;

  View<R>& view(const TreeStream& s);
  Loss bound(View<R>& view, int depth, int leaves, Loss upper, Loss lower) {
    return free_.bound(view, depth, upper, lower, leaves);
  }
  // The state behind a split of the feature at a node; -1: it may not stand there.
  int after(const TreeStream& s, std::size_t f) const;
  bool may_stand(const TreeStream& s, std::size_t f, std::uint32_t low, std::uint32_t high) const;
  std::uint64_t facts_of(const TreeStream& s, std::size_t f, std::uint32_t bound) const;
  Loss price_of(const TreeStream& s, std::size_t f) const;
  std::vector<Loss> sums_of(const std::vector<std::uint32_t>& rows, std::size_t first,
                            std::size_t last) const;
  std::vector<int> labels_of(const Loss* sums, int state) const;
  // The weighted sum of a leaf with each label.
  std::vector<Loss> leaf_weights(const std::vector<std::uint32_t>& rows, std::size_t first,
                                 std::size_t last) const;
  void charge(std::size_t bytes);

  FreeTrees<R>& free_;
  const Weights& w_;
  const RuledProblem& p_;
  const Listing& listing_;
  Control& control_;
  Counters& counters_;
  std::unordered_map<Key, std::unique_ptr<TreeStream>, Hash> known_;
  std::vector<std::unique_ptr<View<R>>> views_;
  std::vector<Step> loaded_;
  View<R> side_[2];
  std::vector<Loss> upto_;
  std::size_t bytes_ = 0;
};

// ---- nodes

template <class R>
TreeStream& TreeStreams<R>::stream(std::vector<std::uint32_t> rows, std::vector<Step> path,
                                   int depth, int state, int leaves, Loss floor) {
  Key key;
  key.bits.assign(p_.base.rows / 64 + 2, 0);
  for (std::uint32_t i : rows) key.bits[i / 64] |= std::uint64_t{1} << (i % 64);
  key.bits.back() = static_cast<std::uint64_t>(depth) << 56 |
                    static_cast<std::uint64_t>(state) << 31 | static_cast<std::uint64_t>(leaves);
  const std::size_t size = key.bits.size() * sizeof(std::uint64_t) +
                           rows.size() * sizeof(std::uint32_t) + sizeof(TreeStream);
  auto [at, made] = known_.emplace(std::move(key), nullptr);
  if (made) {
    charge(size);
    at->second = std::make_unique<TreeStream>();
    TreeStream& s = *at->second;
    s.rows = std::move(rows);
    s.path = std::move(path);
    s.depth = depth;
    s.state = state;
    s.leaves = leaves;
    s.floor = floor;
  } else {
    ++counters_.cache_hits;
    if (!at->second->open) at->second->floor = std::max(at->second->floor, floor);
  }
  return *at->second;
}

template <class R>
View<R>& TreeStreams<R>::view(const TreeStream& s) {
  std::size_t same = 0;
  while (same < loaded_.size() && same < s.path.size() && loaded_[same] == s.path[same]) ++same;
  if (same < s.path.size()) loaded_.resize(same);
  for (; same < s.path.size(); ++same) {
    if (views_.size() <= same) views_.push_back(std::make_unique<View<R>>());
    const Step& step = s.path[same];
    View<R>& parent = same == 0 ? free_.root : *views_[same - 1];
    views_[same]->make_child(parent, step.feature, static_cast<R>(step.bound), step.left);
    loaded_.push_back(step);
  }
  return s.path.empty() ? free_.root : *views_[s.path.size() - 1];
}

// Leaves, and bounds on all cuts.
template <class R>
void TreeStreams<R>::start(TreeStream& s, Loss limit) {
  ++counters_.nodes;
  s.open = true;
  if (s.leaves > full_leaves(s.depth) || s.leaves > static_cast<int>(s.rows.size())) return;
  s.sums = sums_of(s.rows, 0, s.rows.size());
  if (s.leaves <= 1) {
    const std::vector<Loss> weight = leaf_weights(s.rows, 0, s.rows.size());
    for (int label : labels_of(s.sums.data(), s.state))
      s.push({weight[static_cast<std::size_t>(label)], Kind::leaf,
              static_cast<std::uint32_t>(label), 0, 0, 0});
  }
  if (s.depth == 0 || s.leaves == 1) return;
  for (int rule : p_.split_rules[static_cast<std::size_t>(s.state)])
    if (!row_clause_holds(p_.split_clauses[static_cast<std::size_t>(rule)], s.sums.data(), 0))
      return;
  if (s.depth == 1)
    s.beyond = -kInfinite;  // all stumps
  else
    start_cuts(s, limit);
}

template <class R>
void TreeStreams<R>::start_cuts(TreeStream& s, Loss limit) {
  View<R>& here = view(s);
  const Loss shift = w_.below_zero(s.depth - 1);
  const Loss whole = bound(here, s.depth - 1, s.leaves, std::max(limit, shift) + 1, shift);
  for (std::size_t f = 0; f < p_.base.features; ++f) {
    if (after(s, f) < 0 || !here.splittable(f)) continue;
    const Interval all{0, static_cast<std::int32_t>(s.rows.size()), shift, whole, whole, shift, 0,
                       0};
    s.push({2 * shift + price_of(s, f), Kind::interval,
            static_cast<std::uint32_t>(s.intervals.size()), 0, 0, 0});
    s.intervals.push_back({f, all});
  }
}

// ---- going on

template <class R>
bool TreeStreams<R>::advance(TreeStream& s, Loss limit) {
  if (!s.open) {
    if (s.floor > limit) return false;
    start(s, limit);
  }
  for (;;) {
    if (s.beyond <= limit && (s.heap.empty() || s.beyond <= s.heap.front().key)) scan(s, limit);
    if (s.heap.empty() || s.heap.front().key > limit) return false;
    control_.poll(s.heap.size() + 100);
    const Item item = s.pop();
    switch (item.kind) {
      case Kind::leaf:
      case Kind::stump:
        emit(s, item);
        return true;
      case Kind::interval:
        refine(s, item, limit);
        break;
      case Kind::cut:
        enter(s, item);
        break;
      case Kind::pair:
        if (join(s, item, limit)) return true;
    }
  }
}

template <class R>
void TreeStreams<R>::emit(TreeStream& s, const Item& item) {
  charge(sizeof(TreeStream::Tree));
  s.found.push_back({item.key, item.kind, item.which, item.bound, item.i, item.j});
}

// ---- stumps

template <class R>
void TreeStreams<R>::scan(TreeStream& s, Loss limit) {
  s.beyond = kInfinite;
  for (std::size_t f = 0; f < p_.base.features; ++f)
    if (after(s, f) >= 0) scan_feature(s, f, limit);
  s.scanned = limit;
  control_.poll(s.rows.size() * p_.base.features);
}

template <class R>
void TreeStreams<R>::scan_feature(TreeStream& s, std::size_t f, Loss limit) {
  ++counters_.scans;
  const std::uint32_t* rank = p_.base.ranks(f);
  std::vector<std::uint32_t> order = s.rows;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank[a] != rank[b] ? rank[a] < rank[b] : a < b;
  });
  const Loss price = price_of(s, f);
  std::vector<Loss> left(w_.labels, w_.leaf_weight), right = leaf_weights(order, 0, order.size());
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const Loss* w = w_.weighted.data() + order[i] * w_.labels;
    for (std::size_t c = 0; c < w_.labels; ++c) {
      left[c] += w[c];
      right[c] -= w[c];
    }
    const std::uint32_t low = rank[order[i]], high = rank[order[i + 1]];
    if (low == high || !free_.data.gap_allowed(f, low, high) || !may_stand(s, f, low, high))
      continue;
    const Loss least = *std::min_element(left.begin(), left.end()) +
                       *std::min_element(right.begin(), right.end()) + price;
    if (least > limit)
      s.beyond = std::min(s.beyond, least);
    else if (!(facts_of(s, f, low + 1) & w_.forbidden))
      add_stumps(s, f, order, i + 1, price, limit);
  }
}

template <class R>
void TreeStreams<R>::add_stumps(TreeStream& s, std::size_t f,
                                const std::vector<std::uint32_t>& order, std::size_t left,
                                Loss price, Loss limit) {
  const int next = after(s, f);
  const std::vector<Loss> sums[2] = {sums_of(order, 0, left), sums_of(order, left, order.size())};
  const std::vector<Loss> weight[2] = {leaf_weights(order, 0, left),
                                       leaf_weights(order, left, order.size())};
  const std::vector<int> labels[2] = {labels_of(sums[0].data(), next),
                                      labels_of(sums[1].data(), next)};
  const std::uint32_t bound = p_.base.ranks(f)[order[left - 1]] + 1;
  for (int a : labels[0])
    for (int b : labels[1]) {
      if (listing_.collapse && a == b) continue;
      const Loss key =
          weight[0][static_cast<std::size_t>(a)] + weight[1][static_cast<std::size_t>(b)] + price;
      if (key > limit) {
        s.beyond = std::min(s.beyond, key);
      } else if (key > s.scanned) {
        charge(sizeof(Item));
        s.push({key, Kind::stump, static_cast<std::uint32_t>(f), bound,
                static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
      }
    }
}

// ---- cuts

// Looks at one cut of an interval. Cuts that weigh more than the limit stay in it, with that bound.
template <class R>
void TreeStreams<R>::refine(TreeStream& s, const Item& item, Loss limit) {
  const std::size_t f = s.intervals[item.which].feature;
  Interval i = s.intervals[item.which].interval;
  const Loss price = price_of(s, f), room = limit - price + 1;
  View<R>& here = view(s);
  upto_.assign(here.rows() + 1, 0);
  for (std::size_t r = 0; r < here.rows(); ++r)
    upto_[r + 1] = upto_[r] + w_.worst[here.order(f)[r]];
  const RowWeights weights{upto_.data()};
  settle(i, weights);
  s.intervals[item.which].interval = i;
  const auto nearest = [&](std::int32_t first, std::int32_t last) {
    return first > last ? -1 : nearest_cut(here.ends(f), first + (last - first) / 2, first, last);
  };
  if (nearest(i.low + 1, i.high - 1) < 0) return;
  const Loss least = interval_bound(i, weights) + price;
  const OpenCuts open = open_cuts(i, weights, room);
  const std::int32_t cut = least > limit ? -1 : nearest(open.first, open.last);
  if (cut < 0) {
    s.push({std::max(least, limit + 1), Kind::interval, item.which, 0, 0, 0});
    return;
  }
  Loss value[2];
  const bool stands = sides(s, f, cut, i, weights, room, value);
  const Interval parts[2] = {{i.low, cut, i.low_left, i.low_right, value[0], value[1], 0, 0},
                             {cut, i.high, value[0], value[1], i.high_left, i.high_right, 0, 0}};
  s.intervals[item.which].interval = parts[0];
  s.push({interval_bound(parts[0], weights) + price, Kind::interval, item.which, 0, 0, 0});
  s.push({interval_bound(parts[1], weights) + price, Kind::interval,
          static_cast<std::uint32_t>(s.intervals.size()), 0, 0, 0});
  s.intervals.push_back({f, parts[1]});
  charge(sizeof(Item) + sizeof(TreeStream::Cuts));
  if (!stands) return;
  const std::uint32_t bound = static_cast<std::uint32_t>(here.sorted(f)[cut - 1]) + 1;
  s.push({value[0] + value[1] + price, Kind::cut, static_cast<std::uint32_t>(s.splits.size()), 0, 0,
          0});
  s.splits.push_back({f, bound, price, {value[0], value[1]}, {nullptr, nullptr}});
  charge(sizeof(Item) + sizeof(TreeStream::Split));
}

// What both sides of a cut weigh at least; whether a split may stand there.
template <class R>
bool TreeStreams<R>::sides(TreeStream& s, std::size_t f, std::int32_t cut, const Interval& around,
                           const RowWeights& weights, Loss room, Loss (&value)[2]) {
  ++counters_.cuts;
  View<R>& here = view(s);
  const std::uint32_t low = here.sorted(f)[cut - 1], high = here.sorted(f)[cut];
  const Loss below = weights.between(around.low, cut), above = weights.between(cut, around.high);
  value[0] = std::max(around.low_left, around.high_left - above);
  value[1] = std::max(around.high_right, around.low_right - below);
  const int first = 2 * cut <= static_cast<std::int32_t>(here.rows()) ? 0 : 1;
  for (int k = 0; k < 2; ++k) {
    const int side = k == 0 ? first : 1 - first;
    const Loss most =
        room - value[1 - side] + std::min(below, above) / 2;  // exact bounds prune neighbours
    if (value[side] >= most) break;
    side_[side].make_child(here, f, static_cast<R>(low + 1), side == 0);
    value[side] =
        bound(side_[side], s.depth - 1, s.leaves > 0 ? s.leaves - 1 : 0, most, value[side]);
  }
  control_.poll(here.rows() * here.features());
  return may_stand(s, f, low, high) && !(facts_of(s, f, low + 1) & w_.forbidden);
}

// Asks for the streams of both sides, once for each way to share the leaves.
template <class R>
void TreeStreams<R>::enter(TreeStream& s, const Item& item) {
  const TreeStream::Split cut = s.splits[item.which];
  const std::uint32_t* rank = p_.base.ranks(cut.feature);
  std::vector<std::uint32_t> rows[2];
  for (std::uint32_t i : s.rows) rows[rank[i] < cut.bound ? 0 : 1].push_back(i);
  const int next = after(s, cut.feature), most = full_leaves(s.depth - 1);
  std::vector<Step> path[2] = {s.path, s.path};
  for (int side = 0; side < 2; ++side) path[side].push_back({cut.feature, cut.bound, side == 0});
  for (int a = s.leaves > 0 ? 1 : 0; a <= (s.leaves > 0 ? s.leaves - 1 : 0); ++a) {
    if (a > most || s.leaves - a > most) continue;
    TreeStream::Split made = cut;
    for (int side = 0; side < 2; ++side)
      made.side[side] = &stream(rows[side], path[side], s.depth - 1, next,
                                side == 0 ? a : s.leaves - a, cut.least[side]);
    s.splits.push_back(made);
    charge(sizeof(TreeStream::Split));
    pair(s, s.splits.size() - 1, 0, 0);
  }
}

// The pair of a left and a right tree, unless there is none.
template <class R>
void TreeStreams<R>::pair(TreeStream& s, std::size_t split, std::uint32_t i, std::uint32_t j) {
  const TreeStream::Split& cut = s.splits[split];
  const Loss left = cut.side[0]->least(i), right = cut.side[1]->least(j);
  if (left >= kInfinite || right >= kInfinite) return;
  charge(sizeof(Item));
  s.push({left + right + cut.price, Kind::pair, static_cast<std::uint32_t>(split), 0, i, j});
}

// A pair becomes a tree once both of its trees are known and no other one weighs less.
template <class R>
bool TreeStreams<R>::join(TreeStream& s, const Item& item, Loss limit) {
  const TreeStream::Split cut = s.splits[item.which];
  TreeStream& left = *cut.side[0];
  TreeStream& right = *cut.side[1];
  const bool known =
      (item.i < left.found.size() || advance(left, limit - cut.price - right.least(item.j))) &&
      (item.j < right.found.size() || advance(right, limit - cut.price - left.least(item.i)));
  if (!known || left.least(item.i) + right.least(item.j) + cut.price > item.key) {
    pair(s, item.which, item.i, item.j);
    return false;
  }
  const TreeStream::Tree &a = left.found[item.i], &b = right.found[item.j];
  const bool idle =
      listing_.collapse && a.kind == Kind::leaf && b.kind == Kind::leaf && a.which == b.which;
  if (!idle) emit(s, item);
  pair(s, item.which, item.i, item.j + 1);
  if (item.j == 0) pair(s, item.which, item.i + 1, 0);
  return !idle;
}

// ---- what is asked of one node

template <class R>
int TreeStreams<R>::after(const TreeStream& s, std::size_t f) const {
  const int next = p_.next[static_cast<std::size_t>(s.state) * w_.columns +
                           static_cast<std::size_t>(p_.column[f])];
  if (next < 0 || p_.need[static_cast<std::size_t>(next)] > s.depth - 1) return -1;
  if (listing_.twin[f] >= 0) {
    const std::vector<char>& absent = listing_.absent[f];
    if (std::none_of(s.rows.begin(), s.rows.end(), [&](std::uint32_t i) { return absent[i] != 0; }))
      return -1;
  }
  return next;
}

template <class R>
bool TreeStreams<R>::may_stand(const TreeStream& s, std::size_t f, std::uint32_t low,
                               std::uint32_t high) const {
  if (!p_.missing_low.empty() && p_.missing_low[f] && low == 0) return false;
  if (!p_.missing_high.empty() && p_.missing_high[f] && high + 1 == p_.base.distinct[f])
    return false;
  const std::size_t level = s.path.size();
  if (level >= w_.allowed_upto.size()) return true;
  const auto& upto = w_.allowed_upto[level][f];
  return upto.empty() || upto[high] > upto[low];
}

template <class R>
std::uint64_t TreeStreams<R>::facts_of(const TreeStream& s, std::size_t f,
                                       std::uint32_t bound) const {
  std::uint64_t facts =
      p_.split_facts[s.path.size() * w_.columns + static_cast<std::size_t>(p_.column[f])];
  const std::uint32_t* rank = p_.base.ranks(f);
  const auto here = [&](std::uint32_t row) {
    return std::binary_search(s.rows.begin(), s.rows.end(), row);
  };
  for (const Pair& pair : p_.pairs)
    if ((rank[pair.first] < bound) != (rank[pair.second] < bound) && here(pair.first) &&
        here(pair.second))
      facts |= std::uint64_t{1} << pair.fact;
  return facts;
}

// The weighted sum of what the split itself costs.
template <class R>
Loss TreeStreams<R>::price_of(const TreeStream& s, std::size_t f) const {
  const std::size_t column = static_cast<std::size_t>(p_.column[f]);
  Loss price = 0;
  for (std::size_t k = 0; k < w_.components; ++k) {
    Loss value = p_.split[k * w_.columns + column];
    if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
      value += s.sums[static_cast<std::size_t>(p_.path_weight[k])] *
               p_.path_delta[k][static_cast<std::size_t>(s.state) * w_.columns + column];
    price += w_.multipliers.of[k] * value;
  }
  return price;
}

template <class R>
std::vector<Loss> TreeStreams<R>::sums_of(const std::vector<std::uint32_t>& rows, std::size_t first,
                                          std::size_t last) const {
  std::vector<Loss> sums(w_.sums, 0);
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t k = 0; k < w_.sums; ++k) sums[k] += p_.value[rows[i] * w_.sums + k];
  return sums;
}

template <class R>
std::vector<Loss> TreeStreams<R>::leaf_weights(const std::vector<std::uint32_t>& rows,
                                               std::size_t first, std::size_t last) const {
  std::vector<Loss> weight(w_.labels, w_.leaf_weight);
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t c = 0; c < w_.labels; ++c) weight[c] += w_.weighted[rows[i] * w_.labels + c];
  return weight;
}

template <class R>
std::vector<int> TreeStreams<R>::labels_of(const Loss* sums, int state) const {
  std::vector<int> labels;
  if (p_.need[static_cast<std::size_t>(state)] > 0) return labels;
  for (int c = 0; c < static_cast<int>(w_.labels); ++c) {
    bool holds = true;
    for (int rule : p_.leaf_rules[static_cast<std::size_t>(state)])
      holds = holds && row_clause_holds(p_.leaf_clauses[static_cast<std::size_t>(rule)], sums, c);
    if (holds) labels.push_back(c);
  }
  return labels;
}

template <class R>
void TreeStreams<R>::charge(std::size_t bytes) {
  bytes_ += bytes;
  const std::size_t limit =
      control_.options().memory_limit ? control_.options().memory_limit : std::size_t{1} << 31;
  if (bytes_ > limit) throw NoMemory{};
}

template <class R>
int TreeStreams<R>::build(const TreeStream& s, std::size_t rank, Tree& tree) const {
  const TreeStream::Tree& t = s.found[rank];
  const int at = static_cast<int>(tree.nodes.size());
  TreeNode made;
  tree.nodes.push_back(made);
  const auto leaf = [&](std::uint32_t label) {
    TreeNode node;
    node.label = static_cast<int>(label);
    tree.nodes.push_back(node);
    return static_cast<int>(tree.nodes.size()) - 1;
  };
  if (t.kind == Kind::leaf) {
    made.label = static_cast<int>(t.which);
  } else if (t.kind == Kind::stump) {
    made.feature = static_cast<int>(t.which);
    made.cut = t.bound - 1;
    made.left = leaf(t.i);
    made.right = leaf(t.j);
  } else {
    const TreeStream::Split& split = s.splits[t.which];
    made.feature = static_cast<int>(split.feature);
    made.cut = split.bound - 1;
    made.left = build(*split.side[0], t.i, tree);
    made.right = build(*split.side[1], t.j, tree);
  }
  tree.nodes[static_cast<std::size_t>(at)] = made;
  return at;
}

}  // namespace odt
