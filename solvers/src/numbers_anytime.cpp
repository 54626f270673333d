#include "odt/numbers_anytime.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "odt/numbers_prune.hpp"

namespace odt {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kMostWork = 1e8;     // of one search for a tree of depth two
constexpr double kMostAtFirst = 3e7;  // of one level of such trees, before they are polished
constexpr std::size_t kManyCells = std::size_t{1} << 20;
constexpr std::size_t kMemory = std::size_t{1} << 15;  // trees that are remembered
constexpr std::uint64_t kCheap =
    100000000;  // work of a narrow look after which a wide one is tried
constexpr std::size_t kTried =
    3;  // single splits whose true loss is asked for, where rules on outputs hide it

}  // namespace

Plan plan_of(const NumberRows& data, const NumberTree& tree) {
  if (tree.feature < 0) return Plan::leaf();
  return Plan::split(tree.feature, data.bound[static_cast<std::size_t>(tree.feature)][tree.cell],
                     plan_of(data, *tree.left), plan_of(data, *tree.right));
}

NumberAnytime::NumberAnytime(const NumberRows& data, Control& control, int depth, int leaves,
                             std::uint64_t seed, Told told)
    : data_(data),
      control_(control),
      losses_(data),
      told_(std::move(told)),
      dice_(seed),
      depth_(depth),
      leaves_(leaves < full_leaves(depth) ? leaves : 0),
      views_(static_cast<std::size_t>(depth) + 2),
      mark_(data.rows),
      cap_(std::min(2 * data.features + 10,
                    4 + static_cast<std::size_t>(
                            kMostAtFirst / static_cast<double>(data.rows * data.features + 1)))) {
  for (auto& sorted : sorted_) sorted.resize(losses_.sorted_targets());
}

void NumberAnytime::make_root() {
  View& root = views_[0];
  root.rows = data_.rows;
  root.state = 0;
  root.set = 0;
  for (std::uint64_t h : data_.hash) root.set ^= h;
  root.path = {root.rows, {}};
  const std::size_t orders = data_.features + losses_.sorted_targets();
  root.order.resize(orders * root.rows);
  for (std::size_t f = 0; f < orders; ++f) {
    std::uint32_t* order = root.order.data() + f * root.rows;
    if (f < data_.features) {
      const auto& cell = data_.cell[f];
      std::vector<std::uint32_t> ends(data_.counts[f].back() + 2, 0);
      for (std::uint32_t c : cell) ++ends[c + 1];
      std::partial_sum(ends.begin(), ends.end(), ends.begin());
      for (std::uint32_t i = 0; i < root.rows; ++i) order[ends[cell[i]]++] = i;
    } else {
      const auto& value = data_.value[f - data_.features];
      std::iota(order, order + root.rows, 0u);
      std::stable_sort(order, order + root.rows,
                       [&](std::uint32_t a, std::uint32_t b) { return value[a] < value[b]; });
    }
  }
}

std::size_t NumberAnytime::place_of(const View& view, std::size_t feature,
                                    std::uint32_t cell) const {
  const auto& cells = data_.cell[feature];
  const std::uint32_t* order = view.of(feature);
  return static_cast<std::size_t>(
      std::partition_point(order, order + view.rows,
                           [&](std::uint32_t i) { return cells[i] <= cell; }) -
      order);
}

NumberAnytime::View& NumberAnytime::child(const Place& at, const Cut& cut, bool left) {
  const View& from = views_[static_cast<std::size_t>(at.level)];
  View& to = views_[static_cast<std::size_t>(at.level) + 1];
  to.rows = left ? cut.place : from.rows - cut.place;
  to.state = after(from.state, cut.feature);
  to.set = 0;
  to.path.follow(from.path, {static_cast<std::uint32_t>(cut.feature), cut.cell, !left}, to.rows);
  const std::uint32_t* order = from.of(cut.feature);
  for (std::size_t i = 0; i < from.rows; ++i) {
    const bool mine = (i < cut.place) == left;
    mark_[order[i]] = mine;
    if (mine) to.set ^= data_.hash[order[i]];
  }
  const std::size_t orders = data_.features + losses_.sorted_targets();
  to.order.resize(orders * to.rows + 1);  // one more: the loop writes before it knows
  for (std::size_t f = 0; f < orders; ++f) {
    const std::uint32_t* rows = from.of(f);
    std::uint32_t* at_row = to.order.data() + f * to.rows;
    for (std::size_t i = 0; i < from.rows; ++i) {
      *at_row = rows[i];
      at_row += mark_[rows[i]];
    }
  }
  control_.poll(from.rows * orders);
  return to;
}

