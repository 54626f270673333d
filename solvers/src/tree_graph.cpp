// Which sub-trees a node has: members of TreeGraph.
#include "odt/tree_graph.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace odt {

TreeGraph::TreeGraph(FreeTrees& free, const Listing& listing, Control& control)
    : free_(free),
      w_(free.weights),
      p_(w_.p),
      listing_(listing),
      control_(control),
      lead_(free.search, free.root),
      functions_(listing.space.column_missing) {
  for (const ModelClause& clause : p_.clauses)
    for (const ModelLiteral& l : clause) values_ = values_ || l.component >= 0;
  for (const ObjectiveTerm& t : p_.objective) values_ = values_ || t.components.size() > 1;
  bool sums = values_ || !p_.leaf_clauses.empty() || !p_.split_clauses.empty();
  for (const auto& delta : p_.path_delta) sums = sums || !delta.empty();
  width_ = w_.labels + (sums ? w_.sums : 0);
  facts_ = w_.order.wanted | w_.order.unwanted;
  leaves_ = p_.base.leaves > 0 && p_.base.leaves < full_leaves(p_.base.depth);
  // Of sub-trees that compute one function the best will do.
  reduce_ = listing.merge && !values_ && !facts_ && !leaves_ && !listing.deepest;
  lead_.bits = BitBounds::make(free.data, control);
  std::vector<std::uint32_t> all(p_.base.rows);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  root_ = &node(lead_, std::move(all), {}, p_.base.depth, 0, leaves_ ? p_.base.leaves : 0);
}

GraphNode& TreeGraph::upto(Loss weight) {
  for (Shelf& shelf : shelves_)
    for (auto& [key, n] : shelf.known) {
      n->functions.clear();
      for (Class& c : n->trees->classes) c.items.clear(), c.listed = false;
    }
  try {
    expand(lead_, *root_, weight);
  } catch (...) {
    end();
    if (failure_) std::rethrow_exception(failure_);
    throw;
  }
  retired_.clear();
  return *root_;
}

std::size_t TreeGraph::nodes() const {
  std::size_t sum = 0;
  for (const Shelf& shelf : shelves_) sum += shelf.known.size();
  return sum;
}

void TreeGraph::count(Counters& counters) const {
  counters.add(lead_.search.counters);
  for (const auto& helper : helpers_) counters.add(helper->search.counters);
}

GraphNode& TreeGraph::node(Hand& hand, std::vector<std::uint32_t> rows, std::vector<Step> path,
                           int depth, int state, int most) {
  Key key;
  key.bits.assign(p_.base.rows / 64 + 2, 0);
  for (std::uint32_t i : rows) key.bits[i / 64] |= std::uint64_t{1} << (i % 64);
  key.bits.back() = static_cast<std::uint64_t>(depth) << 56 |
                    static_cast<std::uint64_t>(state) << 31 | static_cast<std::uint64_t>(most);
  const std::size_t size = key.bits.size() * sizeof(std::uint64_t) +
                           rows.size() * sizeof(std::uint32_t) + sizeof(GraphNode) + sizeof(Trees);
  Shelf& shelf = shelves_[Hash{}(key) >> 40 & (kShelves - 1)];
  {
    std::lock_guard<std::mutex> lock(shelf.mutex);
    if (const auto at = shelf.known.find(key); at != shelf.known.end()) {
      ++hand.search.counters.cache_hits;
      return *at->second;
    }
  }
  charge(size);
  auto made = std::make_unique<GraphNode>();
  made->rows = std::move(rows);
  made->path = std::move(path);
  made->depth = depth;
  made->state = state;
  made->most = std::min(most, full_leaves(depth));
  made->totals = totals_of(made->rows);
  made->labels = labels_of(made->totals, state);
  std::lock_guard<std::mutex> lock(shelf.mutex);
  return *shelf.known.emplace(std::move(key), std::move(made)).first->second;
}

