#include "odt/diagram_moves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace odt {

DiagramMoves::DiagramMoves(const LayeredProblem& table, std::vector<int> widths, Loss price,
                           bool picky, std::uint64_t seed, Control& control, Judge judge)
    : p_(table),
      widths_(std::move(widths)),
      price_(price),
      picky_(picky),
      control_(control),
      judge_(std::move(judge)),
      dice_(seed),
      order_(table.features),
      owner_(table.rows, -1),
      all_(table.rows) {
  std::iota(all_.begin(), all_.end(), 0u);
  for (std::size_t f = 0; f < p_.features; ++f) {
    std::vector<std::uint32_t> from(p_.distinct[f] + 1, 0);
    for (std::uint32_t i : all_) ++from[rank(f)[i] + 1];
    std::partial_sum(from.begin(), from.end(), from.begin());
    order_[f].resize(p_.rows);
    for (std::uint32_t i : all_) order_[f][from[rank(f)[i]]++] = i;
    control_.poll(p_.rows);
  }
  const std::size_t labels = static_cast<std::size_t>(p_.labels);
  label_loss_.assign(labels, std::vector<Loss>(p_.rows));
  for (std::size_t c = 0; c < labels; ++c)
    for (std::size_t i = 0; i < p_.rows; ++i) label_loss_[c][i] = p_.loss[i * labels + c];
  most_.assign(p_.rows, 0);
  Loss sum = 0;
  for (std::size_t i = 0; i < p_.rows; ++i) {
    for (std::size_t c = 0; c < labels; ++c) most_[i] = std::max(most_[i], label_loss_[c][i]);
    sum += most_[i];
  }
  small_ = sum < Loss{1} << 30;
}

// ---- what follows from the layers as they are

const Loss* DiagramMoves::end(std::size_t layer, int arc) const {
  return arc < 0 ? label_loss_[static_cast<std::size_t>(~arc)].data()
                 : cost_[layer + 1][static_cast<std::size_t>(arc)].data();
}

void DiagramMoves::cost_of(std::size_t layer, std::size_t node) {
  const LayeredNode& n = layers_[layer][node];
  const Loss *left = end(layer, n.left), *right = end(layer, n.right);
  const std::uint32_t* at = rank(static_cast<std::size_t>(n.feature));
  std::vector<Loss>& cost = cost_[layer][node];
  cost.resize(p_.rows);
  for (std::size_t i = 0; i < p_.rows; ++i) cost[i] = at[i] <= n.cut ? left[i] : right[i];
  control_.poll(p_.rows);
}

// Rows of the nodes below a layer; those of the layer stay.
void DiagramMoves::route(std::size_t from) {
  rows_.resize(layers_.size());
  if (from == 0 && !rows_.empty()) rows_[0].assign(1, all_);
  for (std::size_t l = from; l + 1 < layers_.size(); ++l) {
    rows_[l + 1].assign(layers_[l + 1].size(), {});
    for (std::size_t k = 0; k < layers_[l].size(); ++k) {
      const LayeredNode& n = layers_[l][k];
      const std::uint32_t* at = rank(static_cast<std::size_t>(n.feature));
      for (std::uint32_t i : rows_[l][k]) {
        const int arc = at[i] <= n.cut ? n.left : n.right;
        if (arc >= 0) rows_[l + 1][static_cast<std::size_t>(arc)].push_back(i);
      }
    }
  }
}

void DiagramMoves::measure() {
  cost_.resize(layers_.size());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    cost_[l].resize(layers_[l].size());
    for (std::size_t k = 0; k < layers_[l].size(); ++k) cost_of(l, k);
  }
  route(0);
}

Loss DiagramMoves::worth() const {
  Loss sum = 0;
  for (Loss x : cost_[0][0]) sum += x;
  for (const auto& layer : layers_) sum += price_ * static_cast<Loss>(layer.size());
  return sum;
}

