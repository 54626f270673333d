#include "odt/diagram_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "odt/lanes.hpp"

namespace odt {

namespace {

using Eight = std::int16_t __attribute__((vector_size(16)));

ODT_INLINE std::int16_t least_lane(Eight x) {
  using Four = std::int16_t __attribute__((vector_size(8)));
  Four halves[2];
  std::memcpy(halves, &x, sizeof halves);
  const Four y = halves[0] < halves[1] ? halves[0] : halves[1];
  return std::min(std::min<std::int16_t>(y[0], y[1]), std::min<std::int16_t>(y[2], y[3]));
}

struct Least {
  Loss lost = kInfinite;  // in units
  int label = 0;
};

// The label by which rows on a side of a test lose least; the first, where there are none.
ODT_POPCNT
Least least_lost(const std::uint64_t* rows, const std::uint64_t* left, std::uint64_t flip,
                 const std::uint64_t* plane, std::size_t words, std::size_t planes, int labels) {
  std::uint64_t here[kMostLayeredRows / 64];
  for (std::size_t w = 0; w < words; ++w) here[w] = rows[w] & (left[w] ^ flip);
  Least least;
  for (int c = 0; c < labels; ++c) {
    Loss sum = 0;
    for (std::size_t b = 0; b < planes; ++b) {
      int many = 0;
      for (std::size_t w = 0; w < words; ++w) many += __builtin_popcountll(here[w] & *plane++);
      sum += static_cast<Loss>(many) << b;
    }
    if (sum < least.lost) least = {sum, c};
  }
  return least;
}

}  // namespace

DiagramAnnealing::DiagramAnnealing(const LayeredProblem& table, std::vector<int> widths, Loss price,
                                   std::uint64_t seed, Control& control)
    : p_(table),
      widths_(std::move(widths)),
      price_(price),
      state_(seed),
      control_(control),
      words_((table.rows + 63) / 64) {
  words_ = words_ <= 2 ? 2 : words_ <= 4 ? 4 : 8;
  first_.assign(1, 0);
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    first_.push_back(first_.back() + static_cast<std::size_t>(widths_[l]));
    layer_.resize(first_.back(), l);
  }
  node_.assign(first_.back(), {});
  loss_.assign(node_.size(), 0);
  next_loss_ = loss_;
  rows_.assign(node_.size() * words_, 0);
  for (std::size_t i = 0; i < p_.rows; ++i) rows_[i / 64] |= Word{1} << (i % 64);
  next_ = rows_;
  sums_.resize(widths_.size());
  next_sums_ = sums_;
  cuts_.resize(p_.features);
  for (std::size_t f = 0; f < p_.features; ++f) {
    const std::size_t from = side_.size();
    first_side_.push_back(from / words_);
    side_.resize(from + p_.distinct[f] * words_, 0);
    for (std::size_t i = 0; i < p_.rows; ++i)
      for (std::size_t r = p_.rank[f * p_.rows + i]; r < p_.distinct[f]; ++r)
        side_[from + r * words_ + i / 64] |= Word{1} << (i % 64);
    for (std::uint32_t c = 0; c + 1 < p_.distinct[f]; ++c)
      if (p_.allowed[f].empty() || p_.allowed[f][c]) cuts_[f].push_back(c);
    if (!cuts_[f].empty()) splitting_.push_back(f);
    control_.poll(p_.rows * p_.distinct[f] / 8);
  }
  std::vector<Loss> losses;
  for (Loss x : p_.loss) {
    unit_ = std::gcd(unit_, x);
    if (x > 0) losses.push_back(x);
  }
  unit_ = std::max<Loss>(1, unit_);
  std::sort(losses.begin(), losses.end());
  const Loss usual = losses.empty() ? 1 : losses[losses.size() / 2];
  heat_ = static_cast<double>(std::max({Loss{1}, price_, usual}));
  const Loss most = *std::max_element(p_.loss.begin(), p_.loss.end()) / unit_;
  while (most >> planes_ > 0) ++planes_;
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  plane_.assign(labels * planes_ * words_, 0);
  prepare_draws();
  for (std::size_t i = 0; i < p_.rows; ++i)
    for (std::size_t c = 0; c < labels; ++c)
      for (std::size_t b = 0; b < planes_; ++b)
        if (p_.loss[i * labels + c] / unit_ >> b & 1)
          plane_[(c * planes_ + b) * words_ + i / 64] |= Word{1} << (i % 64);
}

