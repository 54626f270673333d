#include "odt/outputs_search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <unordered_map>

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/regression_data.hpp"

namespace odt {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
// How much more than its share of the loss a side of a cut is asked for: bounds of neighbours gain by it.
constexpr double kGenerous = 1.2;
constexpr std::size_t kCache = std::size_t{1} << 29;

// The rows of a node in the order of every feature, and their sums: weight, floor, own loss, then the targets.
struct Node {
  std::size_t rows = 0;
  std::vector<std::uint32_t> order;  // [feature][place]
  std::vector<double> sums;
  PointSet set;
  const std::uint32_t* of(std::size_t f) const { return order.data() + f * rows; }
};

// Above the floor, prices of leaves included. `value`: of the best tree, if it is below what was asked; `lower`: no tree
// without rules on leaf sizes has less; `least`: no tree under these rules has less.
struct Answer {
  double value = kNone, lower = 0, least = 0;
  Plan plan;
};

struct Span {
  std::uint32_t feature, low, high;  // cuts strictly between these are open
  int leaves;                        // of the left side
  double left, right;                // bounds of the sides
  double bound() const { return left + right; }
};

bool later(const Span& a, const Span& b) { return a.bound() != b.bound() ? a.bound() > b.bound() : a.high - a.low < b.high - b.low; }

class Search {
 public:
  Search(const OutputProblem& p, const OutputOptions& o, Control& control)
      : p_(p), o_(o), control_(control), n_(p.targets()), width_(n_ + 3), leaf_(p, OutputWay::optimal, 0), solver_(p.set), squared_(p.factor),
        poisson_(p.factor), goal_(n_), output_(n_), rest_(width_), known_(n_), foot_(n_), ahead_(n_) {
    prepare();
  }
  RegressionResult run();

 private:
  void prepare();
  Node root() const;
  void part(const Node& node, std::size_t f, std::size_t place, Node& left, Node& right) const;
  double free(const double* sums) const;
  // Loss of a leaf above its floor, its price included; infinite where it is `limit` or more.
  double leaf(const double* sums, double limit);
  // A lower bound on that: the free loss, and the distance that what is known of the node leaves.
  double quick(const double* sums) const { return std::max(0.0, free(sums) + beyond(sums) - sums[1]) + p_.leaf_price; }
  void know(const double* sums);
  double beyond(const double* sums) const;
  void fill_cuts(const Node& node);
  void halve(const Node& node, std::size_t low, std::size_t high, double left, double right, double upper, Answer& found);
  bool try_cut(const Node& node, std::size_t cut, double upper, double& left, double& right, Answer& found);
  void boundaries(const Node& node, std::size_t f, std::vector<std::uint32_t>& places) const;
  Answer stump(const Node& node, double upper, double leaf_value);
  Answer solve(const Node& node, int depth, int leaves, double upper, int level);
  void branch(const Node& node, int depth, int leaves, double upper, int level, Answer& answer);
  void evaluate(const Node& node, int depth, int leaves, const Span& span, std::size_t place, double limit, int level, Answer sides[2]);
  void told(double bound);
  double value_of(const Tree& tree, std::size_t at, const std::vector<std::uint32_t>& rows, bool& fits);
  void finish(const Plan& plan, RegressionResult& result);
  bool sized(std::size_t rows) const { return rows >= static_cast<std::size_t>(o_.leaf_rows); }

  struct Entry {
    double value, lower, least;
    Plan plan;
  };
  struct Hash {
    std::size_t operator()(const PointSet& k) const { return static_cast<std::size_t>(k.low); }
  };