NumberAnytime::Ptr NumberAnytime::leaf_of(double value) const {
  auto tree = std::make_shared<NumberTree>();
  tree->value = tree->single = value;
  return tree;
}

NumberAnytime::Ptr NumberAnytime::leaf(const View& view) {
  return leaf_of(leaf_value(view.state, view.of(0), view.rows));
}

NumberAnytime::Ptr NumberAnytime::join(double single, const Cut& cut, const Ptr& left,
                                       const Ptr& right) const {
  auto tree = std::make_shared<NumberTree>();
  tree->value = left->value + right->value;
  tree->single = single;
  tree->feature = static_cast<int>(cut.feature);
  tree->cell = cut.cell;
  tree->leaves = left->leaves + right->leaves;
  tree->left = left;
  tree->right = right;
  return tree;
}

// Where cuts may stand in an order (`open_`), and what they lose (`split_`). False where none may.
bool NumberAnytime::scan(const std::uint32_t* order, std::size_t f, std::size_t n,
                         std::size_t level, const std::uint32_t* const* by_target) {
  const auto& cell = data_.cell[f];
  if (n < 2 * data_.least || n < 2 || cell[order[0]] == cell[order[n - 1]]) return false;
  if (open_.size() < n) {
    open_.resize(n);
    split_.resize(n);
  }
  const std::size_t least = data_.least;
  std::uint32_t now = cell[order[0]];
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::uint32_t next = cell[order[i + 1]];
    open_[i] = now != next;
    now = next;
  }
  for (std::size_t i = 0; i + 1 < least; ++i) open_[i] = open_[n - 2 - i] = 0;
  if (data_.rules->asks_cuts())
    for (std::size_t i = 0; i + 1 < n; ++i) open_[i] = open_[i] && stands(order, f, i + 1, level);
  losses_.splits(f, order, n, by_target, open_.data(), split_.data());
  return true;
}

// The best cuts of each feature in each of some segments of its rows, the best first.
std::vector<NumberAnytime::Cut> NumberAnytime::cuts(const View& view, std::size_t segments,
                                                    bool even) {
  std::vector<Cut> found;
  if (!may_split(view)) return found;
  const std::size_t n = view.rows;
  std::vector<const std::uint32_t*> by_target;
  for (std::size_t t = 0; t < losses_.sorted_targets(); ++t)
    by_target.push_back(view.of(data_.features + t));
  losses_.begin(view.of(0), n, by_target.data());
  const double base = even ? losses_.leaf(view.of(0), n) + data_.price : 0;
  for (std::size_t f = 0; f < data_.features; ++f) {
    const std::uint32_t* order = view.of(f);
    if (after(view.state, f) < 0 || !scan(order, f, n, level_of(view), by_target.data())) continue;
    for (std::size_t s = 0; s < segments; ++s) {
      const std::size_t end = s + 1 == segments ? n - 1 : n * (s + 1) / segments;
      Cut best{kNone, f, 0, 0};
      for (std::size_t i = n * s / segments; i < end && i + 1 < n; ++i) {
        if (!open_[i]) continue;
        double score = split_[i];
        if (even) {
          const double share = static_cast<double>(i + 1) / static_cast<double>(n);
          score = (score - base) * std::sqrt(share * (1 - share));
        }
        if (score < best.score) best = {score, f, data_.cell[f][order[i]], i + 1};
      }
      if (best.place > 0) found.push_back(best);
    }
  }
  control_.poll(losses_.work(n));
  std::stable_sort(found.begin(), found.end(),
                   [](const Cut& a, const Cut& b) { return a.score < b.score; });
  return found;
}