// Losses by sixteen bits, rounded down where they must be: all in a sum of `kMostSum` at most.
void DiagramAnnealing::prepare_draws() {
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  Loss sum = 0;
  for (std::size_t i = 0; i < p_.rows; ++i)
    sum += *std::max_element(p_.loss.begin() + static_cast<std::ptrdiff_t>(i * labels),
                             p_.loss.begin() + static_cast<std::ptrdiff_t>((i + 1) * labels));
  scale_ = std::max(unit_, sum / kMostSum + 1);
  eights_ = (p_.rows + 7) / 8;
  label_cost_.resize(labels * eights_);
  cost_.resize(node_.size() * eights_);
  rank_.resize(p_.features * eights_);
  of_row_.resize(p_.rows);
  spread_.resize(p_.rows);
  for (std::size_t i = 0; i < p_.rows; ++i) {
    for (std::size_t c = 0; c < labels; ++c)
      label_cost_[c * eights_ + i / 8][i % 8] =
          static_cast<std::int16_t>(p_.loss[i * labels + c] / scale_);
    for (std::size_t f = 0; f < p_.features; ++f)
      rank_[f * eights_ + i / 8][i % 8] = static_cast<std::int16_t>(p_.rank[f * p_.rows + i]);
  }
  order_.resize(p_.features * p_.rows);
  for (std::size_t f = 0; f < p_.features; ++f) {
    const auto from = order_.begin() + static_cast<std::ptrdiff_t>(f * p_.rows);
    const auto to = from + static_cast<std::ptrdiff_t>(p_.rows);
    const std::uint32_t* at = p_.rank.data() + f * p_.rows;
    std::iota(from, to, std::uint16_t{0});
    std::stable_sort(from, to, [at](std::uint16_t a, std::uint16_t b) { return at[a] < at[b]; });
    control_.poll(p_.rows);
  }
}

bool DiagramAnnealing::takes(const LayeredProblem& table) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  if (table.rows > kMostLayeredRows) return false;
  std::size_t ranks = 0, able = 0;
  for (std::size_t f = 0; f < table.features; ++f) {
    ranks += table.distinct[f];
    for (std::uint32_t c = 0; c + 1 < table.distinct[f]; ++c)
      able += table.allowed[f].empty() || table.allowed[f][c];
  }
  return able > 0 && ranks <= kMostBytes / (kMostLayeredRows / 8);
}

// As the dice, in a fourth of their time (splitmix64).
double DiagramAnnealing::real() {
  state_ += 0x9e3779b97f4a7c15;
  Word x = state_;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((x ^ x >> 31) >> 11) * (1.0 / 9007199254740992.0);
}

bool DiagramAnnealing::empty(std::size_t place) const {
  Word any = 0;
  for (std::size_t w = 0; w < words_; ++w) any |= rows_[place * words_ + w];
  return any == 0;
}

// The rows of the places below a layer, and what ends there, as the nodes are now; the value, or
// more than `most`.
template <std::size_t W>
Loss DiagramAnnealing::follow(std::size_t layer, Loss most) {
  Loss total = 0;
  for (std::size_t l = 0; l < layer; ++l) total += sums_[l];
  for (std::size_t l = layer; l < widths_.size(); ++l) {
    const Word* here = (l == layer ? rows_ : next_).data();
    Word* below = next_.data() + first_[l + 1] * W;
    if (l + 1 < widths_.size()) std::fill(below, next_.data() + first_[l + 2] * W, 0);
    const Loss above = total;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k) {
      const Word* rows = here + k * W;
      Word any = 0;
      for (std::size_t w = 0; w < W; ++w) any |= rows[w];
      if (any == 0) continue;
      const Node& n = node_[k];
      const Word* left = side(n);
      Word other = 0;
      if (l > layer)
        for (std::size_t w = 0; w < W; ++w) other |= rows[w] ^ rows_[k * W + w];
      // with other rows or another test it loses anew what ends here
      const bool anew = n.fresh || other != 0;
      if (anew) {
        Loss lost = 0;
        for (const Word flip : {Word{0}, ~Word{0}})
          if ((flip ? n.right : n.left) < 0)
            lost += least_lost(rows, left, flip, plane_.data(), W, planes_, p_.labels).lost;
        next_loss_[k] = lost * unit_;
      } else {
        next_loss_[k] = loss_[k];
      }
      total += price_ + next_loss_[k];
      if (total > most) return total;
      if (n.left >= 0) {
        Word* to = below + static_cast<std::size_t>(n.left) * W;
        for (std::size_t w = 0; w < W; ++w) to[w] |= rows[w] & left[w];
      }
      if (n.right >= 0) {
        Word* to = below + static_cast<std::size_t>(n.right) * W;
        for (std::size_t w = 0; w < W; ++w) to[w] |= rows[w] & ~left[w];
      }
    }
    next_sums_[l] = total - above;
  }
  return total;
}