  const OutputProblem& p_;
  const OutputOptions& o_;
  Control& control_;
  std::size_t n_, width_;
  OutputLeaf leaf_;
  OutputSolver solver_;
  SquaredLoss squared_;
  PoissonLoss poisson_;
  std::vector<double> goal_, output_, centre_;
  std::vector<double> row_;  // [row][width]
  std::vector<PointSet> hash_;
  std::vector<std::vector<std::uint32_t>> counts_;  // per feature: allowed cuts below a rank
  std::vector<std::uint32_t> used_;                 // rows with a weight
  std::vector<std::unique_ptr<std::pair<Node, Node>>> nodes_;
  mutable std::vector<char> side_;
  std::vector<double> scanned_, rest_;
  std::vector<double> known_, foot_, ahead_;  // a mean, its nearest feasible output, and the way between
  double far_ = 0;
  struct Cut {
    std::uint32_t feature, place;
  };
  std::vector<Cut> cuts_;
  std::unordered_map<PointSet, Entry, Hash> cache_;
  std::size_t cached_ = 0;
  double floor_ = 0, tolerance_ = 0;
  double best_ = kNone;  // incumbent, above the floor
  Plan plan_;
  Tree start_;
  double bound_ = 0;
  Counters counters_;
  RegressionResult result_;
};

void Search::prepare() {
  const Problem& b = p_.base;
  const bool squared = p_.loss == OutputLoss::squared;
  centre_.assign(n_, 0.0);
  double total = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (!(p_.weight_of(i) > 0) && o_.leaf_rows <= 1 && !p_.weight.empty()) continue;
    used_.push_back(i);
    total += p_.weight_of(i);
    for (std::size_t t = 0; t < n_; ++t) centre_[t] += p_.weight_of(i) * p_.target[i * n_ + t];
  }
  for (double& c : centre_) c = squared && total > 0 ? c / total : 0;
  row_.assign(b.rows * width_, 0.0);
  std::mt19937_64 random(20240229);
  hash_.resize(b.rows);
  for (PointSet& h : hash_) h = {random(), random()};
  for (std::uint32_t i : used_) {
    double* row = &row_[i * width_];
    const double w = p_.weight_of(i);
    const double* y = &p_.target[i * n_];
    row[0] = w;
    for (std::size_t t = 0; t < n_; ++t) {
      const double d = y[t] - centre_[t];
      row[3 + t] = w * d;
      row[2] += w * p_.factor[t] * (squared ? d * d : (y[t] > 0 ? y[t] * std::log(y[t]) - y[t] : 0));
    }
    if (!solver_.everything() && w > 0) {
      double lost;
      if (squared) {
        squared_.aim(y);
        lost = solver_.solve(squared_, output_.data());
      } else {
        poisson_.aim(y);
        lost = solver_.solve(poisson_, output_.data());
      }
      // A deviance can be infinite for a row alone; then it has no floor to speak of.
      row[1] = lost < kNone ? w * lost * (1 - 1e-12) : 0;
    }
  }
  counts_.resize(b.features);
  for (std::size_t f = 0; f < b.features; ++f) {
    counts_[f].assign(b.distinct[f] + 1, 0);
    const bool any = f >= b.allowed.size() || b.allowed[f].empty();
    for (std::uint32_t r = 0; r < b.distinct[f]; ++r) counts_[f][r + 1] = counts_[f][r] + (any || b.allowed[f][r] ? 1 : 0);
  }
  side_.resize(b.rows);
}

Node Search::root() const {
  Node node;
  const Problem& b = p_.base;
  node.rows = used_.size();
  node.order.reserve(b.features * node.rows);
  for (std::size_t f = 0; f < b.features; ++f) {
    std::vector<std::uint32_t> rows = used_;
    const std::uint32_t* rank = b.ranks(f);
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t x, std::uint32_t y) { return rank[x] < rank[y]; });
    node.order.insert(node.order.end(), rows.begin(), rows.end());
  }
  node.sums.assign(width_, 0.0);
  for (std::uint32_t i : used_) {
    for (std::size_t k = 0; k < width_; ++k) node.sums[k] += row_[i * width_ + k];
    node.set.toggle(hash_[i]);
  }
  return node;
}

void Search::part(const Node& node, std::size_t f, std::size_t place, Node& left, Node& right) const {
  const std::uint32_t* rows = node.of(f);
  left.rows = place;
  right.rows = node.rows - place;
  left.set = right.set = PointSet{};
  left.sums.assign(width_, 0.0);
  right.sums.assign(width_, 0.0);
  for (std::size_t i = 0; i < node.rows; ++i) {
    const std::uint32_t r = rows[i];
    Node& to = i < place ? left : right;
    side_[r] = i >= place;
    const double* row = &row_[r * width_];
    for (std::size_t k = 0; k < width_; ++k) to.sums[k] += row[k];
    to.set.toggle(hash_[r]);
  }
  const std::size_t features = p_.base.features;
  left.order.resize(features * left.rows);
  right.order.resize(features * right.rows);
  for (std::size_t g = 0; g < features; ++g) {
    const std::uint32_t* from = node.of(g);
    std::uint32_t* to[2] = {left.order.data() + g * left.rows, right.order.data() + g * right.rows};
    for (std::size_t i = 0; i < node.rows; ++i) *to[static_cast<int>(side_[from[i]])]++ = from[i];
  }
}