View& TreeGraph::view(Hand& hand, const GraphNode& n) {
  std::vector<Step>& loaded = hand.loaded;
  std::size_t same = 0;
  while (same < loaded.size() && same < n.path.size() && loaded[same] == n.path[same]) ++same;
  if (same < n.path.size()) loaded.resize(same);
  for (; same < n.path.size(); ++same) {
    if (hand.views.size() <= same) hand.views.push_back(std::make_unique<View>());
    const Step& step = n.path[same];
    View& parent = same == 0 ? hand.root : *hand.views[same - 1];
    hand.views[same]->make_child(parent, step.feature, step.bound, step.left);
    loaded.push_back(step);
  }
  return n.path.empty() ? hand.root : *hand.views[n.path.size() - 1];
}

// Leaves and stumps, and the parts of what is left to do.
void TreeGraph::begin(Hand& hand, Growth& growth) {
  GraphNode& n = growth.n;
  ++hand.search.counters.nodes;
  for (int label : n.labels)
    if (TreeKey key = leaf_key(n.totals, label); key.weight <= growth.budget)
      growth.counts[std::move(key)] += BigCount(1);
  bool splits = n.depth > 0 && n.most != 1 && n.rows.size() > 1;
  for (int rule : p_.split_rules[static_cast<std::size_t>(n.state)])
    splits = splits && row_clause_holds(p_.split_clauses[static_cast<std::size_t>(rule)],
                                        sums_of(n.totals), 0);
  if (splits && n.depth == 1) {
    add_stumps(hand, growth);
    return;
  }
  if (!splits) return;
  if (!hand.bits) {
    const Loss shift = w_.below_zero(n.depth - 1);
    const Loss whole = free_.bound(hand.search, view(hand, n), n.depth - 1,
                                   std::max(growth.budget, shift) + 1, shift, n.most);
    growth.all = {0, static_cast<std::int32_t>(n.rows.size()), shift, whole, whole, shift, 0, 0};
  }
  // Where the leaves are limited, once for each way to share them.
  const int half = full_leaves(n.depth - 1);
  for (int left = n.most > 0 ? 1 : 0; left <= (n.most > 0 ? std::min(half, n.most - 1) : 0);
       ++left) {
    const int right = n.most > 0 ? std::min(half, n.most - left) : 0;
    if (hand.bits && !bound_by_bits(hand, growth, left, right)) return;
    for (std::size_t f = 0; f < p_.base.features; ++f)
      if (after(n, f) >= 0)
        growth.parts.push_back({f, left, right, growth.sides.size() - 1, {}, {}});
  }
  growth.open = growth.parts.size();
}

void TreeGraph::do_part(Hand& hand, Growth& growth, Part& part) {
  std::vector<Cut> cuts;
  if (hand.bits)
    cuts_by_bits(hand, growth, part, cuts);
  else
    cuts_by_scans(hand, growth, part, cuts);
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.bound < b.bound; });
  for (const Cut& cut : cuts) join(hand, growth, cut, part);
}

void TreeGraph::finish(Growth& growth) {
  Trees& made = *growth.made;
  for (Part& part : growth.parts) {
    for (const auto& [key, count] : part.counts) growth.counts[key] += count;
    std::move(part.splits.begin(), part.splits.end(), std::back_inserter(made.splits));
  }
  for (const auto& [key, count] : growth.counts)
    if (!count.zero()) made.classes.push_back({key, count, {}, false});
  charge(made.classes.size() * (sizeof(Class) + (values_ ? w_.components * sizeof(Loss) : 0)) +
         made.splits.size() * sizeof(GraphNode::Split) +
         made.stumps.size() * sizeof(GraphNode::Stump));
}

// ---- stumps

void TreeGraph::add_stumps(Hand& hand, Growth& growth) {
  for (std::size_t f = 0; f < p_.base.features; ++f)
    if (after(growth.n, f) >= 0) add_stumps_of(hand, growth, f);
  control_.poll(growth.n.rows.size() * p_.base.features);
}