// The best split of a side from the best one of each feature. Under rules on outputs the loss of
// some is asked for.
void NumberAnytime::settle(Side& side, std::vector<Cut>& best, int state, const std::uint32_t* rows,
                           std::size_t n) {
  side.single = side.value = leaf_value(state, rows, n);
  side.split = false;
  best.erase(
      std::remove_if(best.begin(), best.end(),
                     [&](const Cut& c) { return !data_.rules->ends(after(state, c.feature)); }),
      best.end());
  if (best.empty()) return;
  std::stable_sort(best.begin(), best.end(),
                   [](const Cut& a, const Cut& b) { return a.score < b.score; });
  const std::size_t tried = data_.exact() ? 1 : std::min(best.size(), kTried);
  for (std::size_t k = 0; k < tried; ++k) {
    double value = best[k].score + 2 * extra_;
    if (value >= side.value) break;
    if (!data_.exact()) {
      for (auto& half : half_) half.clear();
      const auto& cell = data_.cell[best[k].feature];
      for (std::size_t i = 0; i < n; ++i) half_[cell[rows[i]] > best[k].cell].push_back(rows[i]);
      const int next = after(state, best[k].feature);
      value = leaf_value(next, half_[0].data(), half_[0].size()) +
              leaf_value(next, half_[1].data(), half_[1].size());
      if (value >= side.value) continue;
    }
    side.value = value;
    side.cut = best[k];
    side.split = true;
  }
}

// Both sides of a cut, each as a leaf and as its best split.
void NumberAnytime::sides(const View& view, const Cut& cut, Side (&out)[2]) {
  const std::uint32_t* along = view.of(cut.feature);
  for (std::size_t i = 0; i < view.rows; ++i) mark_[along[i]] = i >= cut.place;
  const auto deal = [&](const std::uint32_t* order, std::uint32_t* low, std::uint32_t* high) {
    for (std::size_t i = 0; i < view.rows; ++i) {
      const std::uint32_t row = order[i];
      const bool beside = mark_[row] != 0;
      *low = *high = row;
      low += !beside;
      high += beside;
    }
  };
  std::vector<const std::uint32_t*> by_target[2];
  for (std::size_t t = 0; t < losses_.sorted_targets(); ++t) {
    for (auto& sorted : sorted_) sorted[t].resize(view.rows + 1);
    deal(view.of(data_.features + t), sorted_[0][t].data(), sorted_[1][t].data());
    for (std::size_t k = 0; k < 2; ++k) by_target[k].push_back(sorted_[k][t].data());
  }
  const std::size_t n = view.rows, count[2] = {cut.place, n - cut.place};
  for (auto& part : part_)
    if (part.size() < n * data_.features + 1) part.resize(n * data_.features + 1);
  for (std::size_t f = 0; f < data_.features; ++f)
    deal(view.of(f), part_[0].data() + f * count[0], part_[1].data() + f * count[1]);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::uint32_t* rows = along + (k == 0 ? 0 : cut.place);
    losses_.begin(rows, count[k], by_target[k].data());
    std::vector<Cut> best;
    const int state = after(view.state, cut.feature);
    const bool may = data_.may_split(state, rows, count[k]);
    for (std::size_t f = 0; may && f < data_.features; ++f) {
      if (after(state, f) < 0) continue;
      const std::uint32_t* order = part_[k].data() + f * count[k];
      if (losses_.quick() && !data_.rules->asks_cuts()) {
        double value = 0;
        const std::size_t place = losses_.best_split(order, count[k], data_.cell[f].data(), value);
        if (place > 0) best.push_back({value, f, data_.cell[f][order[place - 1]], place});
        continue;
      }
      if (!scan(order, f, count[k], level_of(view) + 1, by_target[k].data())) continue;
      double least = kNone;
      std::size_t at = 0;
      for (std::size_t i = 0; i + 1 < count[k]; ++i)
        if (open_[i] && split_[i] < least) {
          least = split_[i];
          at = i;
        }
      if (least < kNone) best.push_back({least, f, data_.cell[f][order[at]], at + 1});
    }
    settle(out[k], best, state, rows, count[k]);
  }
  control_.poll(losses_.work(n) + n * data_.features);
}

NumberAnytime::Ptr NumberAnytime::tree_of(const Side& side) const {
  if (!side.split) return leaf_of(side.single);
  // Which half loses what is of no interest below here.
  const double price = data_.price + extra_;
  return join(side.single, side.cut, leaf_of(price), leaf_of(side.value - price));
}

NumberAnytime::Ptr NumberAnytime::stump(const View& view, const Ptr& one) {
  if (!may_split(view)) return one;
  std::vector<Cut> best = cuts(view, 1, false);
  Side side;
  settle(side, best, view.state, view.of(0), view.rows);
  return tree_of(side);
}