// Nodes that nothing leads to go, and so do those that lead to one class.
void DiagramMoves::tidy() {
  for (std::size_t l = layers_.size(); l-- > 1;)
    for (LayeredNode& n : layers_[l - 1])
      for (int* arc : {&n.left, &n.right}) {
        if (*arc < 0) continue;
        const LayeredNode& below = layers_[l][static_cast<std::size_t>(*arc)];
        if (below.left == below.right && below.left < 0) *arc = below.left;
      }
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    std::vector<char> met(layers_[l].size(), 0);
    for (const LayeredNode& n : layers_[l - 1])
      for (int arc : {n.left, n.right})
        if (arc >= 0) met[static_cast<std::size_t>(arc)] = 1;
    std::vector<int> number(met.size(), -1);
    std::vector<LayeredNode> kept;
    for (std::size_t k = 0; k < met.size(); ++k) {
      if (!met[k]) continue;
      number[k] = static_cast<int>(kept.size());
      kept.push_back(layers_[l][k]);
    }
    for (LayeredNode& n : layers_[l - 1]) {
      if (n.left >= 0) n.left = number[static_cast<std::size_t>(n.left)];
      if (n.right >= 0) n.right = number[static_cast<std::size_t>(n.right)];
    }
    layers_[l] = std::move(kept);
  }
  while (layers_.size() > 1 && layers_.back().empty()) layers_.pop_back();
}

// ---- the best test of some rows, with the best ends

int DiagramMoves::arc_of(std::size_t end, std::size_t layer) const {
  const std::size_t below = layer + 1 < layers_.size() ? layers_[layer + 1].size() : 0;
  return end < below ? static_cast<int>(end) : ~static_cast<int>(end - below);
}

template <class T>
std::size_t DiagramMoves::gather(std::size_t layer, const std::vector<Rows>& sets,
                                 Block<T>& block) {
  const std::size_t below = layer + 1 < layers_.size() ? layers_[layer + 1].size() : 0;
  const std::size_t ends = below + static_cast<std::size_t>(p_.labels);
  const std::size_t wide =
      (ends + 3) / 4 * 4;  // what fills up is like the first end, which comes before it
  block.cost.resize(p_.rows * wide);
  block.total.assign(sets.size() * wide, 0);
  block.low.resize(wide);
  for (std::size_t e = 0; e < wide; ++e) {
    const Loss* cost = end(layer, arc_of(e < ends ? e : 0, layer));
    for (std::size_t s = 0; s < sets.size(); ++s)
      for (std::uint32_t i : sets[s])
        block.total[s * wide + e] += block.cost[i * wide + e] = static_cast<T>(cost[i]);
  }
  return wide;
}

// The rows of each set by their rank, one set after the other.
void DiagramMoves::put_in_order(std::size_t feature, const std::vector<Rows>& sets,
                                std::size_t count) {
  const std::uint32_t* at = rank(feature);
  ordered_.resize(count);
  if (count * 12 < p_.rows) {
    std::size_t from = 0;
    for (const Rows& rows : sets) {
      const auto first = ordered_.begin() + static_cast<std::ptrdiff_t>(from);
      std::copy(rows.begin(), rows.end(), first);
      std::sort(first, first + static_cast<std::ptrdiff_t>(rows.size()),
                [at](std::uint32_t a, std::uint32_t b) {
                  return at[a] != at[b] ? at[a] < at[b] : a < b;
                });
      from += rows.size();
    }
    return;
  }
  next_.assign(sets.size(), 0);
  for (std::size_t s = 1; s < sets.size(); ++s) next_[s] = next_[s - 1] + sets[s - 1].size();
  for (std::uint32_t i : order_[feature])
    if (owner_[i] >= 0) ordered_[next_[static_cast<std::size_t>(owner_[i])]++] = i;
}

// A cut that may stand between two ranks; the first.
bool DiagramMoves::stands(std::size_t feature, std::uint32_t low, std::uint32_t high,
                          std::uint32_t& cut) const {
  cut = low;
  const auto& allowed = p_.allowed[feature];
  while (cut < high && !allowed.empty() && !allowed[cut]) ++cut;
  return cut < high;
}

template <class T>
void DiagramMoves::scan(std::size_t feature, const std::uint32_t* order, std::size_t count,
                        std::size_t wide, const T* total, Block<T>& block, Split& best) {
  const std::uint32_t* at = rank(feature);
  if (count < 2 || at[order[0]] == at[order[count - 1]]) return;
  T* low = block.low.data();
  std::fill(low, low + wide, 0);
  Loss slack = 0;  // a row lowers the value of the next cut by no more than it can lose
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const T* row = block.cost.data() + order[i] * wide;
    for (std::size_t e = 0; e < wide; e += 4)
      for (std::size_t k = e; k < e + 4; ++k) low[k] += row[k];
    slack -= most_[order[i]];
    if (slack >= 0) continue;
    const std::uint32_t here = at[order[i]], next = at[order[i + 1]];
    if (here == next) continue;
    std::size_t l = 0, h = 0;
    for (std::size_t e = 1; e < wide; ++e) {
      if (low[e] < low[l]) l = e;
      if (total[e] - low[e] < total[h] - low[h]) h = e;
    }
    const Loss value = static_cast<Loss>(low[l]) + static_cast<Loss>(total[h] - low[h]);
    if (value >= best.value) {
      slack = value - best.value;
      continue;
    }
    std::uint32_t cut = 0;
    if (l == h || !stands(feature, here, next, cut)) continue;
    best.value = value;
    best.node = {static_cast<int>(feature), cut, static_cast<int>(l), static_cast<int>(h)};
  }
}