// What `follow` found takes the place of what was.
void DiagramAnnealing::keep(std::size_t layer) {
  const auto from = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
  if (layer + 1 < widths_.size())
    std::copy(next_.begin() + from(first_[layer + 1] * words_), next_.end(),
              rows_.begin() + from(first_[layer + 1] * words_));
  std::copy(next_sums_.begin() + from(layer), next_sums_.end(), sums_.begin() + from(layer));
  std::copy(next_loss_.begin() + from(first_[layer]), next_loss_.end(),
            loss_.begin() + from(first_[layer]));
}

int DiagramAnnealing::any_arc(std::size_t layer) {
  const std::size_t below =
      layer + 1 < widths_.size() ? static_cast<std::size_t>(widths_[layer + 1]) : 0;
  return below > 0 && real() < 0.7 ? static_cast<int>(pick(below)) : -1;
}

// A cut of a feature at random, next to one of the rows of a place.
void DiagramAnnealing::new_test(std::size_t place, std::size_t rows_of) {
  Node& n = node_[place];
  const std::size_t f = splitting_[pick(splitting_.size())];
  std::size_t row = pick(p_.rows);
  const Word* rows = rows_.data() + rows_of * words_;
  for (int tries = 0; tries < 24 && !(rows[row / 64] >> (row % 64) & 1); ++tries)
    row = pick(p_.rows);
  const auto& cuts = cuts_[f];
  const std::uint32_t rank = p_.rank[f * p_.rows + row];
  const std::size_t at =
      static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), rank) - cuts.begin());
  n.feature = static_cast<int>(f);
  n.cut = cuts[std::min(at, cuts.size() - 1)];
}

void DiagramAnnealing::touch(std::size_t place) {
  undo_.push_back({place, node_[place]});
  node_[place].fresh = true;
}

// Something small about a node.
void DiagramAnnealing::change(std::size_t place) {
  const std::size_t l = layer_[place];
  touch(place);
  Node& n = node_[place];
  const double what = real();
  if (what < 0.4) {  // a shifted cut
    const auto& cuts = cuts_[static_cast<std::size_t>(n.feature)];
    if (cuts.size() > 1) {
      const std::size_t at = static_cast<std::size_t>(
          std::lower_bound(cuts.begin(), cuts.end(), n.cut) - cuts.begin());
      const std::size_t far =
          static_cast<std::size_t>(std::exp(real() * std::log(static_cast<double>(cuts.size()))));
      const bool down = real() < 0.5;
      if (down ? far <= at : at + far < cuts.size()) n.cut = cuts[down ? at - far : at + far];
      return;
    }
  }
  if (what < 0.65) {
    new_test(place, place);
    if (real() < 0.3) std::swap(n.left, n.right);
    return;
  }
  int& arc = real() < 0.5 ? n.left : n.right;
  const int before = arc;
  arc = any_arc(l);
  if (arc < 0) return;
  const std::size_t below = first_[l + 1] + static_cast<std::size_t>(arc);
  if (!empty(below)) return;
  // a place that is free: like the node before it, or a test of the rows above
  touch(below);
  Node& m = node_[below];
  if (before >= 0) {
    const Node& old = node_[first_[l + 1] + static_cast<std::size_t>(before)];
    m.left = old.left;
    m.right = old.right;
    m.feature = old.feature;
    m.cut = old.cut;
    if (real() < 0.5) {
      (real() < 0.5 ? m.left : m.right) = any_arc(l + 1);
    } else {
      new_test(below, first_[l + 1] + static_cast<std::size_t>(before));
    }
  } else {
    m.left = before;
    m.right = any_arc(l + 1);
    if (real() < 0.5) std::swap(m.left, m.right);
    new_test(below, place);
  }
}

