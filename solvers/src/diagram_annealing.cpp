#include "odt/diagram_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace odt {

DiagramAnnealing::DiagramAnnealing(const LayeredProblem& table, std::vector<int> widths, Loss price,
                                   Dice& dice, Control& control)
    : p_(table),
      widths_(std::move(widths)),
      price_(price),
      dice_(dice),
      control_(control),
      words_((table.rows + 63) / 64) {
  first_.assign(1, 0);
  for (int width : widths_) first_.push_back(first_.back() + static_cast<std::size_t>(width));
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
}

bool DiagramAnnealing::takes(const LayeredProblem& table) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  if (table.rows > kMostLayeredRows || table.labels > kMostLayeredLabels) return false;
  std::size_t ranks = 0, able = 0;
  for (std::size_t f = 0; f < table.features; ++f) {
    ranks += table.distinct[f];
    for (std::uint32_t c = 0; c + 1 < table.distinct[f]; ++c)
      able += table.allowed[f].empty() || table.allowed[f][c];
  }
  return able > 0 && ranks * ((table.rows + 63) / 64) <= kMostBytes / sizeof(Word);
}

std::size_t DiagramAnnealing::layer_of(std::size_t place) const {
  std::size_t layer = 0;
  while (place >= first_[layer + 1]) ++layer;
  return layer;
}

bool DiagramAnnealing::empty(const Word* rows) const {
  Word any = 0;
  for (std::size_t w = 0; w < words_; ++w) any |= rows[w];
  return any == 0;
}

// What rows lose where they end, by the label by which they lose least.
Loss DiagramAnnealing::lost(const Word* rows) const {
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  Loss sum[kMostLayeredLabels] = {};
  for (std::size_t w = 0; w < words_; ++w)
    for (Word left = rows[w]; left; left &= left - 1) {
      const Loss* loss =
          p_.loss.data() + (w * 64 + static_cast<std::size_t>(__builtin_ctzll(left))) * labels;
      for (std::size_t c = 0; c < labels; ++c) sum[c] += loss[c];
    }
  return *std::min_element(sum, sum + labels);
}

bool DiagramAnnealing::changed(std::size_t place) const {
  for (const auto& one : undo_)
    if (one.first == place) return true;
  return false;
}

// The rows of the places below a layer, and what ends there, as the nodes are now; the value, or
// more than `most`.
Loss DiagramAnnealing::follow(std::size_t layer, Loss most) {
  constexpr std::size_t kMost = kMostLayeredRows / 64;
  Word ended[kMost];
  Loss total = 0;
  for (std::size_t l = 0; l < layer; ++l) total += sums_[l];
  for (std::size_t l = layer; l < widths_.size(); ++l) {
    const Word* here = (l == layer ? rows_ : next_).data();
    if (l + 1 < widths_.size())
      std::fill(next_.begin() + static_cast<std::ptrdiff_t>(first_[l + 1] * words_),
                next_.begin() + static_cast<std::ptrdiff_t>(first_[l + 2] * words_), 0);
    const Loss above = total;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k) {
      const Word* rows = here + k * words_;
      if (empty(rows)) continue;
      total += price_;
      const LayeredNode& n = node_[k];
      const Word* left = side(n);
      // with other rows or another node it loses anew what ends here
      const bool anew = changed(k) || (l > layer && !std::equal(rows, rows + words_,
                                                                rows_.data() + k * words_));
      Loss& loss = next_loss_[k] = loss_[k];
      if (anew) loss = 0;
      for (bool right : {false, true}) {
        const Word flip = right ? ~Word{0} : 0;
        const int arc = right ? n.right : n.left;
        if (arc >= 0) {
          Word* to = next_.data() + (first_[l + 1] + static_cast<std::size_t>(arc)) * words_;
          for (std::size_t w = 0; w < words_; ++w) to[w] |= rows[w] & (left[w] ^ flip);
        } else if (anew) {
          for (std::size_t w = 0; w < words_; ++w) ended[w] = rows[w] & (left[w] ^ flip);
          loss += lost(ended);
        }
      }
      total += loss;
      if (total > most) return total;
    }
    next_sums_[l] = total - above;
  }
  return total;
}

// What `follow` found takes the place of what was.
void DiagramAnnealing::keep(std::size_t layer) {
  if (layer + 1 < widths_.size())
    std::copy(next_.begin() + static_cast<std::ptrdiff_t>(first_[layer + 1] * words_), next_.end(),
              rows_.begin() + static_cast<std::ptrdiff_t>(first_[layer + 1] * words_));
  for (std::size_t l = layer; l < widths_.size(); ++l) sums_[l] = next_sums_[l];
  std::copy(next_loss_.begin() + static_cast<std::ptrdiff_t>(first_[layer]), next_loss_.end(),
            loss_.begin() + static_cast<std::ptrdiff_t>(first_[layer]));
}

int DiagramAnnealing::any_arc(std::size_t layer) {
  const std::size_t below =
      layer + 1 < widths_.size() ? static_cast<std::size_t>(widths_[layer + 1]) : 0;
  return below > 0 && dice_.real() < 0.7 ? static_cast<int>(dice_.below(below)) : -1;
}

// A cut of a feature at random, next to one of the rows of the place.
void DiagramAnnealing::new_test(std::size_t place) {
  LayeredNode& n = node_[place];
  const std::size_t f = splitting_[dice_.below(splitting_.size())];
  std::size_t row = dice_.below(p_.rows);
  for (int tries = 0; tries < 24; ++tries) {
    if (rows_[place * words_ + row / 64] >> (row % 64) & 1) break;
    row = dice_.below(p_.rows);
  }
  const auto& cuts = cuts_[f];
  const std::uint32_t rank = p_.rank[f * p_.rows + row];
  const std::size_t at =
      static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), rank) - cuts.begin());
  n.feature = static_cast<int>(f);
  n.cut = cuts[std::min(at, cuts.size() - 1)];
}