// The ranks of a node's rows, and the totals of the rows of each.
void TreeGraph::rank_totals(Hand& hand, const GraphNode& n, std::size_t f) {
  const std::uint32_t* rank = p_.base.ranks(f);
  std::vector<std::uint32_t>&ranks = hand.ranks, &place_of = hand.place_of;
  ranks.clear();
  if (p_.base.distinct[f] <= 2 * n.rows.size() + 64) {
    place_of.assign(p_.base.distinct[f], 0);
    for (std::uint32_t i : n.rows) place_of[rank[i]] = 1;
    for (std::uint32_t r = 0; r < p_.base.distinct[f]; ++r)
      if (place_of[r]) {
        place_of[r] = static_cast<std::uint32_t>(ranks.size());
        ranks.push_back(r);
      }
  } else {
    for (std::uint32_t i : n.rows) ranks.push_back(rank[i]);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    place_of.resize(p_.base.distinct[f]);
    for (std::size_t k = 0; k < ranks.size(); ++k)
      place_of[ranks[k]] = static_cast<std::uint32_t>(k);
  }
  const std::size_t width = n.totals.size();
  hand.rank_totals.assign(ranks.size() * width, 0);
  for (std::uint32_t i : n.rows) add_row(i, hand.rank_totals.data() + place_of[rank[i]] * width);
}

void TreeGraph::add_stumps_of(Hand& hand, Growth& growth, std::size_t f) {
  ++hand.search.counters.scans;
  const GraphNode& n = growth.n;
  const std::vector<std::uint32_t>& ranks = hand.ranks;
  rank_totals(hand, n, f);
  const Loss price = price_of(n, f);
  std::vector<Loss> part[2] = {std::vector<Loss>(n.totals.size(), 0), n.totals};
  for (std::size_t at = 0; at + 1 < ranks.size(); ++at) {
    const std::uint32_t low = ranks[at], high = ranks[at + 1];
    const Loss* of = hand.rank_totals.data() + at * n.totals.size();
    for (std::size_t k = 0; k < n.totals.size(); ++k) {
      part[0][k] += of[k];
      part[1][k] -= of[k];
    }
    if (!free_.data.gap_allowed(f, low, high) || !may_stand(n, f, low, high)) continue;
    Loss least = price + 2 * w_.leaf_weight;
    for (const auto& side : part)
      least +=
          *std::min_element(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(w_.labels));
    if (least > growth.budget) continue;
    const TreeKey own = own_key(n, f, low + 1);
    if (!(facts_of(n, f, low + 1) & w_.forbidden)) add_stump(growth, f, low + 1, own, part);
  }
}

void TreeGraph::add_stump(Growth& growth, std::size_t f, std::uint32_t bound, const TreeKey& own,
                          const std::vector<Loss> (&part)[2]) {
  const int next = after(growth.n, f);
  const std::vector<int> labels[2] = {labels_of(part[0], next), labels_of(part[1], next)};
  for (int a : labels[0])
    for (int b : labels[1]) {
      if (listing_.collapse && a == b) continue;
      TreeKey key = joined(own, leaf_key(part[0], a), leaf_key(part[1], b));
      if (key.weight > growth.budget) continue;
      growth.counts[key] += BigCount(1);
      growth.made->stumps.push_back({f, bound, {a, b}, std::move(key)});
    }
}

// ---- cuts

// Bounds on both sides of each cut, whose trees have at most so many leaves. False: no cut may
// stand.
bool TreeGraph::bound_by_bits(Hand& hand, Growth& growth, int left, int right) {
  const GraphNode& n = growth.n;
  const int whole = full_leaves(n.depth - 1);
  const int most[2] = {left > 0 ? left : whole, right > 0 ? right : whole};
  Loss cheapest = kInfinite;
  for (std::size_t f = 0; f < p_.base.features; ++f)
    if (after(n, f) >= 0) cheapest = std::min(cheapest, price_of(n, f));
  if (cheapest >= kInfinite) return false;
  const Loss shift = w_.below_zero(n.depth - 1);
  const Loss room = std::max<Loss>(0, round_up(growth.budget - cheapest - 2 * shift + 1, w_.grain));
  growth.sides.emplace_back();
  std::array<BitSides, 2>& of = growth.sides.back();
  for (std::size_t side = 0; side < 2; ++side)
    of[side] = side == 1 && most[1] == most[0]
                   ? of[0]
                   : hand.bits->sides(n.path, shape(n.depth - 1, most[side]), room);
  return true;
}