// What each row loses from each place below a layer on. Where no row comes to, `rows` choose the
// labels.
void DiagramAnnealing::costs_below(std::size_t layer, const Word* rows) {
  for (std::size_t k = node_.size(); k-- > first_[layer + 1];) {
    const Node& n = node_[k];
    const Word* own = empty(k) ? rows : rows_.data() + k * words_;
    const Eight* from[2];
    for (const bool right : {false, true}) {
      const int arc = right ? n.right : n.left;
      from[right] = end(layer_[k], arc >= 0 ? arc : ~label(k, own, right));
    }
    const Eight* at = rank_.data() + static_cast<std::size_t>(n.feature) * eights_;
    Eight* to = cost_.data() + k * eights_;
    const std::int16_t cut = static_cast<std::int16_t>(n.cut);
    for (std::size_t i = 0; i < eights_; ++i) {
      const Eight left = at[i] <= cut;
      to[i] = (from[0][i] & left) | (from[1][i] & ~left);
    }
  }
}

// Up to eight ends of the arcs of a place, what rows lose by each, and what opening it costs; the
// rows to which it matters.
void DiagramAnnealing::gather(std::size_t place, const Word* rows) {
  const std::size_t l = layer_[place];
  ends_.clear();
  for (int c = 0; c < p_.labels; ++c) ends_.push_back(~c);
  for (int t = 0; l + 1 < widths_.size() && t < widths_[l + 1]; ++t) ends_.push_back(t);
  for (std::size_t e = 0; e < ends_.size() && e < 8; ++e)
    std::swap(ends_[e], ends_[e + pick(ends_.size() - e)]);
  if (ends_.size() > 8) ends_.resize(8);
  open_ = Eight{};
  for (std::size_t e = 0; e < 8; ++e) {
    const int to = ends_[std::min(e, ends_.size() - 1)];
    const Eight* cost = end(l, to);
    for (std::size_t i = 0; i < p_.rows; ++i) of_row_[i][e] = cost[i / 8][i % 8];
    bool met = to < 0;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k)
      met |= k != place && !empty(k) && (node_[k].left == to || node_[k].right == to);
    if (!met) open_[e] = static_cast<std::int16_t>(std::min(price_ / scale_, kMostSum / 2));
  }
  total_ = open_ + open_;
  for (std::size_t i = 0; i < p_.rows; ++i) {
    spread_[i] = 0;
    if (!(rows[i / 64] >> (i % 64) & 1)) continue;
    const Eight& cost = of_row_[i];
    std::int16_t low = cost[0], high = cost[0];
    for (std::size_t e = 1; e < ends_.size(); ++e) {
      low = std::min<std::int16_t>(low, cost[e]);
      high = std::max<std::int16_t>(high, cost[e]);
    }
    spread_[i] = static_cast<std::int16_t>(high - low);
    if (spread_[i] > 0) total_ += cost;
  }
}

// A place gets a test of a few features, and ends of its arcs, at random among those by which
// `rows` lose at most `slack` more than by the best.
void DiagramAnnealing::draw(std::size_t place, const Word* rows, Loss slack) {
  costs_below(layer_[place], rows);
  gather(place, rows);
  const Loss room = slack / scale_;
  Loss least = kInfinite, most = kInfinite, drawn = kInfinite;
  std::size_t many = 0, have = 0;
  Node& n = node_[place];
  const std::size_t own = static_cast<std::size_t>(n.feature);
  std::uint16_t order[kMostLayeredRows];
  for (std::size_t q = 0; q < std::min(kSome, splitting_.size()); ++q) {
    std::swap(splitting_[q], splitting_[q + pick(splitting_.size() - q)]);
    const std::size_t f = q == 0 ? own : splitting_[q];
    have = 0;
    for (std::size_t i = f * p_.rows; i < (f + 1) * p_.rows; ++i) {
      order[have] = order_[i];
      have += spread_[order_[i]] > 0;
    }
    const std::uint32_t* at = p_.rank.data() + f * p_.rows;
    Eight low = open_;
    Loss over = 0;  // a row lowers what the next cut loses by no more than its spread
    for (std::size_t i = 0; i + 1 < have; ++i) {
      low += of_row_[order[i]];
      over -= spread_[order[i]];
      const std::uint32_t here = at[order[i]], next = at[order[i + 1]];
      if (over > 0 || here == next) continue;
      const Eight high = total_ - low;
      const std::int16_t left = least_lane(low), right = least_lane(high);
      const Loss lost = Loss{left} + right;
      over = lost - most;
      if (over > 0) continue;
      std::size_t l = 0, h = 0;
      while (low[l] != left) ++l;
      while (high[h] != right) ++h;
      if (l == h) continue;
      if (lost < least) {
        least = lost;
        if (drawn > (most = lost + room)) many = 0;
      }
      if (pick(++many) > 0) continue;
      const auto from = std::lower_bound(cuts_[f].begin(), cuts_[f].end(), here);
      const auto to = std::lower_bound(from, cuts_[f].end(), next);
      if (from == to) continue;
      drawn = lost;
      n.feature = static_cast<int>(f);
      n.cut = from[static_cast<std::ptrdiff_t>(pick(static_cast<std::size_t>(to - from)))];
      n.left = std::max(-1, ends_[l]);
      n.right = std::max(-1, ends_[h]);
    }
  }
}