// The best test of each of some sets of rows with the best ends in the layer, where its value is
// less than what is given for the set; else kInfinite. `only`: of one feature.
std::vector<DiagramMoves::Split> DiagramMoves::best_splits(std::size_t layer,
                                                           const std::vector<Rows>& sets,
                                                           const std::vector<Loss>& below,
                                                           int only) {
  return small_ ? best_splits(layer, sets, below, only, block32_)
                : best_splits(layer, sets, below, only, block64_);
}

template <class T>
std::vector<DiagramMoves::Split> DiagramMoves::best_splits(std::size_t layer,
                                                           const std::vector<Rows>& sets,
                                                           const std::vector<Loss>& below, int only,
                                                           Block<T>& block) {
  std::vector<Split> best(sets.size());
  std::fill(owner_.begin(), owner_.end(), -1);
  std::size_t count = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    best[s].value = below[s];
    count += sets[s].size();
    for (std::uint32_t i : sets[s]) owner_[i] = static_cast<std::int32_t>(s);
  }
  const std::size_t wide = gather(layer, sets, block);
  for (std::size_t f = 0; f < p_.features; ++f) {
    if (only >= 0 && static_cast<std::size_t>(only) != f) continue;
    put_in_order(f, sets, count);
    std::size_t from = 0;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      scan(f, ordered_.data() + from, sets[s].size(), wide, block.total.data() + s * wide, block,
           best[s]);
      from += sets[s].size();
    }
    control_.poll(count);
  }
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (best[s].value >= below[s]) best[s].value = kInfinite;
    best[s].node.left = arc_of(static_cast<std::size_t>(best[s].node.left), layer);
    best[s].node.right = arc_of(static_cast<std::size_t>(best[s].node.right), layer);
  }
  return best;
}

// ---- moves

// Layers from `from` up to `to`, the last one first; whether any node gained.
bool DiagramMoves::sweep(std::size_t from, std::size_t to) {
  bool changed = false;
  for (std::size_t l = from + 1; l-- > to;) {
    if (changed)
      for (std::size_t k = 0; k < layers_[l].size(); ++k) cost_of(l, k);
    std::vector<Loss> now(layers_[l].size(), 0);
    for (std::size_t k = 0; k < now.size(); ++k)
      for (std::uint32_t i : rows_[l][k]) now[k] += cost_[l][k][i];
    const std::vector<Split> best = best_splits(l, rows_[l], now);
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (best[k].value >= kInfinite) continue;
      layers_[l][k] = best[k].node;
      cost_of(l, k);
      changed = true;
    }
  }
  if (!changed) return false;
  for (std::size_t l = to; l-- > 0;)
    for (std::size_t k = 0; k < layers_[l].size(); ++k) cost_of(l, k);
  route(to);
  return true;
}

// Sweeps until nothing gains.
void DiagramMoves::settle() {
  constexpr int kSweeps = 6;
  for (int i = 0; i < kSweeps && sweep(layers_.size() - 1, 0); ++i) {
  }
}

// A new node for the rows of the arc that gains most by it.
bool DiagramMoves::fill_one(std::size_t layer) {
  const std::size_t have = layer < layers_.size() ? layers_[layer].size() : 0;
  if (have >= static_cast<std::size_t>(widths_[layer])) return false;
  std::vector<Rows> sets;
  std::vector<Loss> now, below;
  for (std::size_t k = 0; k < layers_[layer - 1].size(); ++k) {
    const LayeredNode& n = layers_[layer - 1][k];
    const std::uint32_t* at = rank(static_cast<std::size_t>(n.feature));
    for (bool left : {true, false}) {
      sets.emplace_back();
      now.push_back(0);
      for (std::uint32_t i : rows_[layer - 1][k])
        if ((at[i] <= n.cut) == left) {
          sets.back().push_back(i);
          now.back() += end(layer - 1, left ? n.left : n.right)[i];
        }
      below.push_back(std::max<Loss>(0, now.back() - price_));
    }
  }
  const std::vector<Split> found = best_splits(layer, sets, below);
  Loss gain = price_;
  std::size_t best = sets.size();
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (found[s].value >= kInfinite || now[s] - found[s].value <= gain) continue;
    gain = now[s] - found[s].value;
    best = s;
  }
  if (best == sets.size()) return false;
  if (layer == layers_.size()) layers_.emplace_back();
  layers_[layer].push_back(found[best].node);
  LayeredNode& above = layers_[layer - 1][best / 2];
  (best % 2 == 0 ? above.left : above.right) = static_cast<int>(have);
  measure();
  return true;
}