double Search::free(const double* sums) const {
  if (!(sums[0] > 0)) return 0;
  double gained = 0;
  if (p_.loss == OutputLoss::squared) {
    for (std::size_t t = 0; t < n_; ++t) gained += p_.factor[t] * sums[3 + t] * sums[3 + t];
    return std::max(0.0, sums[2] - gained / sums[0]);
  }
  for (std::size_t t = 0; t < n_; ++t) gained += p_.factor[t] * (sums[3 + t] > 0 ? sums[3 + t] * std::log(sums[3 + t] / sums[0]) - sums[3 + t] : 0);
  return std::max(0.0, sums[2] - gained);
}

double Search::leaf(const double* sums, double limit) {
  const double alone = free(sums);
  if (solver_.everything() || !(sums[0] > 0)) return std::max(0.0, alone - sums[1]) + p_.leaf_price;
  const double room = limit - p_.leaf_price - (alone - sums[1]);
  if (!(room > 0)) return kNone;
  for (std::size_t t = 0; t < n_; ++t) goal_[t] = std::max(centre_[t] + sums[3 + t] / sums[0], p_.loss == OutputLoss::poisson ? 0.0 : -kNone);
  double lost;
  if (p_.loss == OutputLoss::squared) {
    squared_.aim(goal_.data());
    lost = solver_.solve(squared_, output_.data(), room / sums[0]);
  } else {
    poisson_.aim(goal_.data());
    lost = solver_.solve(poisson_, output_.data(), room / sums[0]);
  }
  return lost == kNone ? kNone : std::max(0.0, alone + sums[0] * lost - sums[1]) + p_.leaf_price;
}

// Places in a feature's order where a cut may stand.
void Search::boundaries(const Node& node, std::size_t f, std::vector<std::uint32_t>& places) const {
  places.clear();
  const std::uint32_t* rows = node.of(f);
  const std::uint32_t* rank = p_.base.ranks(f);
  for (std::size_t i = 1; i < node.rows; ++i) {
    const std::uint32_t below = rank[rows[i - 1]], above = rank[rows[i]];
    if (below != above && counts_[f][above] > counts_[f][below]) places.push_back(static_cast<std::uint32_t>(i));
  }
}

// What the nearest feasible output of a node's mean says of the means of its parts.
void Search::know(const double* sums) {
  far_ = 0;
  if (p_.loss != OutputLoss::squared || solver_.everything() || !(sums[0] > 0)) return;
  for (std::size_t t = 0; t < n_; ++t) known_[t] = centre_[t] + sums[3 + t] / sums[0];
  squared_.aim(known_.data());
  const double square = solver_.solve(squared_, foot_.data());
  if (!(square > 0) || square == kNone) return;
  far_ = std::sqrt(square);
  for (std::size_t t = 0; t < n_; ++t) ahead_[t] = p_.factor[t] * (known_[t] - foot_[t]) / far_;
}

double Search::beyond(const double* sums) const {
  if (!(far_ > 0) || !(sums[0] > 0)) return 0;
  double least = 0;
  if (solver_.convex()) {  // the set lies behind the plane at the foot
    for (std::size_t t = 0; t < n_; ++t) least += ahead_[t] * (centre_[t] + sums[3 + t] / sums[0] - foot_[t]);
  } else {  // the distance to a set changes no faster than the point moves
    double moved = 0;
    for (std::size_t t = 0; t < n_; ++t) {
      const double d = centre_[t] + sums[3 + t] / sums[0] - known_[t];
      moved += p_.factor[t] * d * d;
    }
    least = far_ - std::sqrt(moved);
  }
  least *= 1 - 1e-9;
  return least > 0 ? sums[0] * least * least : 0;
}

