#include "odt/diagram_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "odt/lanes.hpp"

namespace odt {

namespace {

// What rows on a side of a test lose by the label by which they lose least, in units.
ODT_POPCNT
Loss least_lost(const std::uint64_t* rows, const std::uint64_t* left, std::uint64_t flip,
                const std::uint64_t* plane, std::size_t words, std::size_t planes,
                std::size_t labels) {
  std::uint64_t here[kMostLayeredRows / 64];
  for (std::size_t w = 0; w < words; ++w) here[w] = rows[w] & (left[w] ^ flip);
  Loss least = kInfinite;
  for (std::size_t c = 0; c < labels; ++c) {
    Loss sum = 0;
    for (std::size_t b = 0; b < planes; ++b) {
      int many = 0;
      for (std::size_t w = 0; w < words; ++w) many += __builtin_popcountll(here[w] & *plane++);
      sum += static_cast<Loss>(many) << b;
    }
    least = std::min(least, sum);
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
  for (std::size_t i = 0; i < p_.rows; ++i)
    for (std::size_t c = 0; c < labels; ++c)
      for (std::size_t b = 0; b < planes_; ++b)
        if (p_.loss[i * labels + c] / unit_ >> b & 1)
          plane_[(c * planes_ + b) * words_ + i / 64] |= Word{1} << (i % 64);
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
        const std::size_t labels = static_cast<std::size_t>(p_.labels);
        for (const bool right : {false, true})
          if ((right ? n.right : n.left) < 0)
            lost += least_lost(rows, left, right ? ~Word{0} : 0, plane_.data(), W, planes_, labels);
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

// Something small about a node; returns its layer.
std::size_t DiagramAnnealing::change(std::size_t place) {
  const std::size_t l = layer_[place];
  undo_.clear();
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
      return l;
    }
  }
  if (what < 0.65) {
    new_test(place, place);
    if (real() < 0.3) std::swap(n.left, n.right);
    return l;
  }
  int& arc = real() < 0.5 ? n.left : n.right;
  const int before = arc;
  arc = any_arc(l);
  if (arc < 0) return l;
  const std::size_t below = first_[l + 1] + static_cast<std::size_t>(arc);
  if (!empty(below)) return l;
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
  return l;
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

// By which the rows on a side of a node lose least; the first, where there are none.
int DiagramAnnealing::label(std::size_t place, bool right) const {
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  const Word *rows = rows_.data() + place * words_, *left = side(node_[place]);
  std::vector<Loss> sum(labels, 0);
  for (std::size_t i = 0; i < p_.rows; ++i) {
    const Word on = (left[i / 64] ^ (right ? ~Word{0} : 0)) & rows[i / 64];
    for (std::size_t c = 0; on >> (i % 64) & 1 && c < labels; ++c)
      sum[c] += p_.loss[i * labels + c];
  }
  return static_cast<int>(std::min_element(sum.begin(), sum.end()) - sum.begin());
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
        arc = to >= 0 ? to : ~label(k, right);
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
  constexpr double kCold = 0.08;
  constexpr std::size_t kMostSteps = 600'000, kSteps = 600, kBlock = 256;
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
      control_.poll(kBlock * W * node_.size() * (sums + 2) / 4);
    }
    std::size_t at = pick(node_.size());
    while (empty(at)) at = pick(node_.size());
    const std::size_t layer = change(at);
    const Loss most = now + static_cast<Loss>(-heat * std::log(1 - real()));
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