void DiagramMoves::fill() {
  for (std::size_t l = 1; l < widths_.size() && l <= layers_.size(); ++l)
    while (fill_one(l)) {
    }
}

// Another test: of a feature at random, the best of a part of the rows, or a shifted cut.
void DiagramMoves::retest(std::size_t layer, std::size_t node) {
  const Rows& rows = rows_[layer][node];
  if (rows.empty()) return;
  LayeredNode& n = layers_[layer][node];
  if (dice_.real() < 0.5) {
    const std::size_t f = static_cast<std::size_t>(n.feature);
    Rows order = rows;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rank(f)[a] < rank(f)[b]; });
    control_.poll(order.size());
    const std::size_t here = static_cast<std::size_t>(
        std::partition_point(order.begin(), order.end(),
                             [&](std::uint32_t i) { return rank(f)[i] <= n.cut; }) -
        order.begin());
    const double far = std::exp(dice_.real() * std::log(static_cast<double>(order.size())));
    const double to = static_cast<double>(here) + (dice_.real() < 0.5 ? -far : far);
    const std::size_t at =
        static_cast<std::size_t>(std::clamp(to, 0.0, static_cast<double>(order.size() - 1)));
    const std::uint32_t low = rank(f)[order[at]];
    std::uint32_t cut = 0;
    if (stands(f, low, p_.distinct[f] - 1, cut)) n.cut = cut;
    return;
  }
  Rows part;
  const double share = 0.1 + 0.5 * dice_.real();
  for (std::uint32_t i : rows)
    if (dice_.real() < share) part.push_back(i);
  const Split found =
      best_splits(layer, {part}, {kInfinite},
                  dice_.real() < 0.5 ? static_cast<int>(dice_.below(p_.features)) : -1)[0];
  if (found.value < kInfinite) n = found.node;
}

// Its rows go where they lose least; what it leaves free is filled again.
void DiagramMoves::take_out(std::size_t layer, std::size_t node) {
  const int me = static_cast<int>(node);
  std::size_t to = 0;
  Loss least = kInfinite;
  const std::size_t below = layers_[layer].size();
  for (std::size_t e = 0; e < below + static_cast<std::size_t>(p_.labels); ++e) {
    const int arc = arc_of(e, layer - 1);
    if (arc == me) continue;
    const Loss* cost = end(layer - 1, arc);
    Loss sum = 0;
    for (std::uint32_t i : rows_[layer][node]) sum += cost[i];
    if (sum < least) {
      least = sum;
      to = e;
    }
  }
  for (LayeredNode& n : layers_[layer - 1])
    for (int* arc : {&n.left, &n.right})
      if (*arc == me) *arc = arc_of(to, layer - 1);
}

// One arc of a node leads elsewhere.
void DiagramMoves::lead(std::size_t layer, std::size_t node) {
  LayeredNode& n = layers_[layer][node];
  const std::size_t below = layer + 1 < layers_.size() ? layers_[layer + 1].size() : 0;
  const int to = arc_of(dice_.below(below + static_cast<std::size_t>(p_.labels)), layer);
  (dice_.real() < 0.5 ? n.left : n.right) = to;
}