// Every cut of every feature, with the sums of its left side.
void Search::fill_cuts(const Node& node) {
  cuts_.clear();
  std::size_t room = 0;
  for (std::size_t f = 0; f < p_.base.features; ++f) {
    const std::uint32_t* rows = node.of(f);
    const std::uint32_t* rank = p_.base.ranks(f);
    if (rank[rows[0]] == rank[rows[node.rows - 1]]) continue;
    const std::uint32_t* counts = counts_[f].data();
    if (scanned_.size() < room + node.rows * width_) scanned_.resize(2 * (room + node.rows * width_));
    std::fill(rest_.begin(), rest_.end(), 0.0);
    for (std::size_t i = 0; i + 1 < node.rows; ++i) {
      const double* row = &row_[rows[i] * width_];
      for (std::size_t k = 0; k < width_; ++k) rest_[k] += row[k];
      const std::uint32_t below = rank[rows[i]], above = rank[rows[i + 1]];
      if (below == above || counts[above] == counts[below]) continue;
      cuts_.push_back({static_cast<std::uint32_t>(f), static_cast<std::uint32_t>(i + 1)});
      std::copy(rest_.begin(), rest_.end(), scanned_.begin() + static_cast<std::ptrdiff_t>(room));
      room += width_;
    }
  }
}

// Fills both sides of a cut as far as they may be best; lower bounds of them come in and exact ones, or better bounds, go out.
bool Search::try_cut(const Node& node, std::size_t cut, double upper, double& left, double& right, Answer& found) {
  const double limit = std::min(found.value, upper) - tolerance_;
  const double* sums = &scanned_[cut * width_];
  for (std::size_t k = 0; k < width_; ++k) rest_[k] = node.sums[k] - sums[k];
  left = std::max(left, quick(sums));
  right = std::max(right, quick(rest_.data()));
  if (left + right >= limit) return false;
  ++counters_.scans;
  const double one = leaf(sums, limit - right);
  if (one == kNone) {
    left = std::max(left, limit - right);
    return false;
  }
  left = one;
  const double other = leaf(rest_.data(), limit - one);
  if (other == kNone) {
    right = std::max(right, limit - one);
    return false;
  }
  right = other;
  const Cut& at = cuts_[cut];
  if (!sized(at.place) || !sized(node.rows - at.place)) return true;
  found.value = one + other;
  const std::uint32_t bound = p_.base.ranks(at.feature)[node.of(at.feature)[at.place]];
  found.plan = Plan::split(static_cast<int>(at.feature), bound, Plan::leaf(), Plan::leaf());
  return true;
}

// The cuts low .. high - 1 of one feature, whose left sides lose `left` at least, and right ones `right`.
void Search::halve(const Node& node, std::size_t low, std::size_t high, double left, double right, double upper, Answer& found) {
  if (low >= high) return;
  if (left + right >= std::min(found.value, upper) - tolerance_) {
    found.lower = std::min(found.lower, left + right);
    ++counters_.pruned_interval;
    return;
  }
  const std::size_t middle = (low + high) / 2;
  double below = left, beside = right;
  try_cut(node, middle, upper, below, beside, found);
  found.lower = std::min(found.lower, below + beside);
  halve(node, low, middle, left, beside, upper, found);
  halve(node, middle + 1, high, below, right, upper, found);
}

// The best single split.
Answer Search::stump(const Node& node, double upper, double leaf_value) {
  ++counters_.depth_two;
  control_.poll(node.rows * p_.base.features);
  Answer found;
  found.lower = leaf_value;
  if (leaf_value < upper && sized(node.rows)) {
    found.value = leaf_value;
    found.plan = Plan::leaf();
  }
  know(node.sums.data());
  fill_cuts(node);
  const std::size_t count = cuts_.size();
  for (std::size_t from = 0; from < count;) {
    std::size_t to = from + 1;
    while (to < count && cuts_[to].feature == cuts_[from].feature) ++to;
    halve(node, from, to, p_.leaf_price, p_.leaf_price, upper, found);
    from = to;
  }
  far_ = 0;
  found.least = std::min(found.value, upper);
  return found;
}