// Where a split may begin trees of at most the budget, with bounds on both sides.
void TreeGraph::cuts_by_bits(Hand& hand, const Growth& growth, const Part& part,
                             std::vector<Cut>& cuts) {
  const GraphNode& n = growth.n;
  const std::size_t f = part.feature;
  const std::array<BitSides, 2>& of = growth.sides[part.sides];
  const Loss shift = w_.below_zero(n.depth - 1), price = price_of(n, f);
  const std::uint32_t* rank = p_.base.ranks(f);
  std::vector<char> seen(p_.base.distinct[f], 0);
  for (std::uint32_t i : n.rows) seen[rank[i]] = 1;
  std::uint32_t low = 0;
  bool any = false;
  for (std::uint32_t high = 0; high < p_.base.distinct[f]; ++high) {
    if (!seen[high]) continue;
    const std::uint32_t below = low;
    const bool first = !any;
    low = high;
    any = true;
    if (first || !free_.data.gap_allowed(f, below, high) || !may_stand(n, f, below, high)) continue;
    // Of the cuts between the two some are allowed, and part the rows here alike.
    std::uint32_t bound = below + 1;
    while (bound <= high && hand.bits->same(f, bound).test < 0) ++bound;
    if (bound > high) throw std::logic_error("a cut that may stand is no test");
    const BitBounds::Same& test = hand.bits->same(f, bound);
    Cut cut{f, bound, {shift, shift}};
    for (std::size_t side = 0; side < 2; ++side)
      cut.least[side] += hand.bits->side(of[side], test, side == 0) * w_.grain;
    ++hand.search.counters.cuts;
    if (cut.least[0] + cut.least[1] + price <= growth.budget &&
        !(facts_of(n, f, cut.bound) & w_.forbidden))
      cuts.push_back(cut);
  }
}

void TreeGraph::cuts_by_scans(Hand& hand, const Growth& growth, const Part& part,
                              std::vector<Cut>& cuts) {
  const GraphNode& n = growth.n;
  const std::size_t f = part.feature;
  const int most[2] = {part.left, part.right};
  View& here = view(hand, n);
  if (!here.splittable(f)) return;
  const Loss price = price_of(n, f), room = growth.budget - price + 1;
  std::vector<Loss> upto(here.rows() + 1, 0);
  for (std::size_t r = 0; r < here.rows(); ++r) upto[r + 1] = upto[r] + w_.worst[here.order(f)[r]];
  const RowWeights weights{upto.data()};
  std::vector<Interval> open{growth.all};
  View side[2];
  while (!open.empty()) {
    Interval i = open.back();
    open.pop_back();
    settle(i, weights);
    if (interval_bound(i, weights) >= room) continue;
    const OpenCuts at = open_cuts(i, weights, room);
    const std::int32_t first = std::max(at.first, i.low + 1), last = std::min(at.last, i.high - 1);
    const std::int32_t cut =
        first > last ? -1 : nearest_cut(here.ends(f), first + (last - first) / 2, first, last);
    if (cut < 0) continue;
    ++hand.search.counters.cuts;
    const Loss below = weights.between(i.low, cut), above = weights.between(cut, i.high);
    Loss value[2] = {std::max(i.low_left, i.high_left - above),
                     std::max(i.high_right, i.low_right - below)};
    const std::uint32_t low = here.sorted(f)[cut - 1], high = here.sorted(f)[cut];
    const int smaller = 2 * cut <= static_cast<std::int32_t>(here.rows()) ? 0 : 1;
    for (int k = 0; k < 2; ++k) {
      const int s = k == 0 ? smaller : 1 - smaller;
      const Loss upper =
          room - value[1 - s] + std::min(below, above) / 2;  // exact bounds prune neighbours
      if (value[s] >= upper) break;
      side[s].make_child(here, f, low + 1, s == 0);
      value[s] = free_.bound(hand.search, side[s], n.depth - 1, upper, value[s], most[s]);
    }
    control_.poll(here.rows() * here.features());
    open.push_back({i.low, cut, i.low_left, i.low_right, value[0], value[1], 0, 0});
    open.push_back({cut, i.high, value[0], value[1], i.high_left, i.high_right, 0, 0});
    if (value[0] + value[1] < room && may_stand(n, f, low, high) &&
        !(facts_of(n, f, low + 1) & w_.forbidden))
      cuts.push_back({f, low + 1, {value[0], value[1]}});
  }
}