// The best first cut by what its two sides lose as single splits: intervals of cuts by what their
// ends show, the most promising first.
NumberAnytime::Ptr NumberAnytime::depth_two(const View& view, const Ptr& one, double upper,
                                            std::size_t& most) {
  const std::vector<Cut> first = cuts(view, 1, false);
  std::vector<Cut> single = first;
  Side whole;
  settle(whole, single, view.state, view.of(0), view.rows);
  Ptr best = tree_of(whole);
  const double least_gain = one->value < kNone ? 1e-12 * one->value : 0;
  if (view.rows < 3 || best->value <= data_.price + extra_ + least_gain) return best;
  double value = std::min(best->value, upper);
  bool paired = false;
  std::vector<std::vector<std::uint32_t>> places(data_.features);
  std::vector<Span> heap;
  const auto later = [](const Span& a, const Span& b) {
    return a.left + a.right != b.left + b.right ? a.left + a.right > b.left + b.right
                                                : a.high - a.low < b.high - b.low;
  };
  const double price = data_.price + extra_;
  for (auto at = first.rbegin(); at != first.rend(); ++at) {
    const std::uint32_t* order = view.of(at->feature);
    auto& open = places[at->feature];
    std::size_t start = 0;
    for (std::size_t i = data_.least; i + data_.least <= view.rows && i < view.rows; ++i)
      if (stands(order, at->feature, i, level_of(view))) {
        if (i == at->place) start = open.size();
        open.push_back(static_cast<std::uint32_t>(i));
      }
    heap.push_back({at->feature, 0, open.size(), start, price, price});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  // The best single cuts come first, whatever the heap says.
  std::size_t begun = 0;
  Side found[2];
  for (; !heap.empty() && most > 0; --most) {
    Span span;
    if (begun < first.size()) {
      const auto at = std::find_if(heap.begin(), heap.end(), [&](const Span& s) {
        return s.feature == first[begun].feature;
      });
      span = *at;
      heap.erase(at);
      ++begun;
      if (begun == first.size()) std::make_heap(heap.begin(), heap.end(), later);
    } else {
      std::pop_heap(heap.begin(), heap.end(), later);
      span = heap.back();
      heap.pop_back();
    }
    if (span.left + span.right >= value - least_gain) {
      if (begun == first.size()) break;
      continue;
    }
    const std::size_t place = places[span.feature][span.first];
    const std::uint32_t* order = view.of(span.feature);
    const Cut cut{0, span.feature, data_.cell[span.feature][order[place - 1]], place};
    sides(view, cut, found);
    // Of equals the one that begins with the first feature, as a scan of the features has it.
    const double made = found[0].value + found[1].value;
    if (made < value - least_gain ||
        (paired && made < value + least_gain && static_cast<int>(cut.feature) < best->feature)) {
      best = join(one->single, cut, tree_of(found[0]), tree_of(found[1]));
      value = std::min(value, made);
      paired = true;
    }
    // A side without a tree under the rules says nothing of its neighbours.
    const double below = found[0].value < kNone ? found[0].value : span.left,
                 beside = found[1].value < kNone ? found[1].value : span.right;
    const Span low{span.feature, span.low, span.first, (span.low + span.first) / 2,
                   span.left,    beside};
    const Span high{span.feature, span.first + 1, span.high, (span.first + 1 + span.high) / 2,
                    below,        span.right};
    for (const Span& part : {low, high}) {
      if (part.low >= part.high || part.left + part.right >= value - least_gain) continue;
      heap.push_back(part);
      if (begun == first.size()) std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  return best;
}

// The best tree of what depth is left, two at most; nothing where it is not below `upper`.
NumberAnytime::Ptr NumberAnytime::bottom(const View& view, const Place& at, double upper,
                                         const How& how) {
  const Ptr one = leaf(view);
  Ptr tree = one;
  if (at.depth == 1 || (at.depth >= 2 && how.most == 0)) {
    tree = stump(view, one);
  } else if (at.depth >= 2 && may_split(view)) {
    const double room = kMostWork / static_cast<double>(view.rows * data_.features * data_.targets);
    const std::size_t most = std::min(how.most, cap_ + static_cast<std::size_t>(room));
    const Key key{view.set, view.state};
    const auto same = [&](const RowPath& path) {
      return path.leads_to(
          view.rows, view.path, [&](std::size_t i) { return view.of(0)[i]; },
          [&](std::uint32_t f, std::uint32_t row) { return data_.cell[f][row]; });
    };
    Remembered* known = memory_.find(key, same);
    if (known && known->most >= most && known->extra == extra_ &&
        (known->tree || known->upper >= upper)) {
      tree = known->tree;
    } else {
      std::size_t left = most;
      tree = depth_two(view, one, upper, left);
      if (memory_.size() > kMemory) {
        memory_.clear();
        known = nullptr;
      }
      const bool kept = tree->value < upper || upper == kNone;  // as what is returned
      if (!known) known = &memory_.add(key, view.path);
      known->tree = kept ? tree : nullptr;
      known->upper = upper;
      known->extra = extra_;
      known->most = left > 0 ? kAll : most;
    }
  }
  return tree && (tree->value < upper || upper == kNone) ? tree : nullptr;
}

NumberAnytime::Ptr NumberAnytime::grow_below(double single, const Place& at, const Cut& cut,
                                             double upper, const How& how) {
  const Place next{at.level + 1, at.depth - 1};
  const double price = data_.price + extra_;
  const Ptr left = grow(child(at, cut, true), next, upper - price, how);
  if (!left) return nullptr;
  const Ptr right = grow(child(at, cut, false), next, upper - left->value, how);
  return right ? join(single, cut, left, right) : nullptr;
}

// A tree by the best single cuts, optimal (or nearly so) in its last two levels; nothing where it
// would not be below `upper`.
NumberAnytime::Ptr NumberAnytime::grow(const View& view, const Place& at, double upper,
                                       const How& how) {
  if (at.depth <= (how.most > 0 ? 2 : 1)) return bottom(view, at, upper, how);
  const Ptr one = leaf(view);
  const Ptr fallback = one->value < upper ? one : nullptr;
  if (one->value <= data_.price + extra_ || !may_split(view)) return fallback;
  const std::vector<Cut> good = cuts(view, 1, how.even);
  if (good.empty()) return fallback;
  std::size_t which = 0;
  while (how.noise > 0 && which + 1 < good.size() && dice_.real() < how.noise) ++which;
  const Ptr tree = grow_below(one->single, at, good[which], std::min(upper, one->value), how);
  return tree ? tree : fallback;
}

// Growth by the first cuts of the best trees of depth two: two features may say much together where
// each by itself says nothing. Levels share the work that is allowed, and nodes of one by their
// rows; the best single cuts go on where it is used up.
NumberAnytime::Ptr NumberAnytime::ahead(const View& view, const Place& at, double work) {
  const double cells = static_cast<double>(view.rows * data_.features * data_.targets + 1);
  const How how{static_cast<std::size_t>(work / cells / std::max(1, at.depth - 1)), 0, false};
  if (at.depth <= 2 || how.most == 0) return grow(view, at, kNone, how);
  const std::uint64_t before = control_.work();
  const Ptr two = bottom(view, {at.level, 2}, kNone, how);
  if (two->feature < 0) return may_split(view) ? grow(view, at, kNone, how) : two;
  work -= static_cast<double>(control_.work() - before);
  const Place next{at.level + 1, at.depth - 1};
  const Cut cut = cut_of(view, *two);
  const double share = std::max(0.0, work) / static_cast<double>(view.rows);
  const Ptr left = ahead(child(at, cut, true), next, share * static_cast<double>(cut.place));
  const Ptr right =
      ahead(child(at, cut, false), next, share * static_cast<double>(view.rows - cut.place));
  const Ptr made = join(two->single, cut, left, right);
  if (made->value < two->value) return made;
  const Ptr whole = measure(view, at, two);  // moves ask what each half loses, as it stands high
  return whole ? whole : made;
}

// Of good cuts the one whose grown completion loses least, and so on below it.
NumberAnytime::Ptr NumberAnytime::look(const View& view, const Place& at, std::size_t segments,
                                       std::size_t width, std::size_t most) {
  const How how{most, 0, false};
  if (at.depth <= 2) return bottom(view, at, kNone, how);
  const Ptr one = leaf(view);
  if (one->value <= data_.price + extra_ || !may_split(view)) return one;
  std::vector<Cut> tried = cuts(view, segments, false);
  if (tried.size() > width) tried.resize(width);
  std::vector<Cut> other = cuts(view, segments, true);
  if (other.size() > (width + 2) / 3) other.resize((width + 2) / 3);
  for (const Cut& cut : other)
    if (std::none_of(tried.begin(), tried.end(),
                     [&](const Cut& t) { return t.feature == cut.feature && t.cell == cut.cell; }))
      tried.push_back(cut);
  Ptr best = one;
  Cut chosen{0, 0, 0, 0};
  for (const Cut& cut : tried) {
    const Ptr tree = grow_below(one->single, at, cut, best->value, how);
    if (!tree) continue;
    best = tree;
    chosen = cut;
  }
  if (best->feature < 0) return best;
  Ptr side[2] = {best->left, best->right};
  for (std::size_t s = 0; s < 2; ++s) {
    const Ptr found =
        look(child(at, chosen, s == 0), {at.level + 1, at.depth - 1}, segments, width, most);
    if (found->value < side[s]->value) side[s] = found;
  }
  return join(one->single, chosen, side[0], side[1]);
}

void NumberAnytime::offer(const Ptr& tree) {
  if (!tree) return;
  if (!now_ || tree->value <= now_->value) now_ = tree;
  Ptr asked = leaves_ > 0 ? pruned(tree, leaves_, extra_) : tree;
  const double value = asked->value;
  if (value >= best_ || (best_ < kNone && value >= best_ - 1e-13 * std::fabs(best_))) return;
  best_ = value;
  told_(value, plan_of(data_, *asked));
}

// Where leaves are few they have a price, so that the tree that is moved has about as many; what is
// told is pruned.
void NumberAnytime::reprice() {
  if (leaves_ == 0 || now_->value == kNone) return;
  const View& root = views_[0];
  double low = 0, high = losses_.leaf(root.of(0), root.rows);
  if (extra_ == 0) {
    for (int k = 0; k < 40; ++k) {
      const double middle = (low + high) / 2;
      (repriced(now_, 0, middle)->leaves > leaves_ ? low : high) = middle;
    }
  } else {
    high = extra_ * (now_->leaves > leaves_ ? 1.15 : now_->leaves < leaves_ ? 0.9 : 1);
  }
  now_ = repriced(now_, extra_, high);
  extra_ = high;
}

// Growth by the best single cuts, as fast as reading the rows: the first tree to tell.
void NumberAnytime::begin() {
  make_root();
  const View& root = views_[0];
  if (root.rows < data_.least || root.rows == 0) return;
  offer(leaf(root));
  if (depth_ == 0 || leaves_ == 1) return;
  // On many rows a shallow tree is told before a whole one.
  if (depth_ > 3 && root.rows * data_.features > kManyCells)
    offer(grow(root, {0, 2}, now_->value, {0, 0, false}));
  offer(grow(root, {0, depth_}, now_->value, {0, 0, false}));
}

// What growth by single cuts may miss: on few rows it is told in full.
void NumberAnytime::look_ahead(double work) {
  if (!now_ || depth_ < 3 || leaves_ == 1) return;
  if (data_.loss == OutputLoss::absolute) work *= 2;  // a visit of a row counts eight times
  offer(ahead(views_[0], {0, depth_}, work));
}

bool NumberAnytime::run(double target, const SharedTree<double>* others) {
  const View& root = views_[0];
  const Place top{0, depth_};
  const auto done = [&] { return best_ <= target; };
  if (!now_ || depth_ == 0 || leaves_ == 1) return done();
  for (double times : {2.0, 10.0}) look_ahead(times * kAhead);
  for (const How& how : {How{cap_, 0, false}, How{0, 0, true}, How{cap_, 0, true}}) {
    if (done()) return true;
    offer(grow(root, top, now_->value, how));
  }
  if (depth_ <= 2) {
    offer(bottom(root, top, now_->value, {kAll, 0, false}));
    return done();
  }
  reprice();
  const std::uint64_t work = control_.work(), began = Control::own_work();
  if (!done()) offer(polish(root, top, look(root, top, 3, 6, cap_)));
  if (!done() && control_.work() - work < kCheap)
    offer(polish(root, top, look(root, top, 4, 12, kAll)));
  if (!done()) offer(polish(root, top, now_));
  std::uint64_t improved_at = Control::own_work() - began;
  for (std::uint64_t k = 1; !done(); ++k) {
    double value = best_;
    Plan plan;
    if (others && others->take(value, plan)) offer(read(root, top, plan, 0));
    if (k % 16 == 0) reprice();
    const double last = best_;
    const int height =
        depth_ == 3 || dice_.real() < 0.5
            ? 3
            : 3 + static_cast<int>(dice_.below(static_cast<std::size_t>(depth_ - 2)));
    offer(move(root, top, now_, height));
    const std::uint64_t spent = Control::own_work() - began;
    if (best_ < last) improved_at = spent;
    if (control_.turns && depth_ <= 4) control_.turns->favour_proof(spent, improved_at);
    control_.poll(root.rows);  // a move may find nothing to look at
    control_.check();
  }
  return true;
}

}  // namespace odt