Answer Search::solve(const Node& node, int depth, int leaves, double upper, int level) {
  Answer answer;
  const double single = leaf(node.sums.data(), kNone);
  if (depth == 0 || leaves < 2 || node.rows < 2) {
    answer.lower = answer.least = single;
    if (sized(node.rows) && single < upper) {
      answer.value = single;
      answer.plan = Plan::leaf();
    }
    return answer;
  }
  if (single <= p_.leaf_price + tolerance_ && sized(node.rows)) {
    answer.lower = p_.leaf_price;
    answer.least = single;
    if (single < upper) {
      answer.value = single;
      answer.plan = Plan::leaf();
    }
    ++counters_.pruned_leaf;
    return answer;
  }
  if (depth == 1 || leaves == 2) return stump(node, upper, single);
  const Shape shaped = shape(depth, leaves);
  const std::uint64_t mark = static_cast<std::uint64_t>(shaped.depth) << 32 | static_cast<std::uint32_t>(shaped.leaves);
  const PointSet key{node.set.low ^ mark * 0x9e3779b97f4a7c15ULL, node.set.high ^ mark * 0xd6e8feb86659fd93ULL};
  if (const auto at = cache_.find(key); at != cache_.end() && level > 0) {
    const Entry& known = at->second;
    if (known.value < kNone || known.least >= upper) {
      ++counters_.cache_hits;
      answer.lower = known.lower;
      answer.least = known.least;
      if (known.value < upper) {
        answer.value = known.value;
        answer.plan = known.plan;
      }
      return answer;
    }
  }
  answer.lower = single;
  if (sized(node.rows) && single < upper) {
    answer.value = single;
    answer.plan = Plan::leaf();
  }
  branch(node, depth, leaves, upper, level, answer);
  answer.least = std::min(answer.value, upper);
  const std::size_t size = sizeof(Entry) + 64 + answer.plan.nodes.size() * sizeof(PlanNode);
  if (level > 0 && cached_ + size < (o_.memory_limit > 0 ? o_.memory_limit : kCache)) {
    Entry& entry = cache_[key];
    entry = {answer.value, std::max(answer.lower, entry.lower), answer.least, answer.plan};
    cached_ += size;
  }
  return answer;
}

void Search::evaluate(const Node& node, int depth, int leaves, const Span& span, std::size_t place, double limit, int level, Answer sides[2]) {
  while (nodes_.size() <= static_cast<std::size_t>(level)) nodes_.push_back(std::make_unique<std::pair<Node, Node>>());
  auto& [left, right] = *nodes_[static_cast<std::size_t>(level)];
  part(node, span.feature, place, left, right);
  ++counters_.cuts;
  control_.poll(node.rows);
  // What a tree of both may lose is shared out as leaves of them would lose it, so that neither side is searched further
  // than it takes to show that the cut is not best.
  const double alone[2] = {leaf(left.sums.data(), kNone), leaf(right.sums.data(), kNone)};
  const double share = alone[0] + alone[1] > 0 ? alone[0] / (alone[0] + alone[1]) : 0.5;
  const double most[2] = {limit - span.right, limit - span.left};
  const double asked[2] = {std::min(most[0], std::max(span.left, limit * share * kGenerous)),
                           std::min(most[1], std::max(span.right, limit * (1 - share) * kGenerous))};
  sides[0] = solve(left, depth - 1, span.leaves, asked[0], level + 1);
  const double rest = sides[0].value < kNone ? limit - sides[0].value : std::max(limit - sides[0].least, asked[1]);
  sides[1] = solve(right, depth - 1, leaves - span.leaves, rest, level + 1);
  if (sides[0].value == kNone && sides[1].value < kNone && sides[0].least + sides[1].value < limit) {
    const double known = sides[0].lower;
    sides[0] = solve(left, depth - 1, span.leaves, limit - sides[1].value, level + 1);
    sides[0].lower = std::max(sides[0].lower, known);
  }
}