// The trees of both sides of a cut, as far as they fit together.
void TreeGraph::join(Hand& hand, const Growth& growth, const Cut& cut, Part& part) {
  const GraphNode& n = growth.n;
  const Loss budget = growth.budget;
  const std::uint32_t* rank = p_.base.ranks(cut.feature);
  std::vector<std::uint32_t> rows[2];
  for (std::uint32_t i : n.rows) rows[rank[i] < cut.bound ? 0 : 1].push_back(i);
  const int next = after(n, cut.feature), most[2] = {part.left, part.right};
  GraphNode::Split split{
      cut.feature, cut.bound, own_key(n, cut.feature, cut.bound), {nullptr, nullptr}, part.left};
  const Trees* trees[2] = {nullptr, nullptr};
  const Loss room = budget - split.own.weight;
  Loss least[2] = {cut.least[0], cut.least[1]};
  const int smaller = rows[0].size() <= rows[1].size() ? 0 : 1;
  for (int s : {smaller, 1 - smaller}) {
    std::vector<Step> path = n.path;
    path.push_back({cut.feature, cut.bound, s == 0});
    split.side[s] = &node(hand, std::move(rows[s]), std::move(path), n.depth - 1, next, most[s]);
    trees[s] = &expand(hand, *split.side[s], room - least[1 - s]);
    least[s] = trees[s]->least();
    if (least[s] + least[1 - s] > room) return;
  }
  constexpr std::size_t kEach = 50, kOften = 256;  // to find one takes as long as so many rows
  std::size_t made = 0;
  pairs(split, *trees[0], *trees[1], budget, [&](const Class& l, const Class& r, TreeKey key) {
    part.counts[std::move(key)] += l.count * r.count;
    if (++made % kOften == 0) control_.poll(kEach * kOften);
  });
  if (listing_.collapse)
    idle_pairs(split, [&](TreeKey key) {
      if (key.weight <= budget) part.counts[std::move(key)] -= BigCount(1);
    });
  control_.poll(made + n.rows.size());
  if (made) part.splits.push_back(std::move(split));
}

// ---- what is asked of one node

int TreeGraph::after(const GraphNode& n, std::size_t f) const {
  const int next = p_.next[static_cast<std::size_t>(n.state) * w_.columns +
                           static_cast<std::size_t>(p_.column[f])];
  if (next < 0 || p_.need[static_cast<std::size_t>(next)] > n.depth - 1) return -1;
  if (listing_.twin[f] >= 0) {
    const std::vector<char>& absent = listing_.absent[f];
    if (std::none_of(n.rows.begin(), n.rows.end(), [&](std::uint32_t i) { return absent[i] != 0; }))
      return -1;
  }
  return next;
}

bool TreeGraph::may_stand(const GraphNode& n, std::size_t f, std::uint32_t low,
                          std::uint32_t high) const {
  return w_.may_stand(f, low, high, static_cast<int>(n.path.size()));
}

std::uint64_t TreeGraph::facts_of(const GraphNode& n, std::size_t f, std::uint32_t bound) const {
  std::uint64_t facts =
      p_.split_facts[n.path.size() * w_.columns + static_cast<std::size_t>(p_.column[f])];
  const std::uint32_t* rank = p_.base.ranks(f);
  const auto here = [&](std::uint32_t row) {
    return std::binary_search(n.rows.begin(), n.rows.end(), row);
  };
  for (const Pair& pair : p_.pairs)
    if ((rank[pair.first] < bound) != (rank[pair.second] < bound) && here(pair.first) &&
        here(pair.second))
      facts |= std::uint64_t{1} << pair.fact;
  return facts;
}