// Something small about a node; returns the layer of the first node that changed.
std::size_t DiagramAnnealing::change(std::size_t place) {
  const std::size_t l = layer_of(place);
  LayeredNode& n = node_[place];
  undo_.assign(1, {place, n});
  const double what = dice_.real();
  if (what < 0.4) {  // a shifted cut
    const auto& cuts = cuts_[static_cast<std::size_t>(n.feature)];
    if (cuts.size() > 1) {
      const std::size_t at = static_cast<std::size_t>(
          std::lower_bound(cuts.begin(), cuts.end(), n.cut) - cuts.begin());
      const std::size_t far = static_cast<std::size_t>(
          std::exp(dice_.real() * std::log(static_cast<double>(cuts.size()))));
      const bool down = dice_.real() < 0.5;
      if (down ? far <= at : at + far < cuts.size()) n.cut = cuts[down ? at - far : at + far];
      return l;
    }
  }
  if (what < 0.65) {
    new_test(place);
    if (dice_.real() < 0.3) std::swap(n.left, n.right);
    return l;
  }
  int& arc = dice_.real() < 0.5 ? n.left : n.right;
  const int before = arc;
  arc = any_arc(l);
  if (arc < 0) return l;
  const std::size_t below = first_[l + 1] + static_cast<std::size_t>(arc);
  if (!empty(rows_.data() + below * words_)) return l;
  // a place that is free: like the node before it, or a test above where the arc led
  undo_.push_back({below, node_[below]});
  LayeredNode& m = node_[below];
  if (before >= 0) {
    m = node_[first_[l + 1] + static_cast<std::size_t>(before)];
    if (dice_.real() < 0.5) {
      (dice_.real() < 0.5 ? m.left : m.right) = any_arc(l + 1);
    } else {
      new_test(below);
    }
  } else {
    m.left = before;
    m.right = any_arc(l + 1);
    if (dice_.real() < 0.5) std::swap(m.left, m.right);
    // rows of the node above, as none comes to the place yet
    const LayeredNode above = n;
    new_test(place);
    m.feature = n.feature;
    m.cut = n.cut;
    n = above;
  }
  return l;
}

// Nodes at random everywhere; the value.
Loss DiagramAnnealing::begin() {
  undo_.clear();
  for (std::size_t l = 0; l < widths_.size(); ++l)
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k) {
      undo_.push_back({k, node_[k]});
      new_test(k);
      node_[k].left = any_arc(l);
      node_[k].right = any_arc(l);
    }
  const Loss value = follow(0, kInfinite);
  keep(0);
  return value;
}

// By which the rows on a side of a node lose least; the first, where there are none.
int DiagramAnnealing::label(const Word* rows, const Word* left, bool right) const {
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  std::vector<Loss> sum(labels, 0);
  for (std::size_t i = 0; i < p_.rows; ++i) {
    const Word on = (left[i / 64] ^ (right ? ~Word{0} : 0)) & rows[i / 64];
    for (std::size_t c = 0; on >> (i % 64) & 1 && c < labels; ++c) sum[c] += p_.loss[i * labels + c];
  }
  return static_cast<int>(std::min_element(sum.begin(), sum.end()) - sum.begin());
}

DiagramAnnealing::Layers DiagramAnnealing::layers() const {
  std::vector<int> number(node_.size(), -1);
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    int count = 0;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k)
      if (!empty(rows_.data() + k * words_)) number[k] = count++;
  }
  Layers found;
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    std::vector<LayeredNode> layer;
    for (std::size_t k = first_[l]; k < first_[l + 1]; ++k) {
      if (number[k] < 0) continue;
      LayeredNode n = node_[k];
      for (bool right : {false, true}) {
        int& arc = right ? n.right : n.left;
        const int to = arc < 0 ? -1 : number[first_[l + 1] + static_cast<std::size_t>(arc)];
        arc = to >= 0 ? to : ~label(rows_.data() + k * words_, side(n), right);
      }
      layer.push_back(n);
    }
    if (layer.empty()) break;
    found.push_back(std::move(layer));
  }
  return found;
}

DiagramAnnealing::Layers DiagramAnnealing::cool(double warm, std::uint64_t steps) {
  constexpr double kCold = 0.12;
  Loss now = begin(), best = now;
  Layers kept = layers();
  const Loss largest = *std::max_element(p_.loss.begin(), p_.loss.end());
  const double unit = static_cast<double>(std::max({Loss{1}, price_, largest / 8}));
  double heat = warm;
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step % 256 == 0) {
      heat = unit * warm *
             std::pow(kCold / warm, static_cast<double>(step) / static_cast<double>(steps));
      control_.poll(256 * words_ * node_.size());
    }
    std::size_t at = dice_.below(node_.size());
    while (empty(rows_.data() + at * words_)) at = dice_.below(node_.size());
    const std::size_t layer = change(at);
    const Loss most = now + static_cast<Loss>(-heat * std::log(1 - dice_.real()));
    const Loss then = follow(layer, most);
    if (then > most) {
      for (const auto& [place, node] : undo_) node_[place] = node;
      continue;
    }
    keep(layer);
    now = then;
    if (now < best) {
      best = now;
      kept = layers();
    }
  }
  return kept;
}

}  // namespace odt