void Search::branch(const Node& node, int depth, int leaves, double upper, int level, Answer& answer) {
  ++counters_.nodes;
  std::vector<std::vector<std::uint32_t>> places(p_.base.features);
  std::vector<Span> heap;
  const int half = full_leaves(depth - 1);
  for (std::uint32_t f = 0; f < p_.base.features; ++f) {
    boundaries(node, f, places[f]);
    if (places[f].empty()) continue;
    for (int l = std::max(1, leaves - half); l <= std::min(half, leaves - 1); ++l)
      heap.push_back({f, 0, static_cast<std::uint32_t>(places[f].size()) + 1, l, p_.leaf_price, p_.leaf_price});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  const auto push = [&](const Span& span) {
    if (span.high - span.low < 2) return;
    heap.push_back(span);
    std::push_heap(heap.begin(), heap.end(), later);
  };
  const auto goal = [&] { return level == 0 ? std::min(answer.value, best_) : answer.value; };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Span span = heap.back();
    heap.pop_back();
    const double limit = std::min(goal(), upper) - tolerance_;
    if (level == 0) told(std::min(span.bound(), limit));
    const double cut_off = level == 0 && o_.relative_gap > 0 ? limit - o_.relative_gap * std::max(0.0, limit + floor_) : limit;
    if (span.bound() >= cut_off) {
      answer.lower = std::min(answer.lower, span.bound());
      counters_.pruned_interval += heap.size() + 1;
      return;
    }
    // The middle cut, or the nearest to it that leaves enough rows on both sides.
    const auto& at = places[span.feature];
    std::uint32_t middle = (span.low + span.high) / 2, cut = 0;
    for (std::uint32_t away = 0; away < span.high - span.low && cut == 0; ++away)
      for (int sign : {1, -1}) {
        const std::int64_t c = static_cast<std::int64_t>(middle) + sign * static_cast<std::int64_t>(away);
        if (c <= span.low || c >= span.high || cut != 0) continue;
        const std::size_t place = at[static_cast<std::size_t>(c) - 1];
        if (sized(place) && sized(node.rows - place)) cut = static_cast<std::uint32_t>(c);
      }
    if (cut == 0) {
      answer.lower = std::min(answer.lower, span.bound());
      continue;
    }
    Answer sides[2];
    evaluate(node, depth, leaves, span, at[cut - 1], limit, level, sides);
    Span low = span, high = span;
    low.high = high.low = cut;
    low.right = std::max(span.right, sides[1].lower);
    high.left = std::max(span.left, sides[0].lower);
    answer.lower = std::min(answer.lower, std::max(sides[0].lower, span.left) + std::max(sides[1].lower, span.right));
    const double value = sides[0].value + sides[1].value;
    if (value < limit) {
      answer.value = value;
      const std::uint32_t* rank = p_.base.ranks(span.feature);
      const std::uint32_t bound = rank[node.of(span.feature)[at[cut - 1]]];
      answer.plan = Plan::split(static_cast<int>(span.feature), bound, sides[0].plan, sides[1].plan);
      if (level == 0) {
        best_ = value;
        plan_ = answer.plan;
        result_.timeline.push_back({control_.seconds(), best_ + floor_, bound_ + floor_});
        if (o_.progress) o_.progress(result_.timeline.back());
      }
    }
    push(low);
    push(high);
  }
  if (level == 0) told(std::min(goal(), upper));
}

void Search::told(double bound) { bound_ = std::max(bound_, bound); }

// The loss of a given tree above the floor; `fits` turns false where a leaf has too few rows or a cut parts nothing.
double Search::value_of(const Tree& tree, std::size_t at, const std::vector<std::uint32_t>& rows, bool& fits) {
  const TreeNode& node = tree.nodes.at(at);
  if (rows.empty()) fits = false;
  if (!fits) return kNone;
  if (node.feature < 0) {
    fits = sized(rows.size());
    std::vector<double> sums(width_, 0.0);
    for (std::uint32_t i : rows)
      for (std::size_t k = 0; k < width_; ++k) sums[k] += row_[i * width_ + k];
    return leaf(sums.data(), kNone);
  }
  std::vector<std::uint32_t> sides[2];
  const std::uint32_t* rank = p_.base.ranks(static_cast<std::size_t>(node.feature));
  for (std::uint32_t i : rows) sides[rank[i] <= node.cut ? 0 : 1].push_back(i);
  const double left = value_of(tree, static_cast<std::size_t>(node.left), sides[0], fits);
  return left + value_of(tree, static_cast<std::size_t>(node.right), sides[1], fits);
}