// What the split itself adds to component k.
Loss TreeGraph::value_of(const GraphNode& n, std::size_t f, std::size_t k) const {
  const std::size_t column = static_cast<std::size_t>(p_.column[f]);
  const Loss value = p_.split[k * w_.columns + column];
  if (p_.path_weight[k] < 0 || p_.path_delta[k].empty()) return value;
  return value + sums_of(n.totals)[p_.path_weight[k]] *
                     p_.path_delta[k][static_cast<std::size_t>(n.state) * w_.columns + column];
}

// The weighted sum of what the split itself costs.
Loss TreeGraph::price_of(const GraphNode& n, std::size_t f) const {
  Loss price = 0;
  for (std::size_t k = 0; k < w_.components; ++k) price += w_.multipliers.of[k] * value_of(n, f, k);
  return price;
}

// What the split itself adds.
TreeKey TreeGraph::own_key(const GraphNode& n, std::size_t f, std::uint32_t bound) const {
  TreeKey key;
  key.weight = price_of(n, f);
  if (facts_) key.facts = facts_of(n, f, bound) & facts_;
  if (!values_) return key;
  for (std::size_t k = 0; k < w_.components; ++k) key.values.push_back(value_of(n, f, k));
  return key;
}

TreeKey TreeGraph::leaf_key(const std::vector<Loss>& totals, int label) const {
  TreeKey key;
  key.weight = w_.leaf_weight + totals[static_cast<std::size_t>(label)];
  key.leaves = leaves_ ? 1 : 0;
  if (!values_) return key;
  for (std::size_t k = 0; k < w_.components; ++k) {
    const int sum = p_.sum_of[k * w_.labels + static_cast<std::size_t>(label)];
    key.values.push_back(p_.leaf[k] + (sum < 0 ? 0 : sums_of(totals)[sum]));
  }
  return key;
}

TreeKey TreeGraph::joined(const TreeKey& own, const TreeKey& left, const TreeKey& right) const {
  TreeKey key;
  key.weight = own.weight + left.weight + right.weight;
  key.facts = own.facts | left.facts | right.facts;
  key.leaves = left.leaves + right.leaves;
  if (listing_.deepest) key.depth = 1 + std::max(left.depth, right.depth);
  key.values.resize(own.values.size());
  for (std::size_t k = 0; k < own.values.size(); ++k)
    key.values[k] = own.values[k] + left.values[k] + right.values[k];
  return key;
}

void TreeGraph::add_row(std::uint32_t row, Loss* totals) const {
  const Loss* w = w_.weighted.data() + row * w_.labels;
  for (std::size_t c = 0; c < w_.labels; ++c) totals[c] += w[c];
  const Loss* value = p_.value.data() + row * w_.sums;
  for (std::size_t k = w_.labels; k < width_; ++k) totals[k] += value[k - w_.labels];
}

std::vector<Loss> TreeGraph::totals_of(const std::vector<std::uint32_t>& rows) const {
  std::vector<Loss> totals(width_, 0);
  for (std::uint32_t i : rows) add_row(i, totals.data());
  return totals;
}

std::vector<int> TreeGraph::labels_of(const std::vector<Loss>& totals, int state) const {
  std::vector<int> labels;
  if (p_.need[static_cast<std::size_t>(state)] > 0) return labels;
  for (int c = 0; c < static_cast<int>(w_.labels); ++c) {
    bool holds = true;
    for (int rule : p_.leaf_rules[static_cast<std::size_t>(state)])
      holds = holds &&
              row_clause_holds(p_.leaf_clauses[static_cast<std::size_t>(rule)], sums_of(totals), c);
    if (holds) labels.push_back(c);
  }
  return labels;
}

void TreeGraph::charge(std::size_t bytes) {
  const std::size_t sum = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::size_t limit =
      control_.options().memory_limit ? control_.options().memory_limit : std::size_t{1} << 31;
  if (sum > limit) throw NoMemory{};
}

}  // namespace odt