void DiagramMoves::kick() {
  // The layers alike, but for the last, whose best tests are found by sweeps; of a layer the nodes
  // by what their rows lose.
  const std::size_t l = dice_.below(std::max<std::size_t>(1, layers_.size() - 1));
  std::vector<double> lost(layers_[l].size());
  double sum = 0;
  for (std::size_t k = 0; k < lost.size(); ++k) {
    for (std::uint32_t i : rows_[l][k]) lost[k] += static_cast<double>(cost_[l][k][i]);
    sum += lost[k] += 1e-3 * static_cast<double>(rows_[l][k].size()) + 1e-9;
  }
  double point = dice_.real() * sum;
  std::size_t k = 0;
  while (k + 1 < lost.size() && point >= lost[k]) point -= lost[k++];
  const double what = dice_.real();
  if (what < 0.15 && l > 0)
    take_out(l, k);
  else if (what < 0.3)
    lead(l, k);
  else
    retest(l, k);
  tidy();
  measure();
  fill();
  // What is below follows first, else the old test would come back.
  for (int i = 0; i < 2 && l + 1 < layers_.size() && sweep(layers_.size() - 1, l + 1); ++i) {
  }
  settle();
}

// Whether the diagram as it is takes the place of `before`, as it loses at most `most`; else that
// one comes back.
bool DiagramMoves::consider(const Layers& before, Loss most) {
  const Loss value = worth();
  const bool asked = value < best_ || picky_;
  if (value > most || (asked && !judge_(value, layers_))) {
    layers_ = before;
    measure();
    return false;
  }
  best_ = std::min(best_, value);
  return true;
}

// How much worse than the best the next diagram may be: nothing, until it seems that no single move
// makes it better.
Loss DiagramMoves::slack(std::uint64_t idle, Loss best) {
  if (idle < kSettled) return 0;
  const Loss step = std::max({price_, *std::max_element(most_.begin(), most_.end()), best >> 8});
  return static_cast<Loss>(dice_.real() * 3 * static_cast<double>(step));
}

// Moves until so many in a row have gained nothing (0: never); the best is what stays.
void DiagramMoves::go_on(Loss best, std::uint64_t patience) {
  Layers kept = layers_;
  std::uint64_t idle = 0;
  while (patience == 0 || idle < patience) {
    const Layers before = layers_;
    ++moves_;
    kick();
    tidy();
    measure();
    const bool moved = consider(before, best + slack(idle, best));
    const Loss value = moved ? worth() : kInfinite;
    idle = value < best ? 0 : idle + 1;
    if (value <= best) {
      best = value;
      kept = layers_;
    } else if (idle % kReturn == 0) {
      layers_ = kept;
      measure();
    }
    control_.check();
  }
}

// From here by cooling and a few moves in turns; where that gains nothing, by way of worse diagrams
// for a while, then from elsewhere.
void DiagramMoves::anneal(std::uint64_t patience) {
  constexpr std::uint64_t kPolish = 60, kStay = 3, kWalk = 300;
  DiagramAnnealing annealing(p_, widths_, price_, dice_.below(std::size_t{1} << 52), control_);
  Layers here = layers_;
  Loss value = worth();
  std::uint64_t stayed = 0;
  for (std::uint64_t idle = 0; patience == 0 || idle < patience;) {
    const Loss least = best_;
    const bool anew = stayed == kStay + 1, walks = stayed == kStay;
    if (walks) {
      layers_ = here;
      measure();
      go_on(value, kWalk);
    } else {
      layers_ = annealing.cool(anew ? Layers{} : here);
      measure();
      consider(here, kInfinite);
      go_on(worth(), kPolish);
    }
    const Loss found = worth();
    stayed = anew || found < value ? 0 : stayed + 1;
    if (anew || found <= value) {
      here = layers_;
      value = found;
    }
    idle = best_ < least ? 0 : idle + (walks ? kWalk : kPolish);
  }
}

// A split by the first cut that may stand; nothing where none may.
Layers DiagramMoves::first() const {
  std::uint32_t cut = 0;
  for (std::size_t f = 0; f < p_.features; ++f)
    if (stands(f, 0, p_.distinct[f] - 1, cut))
      return {{LayeredNode{static_cast<int>(f), cut, ~0, ~0}}};
  return {};
}

void DiagramMoves::run(const Layers& start, Loss upper, std::uint64_t patience) {
  layers_ = start.empty() ? first() : start;
  if (layers_.empty()) return;
  measure();
  const Layers given = layers_;
  best_ = upper;
  Loss best = start.empty() ? kInfinite : worth();  // of what follows here
  settle();
  fill();
  settle();
  if (consider(given, best)) best = worth();
  // a rule would forbid most of what cooling finds
  const bool cools = !picky_ && DiagramAnnealing::takes(p_);
  if (!cools || (patience > 0 && patience <= kSettled)) return go_on(best, patience);
  go_on(best, kSettled);
  anneal(patience > 0 ? patience - kSettled : 0);
}

}  // namespace odt