// The plan as a tree, with the outputs and the loss of its leaves.
void Search::finish(const Plan& plan, RegressionResult& result) {
  const Problem& b = p_.base;
  result.value = 0;
  std::vector<std::vector<std::uint32_t>> rows{std::vector<std::uint32_t>(b.rows)};
  std::iota(rows[0].begin(), rows[0].end(), 0u);
  std::vector<int> from{0};
  result.tree.nodes.assign(1, TreeNode{});
  for (std::size_t k = 0; k < from.size(); ++k) {
    const PlanNode& step = plan.nodes[static_cast<std::size_t>(from[k])];
    if (step.feature < 0) continue;
    const std::size_t f = static_cast<std::size_t>(step.feature);
    const std::uint32_t* rank = b.ranks(f);
    std::vector<std::uint32_t> sides[2];
    std::uint32_t low = 0, high = b.distinct[f];
    for (std::uint32_t i : rows[k]) {
      sides[rank[i] < step.bound ? 0 : 1].push_back(i);
      if (rank[i] < step.bound)
        low = std::max(low, rank[i]);
      else
        high = std::min(high, rank[i]);
    }
    std::uint32_t cut = low;
    while (cut + 1 < high && counts_[f][cut + 1] == counts_[f][cut]) ++cut;
    TreeNode& node = result.tree.nodes[k];
    node.feature = step.feature;
    node.cut = cut;
    node.next = high;
    node.left = static_cast<int>(result.tree.nodes.size());
    node.right = node.left + 1;
    from.push_back(step.left);
    from.push_back(step.right);
    rows.push_back(std::move(sides[0]));
    rows.push_back(std::move(sides[1]));
    result.tree.nodes.resize(from.size());
  }
  result.output.assign(from.size() * n_, 0.0);
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (result.tree.nodes[k].feature >= 0) continue;
    OutputSums sums;
    leaf_.clear(sums);
    for (std::uint32_t i : rows[k]) leaf_.add(sums, i);
    result.value += leaf_.fill(rows[k], sums, leaf_.free(sums), kNone, output_) + p_.leaf_price;
    std::copy(output_.begin(), output_.end(), result.output.begin() + static_cast<std::ptrdiff_t>(k * n_));
  }
}

RegressionResult Search::run() {
  const Node whole = root();
  floor_ = whole.sums[1];
  tolerance_ = 1e-11 * (free(whole.sums.data()) + std::fabs(floor_)) + 1e-290;
  const double asked = o_.upper_bound == kNone ? kNone : o_.upper_bound - floor_ + 2 * tolerance_;
  const int depth = p_.base.depth, most = full_leaves(depth), leaves = p_.base.leaves > 0 ? std::min(p_.base.leaves, most) : most;
  bool stopped = false;
  const double single = leaf(whole.sums.data(), kNone);
  if (sized(whole.rows) && single < asked) {
    best_ = single;
    plan_ = Plan::leaf();
  }
  if (!o_.start.empty()) {
    bool fits = true;
    std::vector<std::uint32_t> rows = used_;
    const double value = value_of(o_.start, 0, rows, fits);
    if (fits && value < std::min(best_, asked)) {
      best_ = value;
      plan_.nodes.clear();
      for (const TreeNode& node : o_.start.nodes) {
        PlanNode step;
        step.feature = node.feature;
        step.bound = node.cut + 1;
        step.left = node.left;
        step.right = node.right;
        plan_.nodes.push_back(step);
      }
    }
  }
  Answer answer;
  try {
    control_.check();
    answer = solve(whole, depth, leaves, std::min(best_, asked), 0);
    if (answer.value < best_) {
      best_ = answer.value;
      plan_ = answer.plan;
    }
  } catch (const Stop&) {
    stopped = true;
  }
  result_.seconds = control_.seconds();
  counters_.cache_entries = cache_.size();
  result_.counters = counters_;
  const bool any = best_ < kNone;
  if (any) finish(plan_, result_);
  if (stopped) {
    result_.bound = std::min(bound_ + floor_, any ? result_.value : kNone);
    result_.status = any ? Status::feasible : Status::unknown;
  } else if (!any) {
    result_.bound = o_.upper_bound;
    result_.status = Status::infeasible;
  } else {
    const double proven = o_.relative_gap > 0 && depth > 1 ? bound_ + floor_ : result_.value;
    result_.bound = std::min(proven, result_.value);
    result_.status = result_.value - result_.bound <= 4 * tolerance_ ? Status::optimal : Status::feasible;
    if (result_.status == Status::optimal) result_.bound = result_.value;
  }
  return std::move(result_);
}

}  // namespace

RegressionResult solve_outputs(const OutputProblem& problem, const OutputOptions& options) {
  Options limits;
  limits.time_limit = options.time_limit;
  limits.interrupted = options.interrupted;
  Control control(limits);
  return Search(problem, options, control).run();
}

}  // namespace odt