// Nodes at random everywhere.
void DiagramAnnealing::begin() {
  for (std::size_t k = 0; k < node_.size(); ++k) {
    new_test(k, 0);
    node_[k].left = any_arc(layer_[k]);
    node_[k].right = any_arc(layer_[k]);
    node_[k].fresh = true;
  }
}

// A diagram, with what is at random in the places that it leaves free.
void DiagramAnnealing::begin_from(const Layers& from) {
  begin();
  for (std::size_t l = 0; l < from.size(); ++l)
    for (std::size_t k = 0; k < from[l].size(); ++k) {
      Node& n = node_[first_[l] + k];
      static_cast<LayeredNode&>(n) = from[l][k];
      n.left = std::max(n.left, -1);
      n.right = std::max(n.right, -1);
    }
}

// By which the rows on a side of a node lose least.
int DiagramAnnealing::label(std::size_t place, const Word* rows, bool right) const {
  return least_lost(rows, side(node_[place]), right ? ~Word{0} : 0, plane_.data(), words_, planes_,
                    p_.labels)
      .label;
}

Layers DiagramAnnealing::layers() const {
  std::vector<int> number(node_.size(), -1);
  Layers found;
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    int count = 0;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k)
      if (!empty(k)) number[k] = count++;
  }
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    std::vector<LayeredNode> layer;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k) {
      if (number[k] < 0) continue;
      LayeredNode n = node_[k];
      for (bool right : {false, true}) {
        int& arc = right ? n.right : n.left;
        const int to = arc < 0 ? -1 : number[first_[l + 1] + static_cast<std::size_t>(arc)];
        arc = to >= 0 ? to : ~label(k, rows_.data() + k * words_, right);
      }
      layer.push_back(n);
    }
    if (layer.empty()) break;
    found.push_back(std::move(layer));
  }
  return found;
}

Layers DiagramAnnealing::cool(const Layers& from) {
  constexpr double kWarm = 0.4, kWarmAgain = 0.25;
  begin_from(from);
  const double warm = from.empty() ? kWarm : kWarmAgain;
  return words_ == 2   ? cool_words<2>(warm)
         : words_ == 4 ? cool_words<4>(warm)
                       : cool_words<8>(warm);
}

template <std::size_t W>
Layers DiagramAnnealing::cool_words(double warm) {
  constexpr double kCold = 0.2, kDraws = 0.08;
  constexpr std::size_t kMostSteps = 600'000, kSteps = 150, kBlock = 256;
  const std::size_t sums = plane_.size() / W;  // of a side that ends; usually 2
  const std::size_t steps = std::min(kMostSteps, kSteps * p_.rows * splitting_.size());
  Loss now = value_ = follow<W>(0, kInfinite);
  keep(0);
  for (Node& n : node_) n.fresh = false;
  Layers kept = layers();
  double heat = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (step % kBlock == 0) {
      const double part = static_cast<double>(step) / static_cast<double>(steps);
      heat = heat_ * warm * std::pow(kCold / warm, part);
      control_.poll(kBlock * (W * node_.size() * (sums + 2) + p_.rows) / 4);
    }
    std::size_t at = pick(node_.size());
    while (empty(at)) at = pick(node_.size());
    const Loss slack = static_cast<Loss>(-heat * std::log(1 - real()));
    const Loss most = now + slack;
    const std::size_t layer = layer_[at];
    undo_.clear();
    if (real() < kDraws) {
      touch(at);
      draw(at, rows_.data() + at * W, slack);
    } else {
      change(at);
    }
    const Loss then = follow<W>(layer, most);
    if (then > most) {
      for (const auto& [place, node] : undo_) node_[place] = node;
      continue;
    }
    for (const auto& one : undo_) node_[one.first].fresh = false;
    keep(layer);
    now = then;
    if (now < value_) {
      value_ = now;
      kept = layers();
    }
  }
  return kept;
}

}  // namespace odt
