#include "odt/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace odt {
namespace {

double reach(const OutputRange& range, const double* y, double& size) {
  double sum = 0;
  size = 0;
  for (std::size_t t = 0; t < range.factor.size(); ++t)
    if (range.factor[t] != 0) {
      sum += range.factor[t] * y[t];
      size = std::max(size, std::fabs(range.factor[t] * y[t]));
    }
  return sum;
}

bool within(double value, double low, double high, double slack) {
  return (low == -kUnbounded || value >= low - slack * (1 + std::fabs(low))) &&
         (high == kUnbounded || value <= high + slack * (1 + std::fabs(high)));
}

bool keeps(const OutputRange& range, const double* y, double slack) {
  double size;
  const double value = reach(range, y, size);
  return within(value, range.low - slack * size, range.high + slack * size, slack);
}

bool keeps_all(const std::vector<OutputRange>& ranges, const double* y, double slack) {
  return std::all_of(ranges.begin(), ranges.end(),
                     [&](const OutputRange& r) { return keeps(r, y, slack); });
}

bool on_grid(double value, double step, double slack) {
  const double multiple = value / step;
  return std::fabs(multiple - std::nearbyint(multiple)) <= slack * (1 + std::fabs(multiple));
}

constexpr double kSlack = 1e-9;
// Branches on values of a grid. Only where nothing fits and nothing bounds the targets are there
// more.
constexpr std::size_t kDeepest = 1000;

}  // namespace

OutputPiece::OutputPiece() = default;
OutputPiece::OutputPiece(const OutputPiece&) = default;
OutputPiece::OutputPiece(OutputPiece&&) noexcept = default;
OutputPiece& OutputPiece::operator=(const OutputPiece&) = default;
OutputPiece& OutputPiece::operator=(OutputPiece&&) noexcept = default;
OutputPiece::~OutputPiece() = default;

OutputSet OutputSet::all(std::size_t targets) {
  OutputPiece piece;
  piece.low.assign(targets, -kUnbounded);
  piece.high.assign(targets, kUnbounded);
  piece.gaps.resize(targets);
  return {targets, std::vector<double>(targets, 0.0), {piece}};
}

OutputSolver::OutputSolver(OutputSolver&&) noexcept = default;
OutputSolver::~OutputSolver() = default;

OutputSolver::OutputSolver(const OutputSet& set) : set_(set) {
  const std::size_t n = set.targets;
  for (const OutputPiece& piece : set.pieces) {
    Shape shape;
    std::vector<int> named(n, 0);
    shape.separable = piece.ranges.empty() && piece.choices.empty();
    for (const OutputCount& count : piece.counts) {
      for (std::uint32_t t : count.target) shape.separable &= ++named[t] == 1;
      bool same = true;
      for (std::size_t k = 0; k < count.target.size() && same; ++k) {
        const std::uint32_t a = count.target[0], b = count.target[k];
        same = piece.low[a] == piece.low[b] && piece.high[a] == piece.high[b] &&
               set.step[a] == set.step[b] && piece.gaps[a].empty() && piece.gaps[b].empty() &&
               count.low[0] == count.low[k] && count.high[0] == count.high[k] &&
               count.low[k] <= piece.low[b];
        for (const OutputRange& range : piece.ranges) same &= range.factor[a] == range.factor[b];
      }
      shape.symmetric.push_back(same && piece.choices.empty() && piece.counts.size() == 1);
    }
    shape.plain = shape.separable && piece.counts.size() <= 1;
    for (std::size_t t = 0; t < n; ++t)
      shape.plain = shape.plain && piece.gaps[t].empty() && set.step[t] == 0;
    // The sum of all outputs is given, on one grid from zero up: units are handed out one by one.
    shape.apportioned = piece.ranges.size() == 1 && piece.choices.empty() &&
                        piece.ranges[0].low == piece.ranges[0].high &&
                        (piece.counts.empty() || shape.symmetric[0]);
    double units = 0;
    for (std::size_t t = 0; t < n && shape.apportioned; ++t)
      shape.apportioned = set.step[t] > 0 && set.step[t] == set.step[0] &&
                          piece.ranges[0].factor[t] == piece.ranges[0].factor[0] &&
                          piece.gaps[t].empty() && piece.low[t] > -kUnbounded;
    if (shape.apportioned) {
      units = piece.ranges[0].low / (piece.ranges[0].factor[0] * set.step[0]);
      for (std::size_t t = 0; t < n; ++t) units -= piece.low[t] / set.step[0];
      shape.apportioned =
          units >= 0 && units <= 1000 && std::fabs(units - std::nearbyint(units)) < 1e-9;
    }
    shapes_.push_back(std::move(shape));
  }
  const auto loose = [](double low, double high) {
    return low == -kUnbounded && high == kUnbounded;
  };
  const bool grid = std::any_of(set.step.begin(), set.step.end(), [](double s) { return s > 0; });
  if (set.pieces.size() == 1 && !grid) {
    const OutputPiece& p = set.pieces[0];
    convex_ = p.counts.empty() && p.choices.empty();
    for (const auto& gap : p.gaps) convex_ &= gap.empty();
    everything_ = convex_ && p.ranges.empty();
    for (std::size_t t = 0; t < n; ++t) everything_ &= loose(p.low[t], p.high[t]);
  }
  saved_.resize(n);
  inside_.resize(n);
  trial_.resize(n);
}

bool OutputSolver::contains(const double* y, double slack) const {
  for (std::size_t t = 0; t < set_.targets; ++t)
    if (set_.step[t] > 0 && !on_grid(y[t], set_.step[t], slack)) return false;
  return std::any_of(set_.pieces.begin(), set_.pieces.end(), [&](const OutputPiece& piece) {
    for (std::size_t t = 0; t < set_.targets; ++t) {
      if (!within(y[t], piece.low[t], piece.high[t], slack)) return false;
      for (const auto& gap : piece.gaps[t])
        if (y[t] > gap.first + slack * (1 + std::fabs(gap.first)) &&
            y[t] < gap.second - slack * (1 + std::fabs(gap.second)))
          return false;
    }
    if (!keeps_all(piece.ranges, y, slack)) return false;
    for (const OutputCount& count : piece.counts) {
      int out = 0;
      for (std::size_t k = 0; k < count.target.size(); ++k)
        out += !within(y[count.target[k]], count.low[k], count.high[k], slack);
      if (out > count.most) return false;
    }
    for (const auto& choice : piece.choices)
      if (std::none_of(choice.begin(), choice.end(),
                       [&](const auto& ranges) { return keeps_all(ranges, y, slack); }))
        return false;
    return true;
  });
}

// Least loss of one target in an interval less gaps, on its grid.
double OutputSolver::one(const OutputPiece& piece, const LeafLoss& loss, std::size_t t, double low,
                         double high, double& output) const {
  if (low > high) return kUnbounded;
  double value = loss.best(t, low, high, output);
  // By convexity the best outputs of a set with holes lie beside the hole that holds the best of
  // all.
  for (const auto& [from, to] : piece.gaps[t]) {
    if (output <= from || output >= to) continue;
    double left = kUnbounded, right = kUnbounded, at_left = 0, at_right = 0;
    if (from >= low) left = loss.best(t, low, from, at_left);
    if (to <= high) right = loss.best(t, to, high, at_right);
    value = std::min(left, right);
    output = left <= right ? at_left : at_right;
    break;
  }
  const double step = set_.step[t];
  if (step > 0 && value < kUnbounded && !loss.priced()) {
    const double below = std::floor(output / step + 1e-12) * step, above = below + step;
    if (output > below + 1e-12 * (1 + std::fabs(below))) {
      double at_left = 0, at_right = 0;
      const double left = below >= low ? loss.best(t, below, below, at_left) : kUnbounded;
      const double right = above <= high ? loss.best(t, above, above, at_right) : kUnbounded;
      value = std::min(left, right);
      output = left <= right ? at_left : at_right;
    } else if (below >= low && below <= high) {
      output = below;
    }
  }
  return value;
}

// Without ranges targets are tied by counts alone: those leave their intervals that gain most by
// it.
double OutputSolver::separate(const OutputPiece& piece, LeafLoss& loss, double limit,
                              double* y) const {
  double total = 0;
  for (std::size_t t = 0; t < set_.targets; ++t) {
    saved_[t] = one(piece, loss, t, piece.low[t], piece.high[t], y[t]);
    if (saved_[t] == kUnbounded) return kUnbounded;
    total += saved_[t];
    if (total >= limit) return kUnbounded;
  }
  for (const OutputCount& count : piece.counts) {
    const std::size_t k = count.target.size();
    order_.resize(k);
    std::vector<double>& more = trial_;  // what an entry loses by staying inside
    for (std::size_t e = 0; e < k; ++e) {
      const std::uint32_t t = count.target[e];
      order_[e] = static_cast<std::uint32_t>(e);
      const double here = one(piece, loss, t, std::max(piece.low[t], count.low[e]),
                              std::min(piece.high[t], count.high[e]), inside_[e]);
      more[e] = here == kUnbounded ? kUnbounded : here - saved_[t];
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return more[a] > more[b]; });
    for (std::size_t e = static_cast<std::size_t>(std::max(0, count.most)); e < k; ++e) {
      const std::uint32_t entry = order_[e];
      if (more[entry] == kUnbounded) return kUnbounded;
      total += more[entry];
      y[count.target[entry]] = inside_[entry];
    }
  }
  return total < limit ? total : kUnbounded;
}

// The same for squared distances in boxes, with one count at most.
double OutputSolver::separate_squared(const OutputPiece& piece, const double* goal,
                                      const double* weight, double limit, double* y) const {
  const std::size_t n = set_.targets;
  const auto near = [](double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
  };
  double total = 0;
  for (std::size_t t = 0; t < n; ++t) {
    y[t] = near(goal[t], piece.low[t], piece.high[t]);
    const double d = y[t] - goal[t];
    total += weight[t] * d * d;
  }
  if (total >= limit || piece.counts.empty()) return total < limit ? total : kUnbounded;
  const OutputCount& count = piece.counts[0];
  const std::size_t k = count.target.size(),
                    most = static_cast<std::size_t>(std::max(0, count.most));
  double* more = trial_.data();  // what an entry loses by staying inside
  double all = 0;
  int never = 0;
  for (std::size_t e = 0; e < k; ++e) {
    const std::uint32_t t = count.target[e];
    const double low = std::max(piece.low[t], count.low[e]),
                 high = std::min(piece.high[t], count.high[e]);
    if (low > high) {
      more[e] = kUnbounded;
      ++never;
      continue;
    }
    inside_[e] = near(goal[t], low, high);
    const double a = inside_[e] - goal[t], b = y[t] - goal[t];
    more[e] = weight[t] * (a * a - b * b);
    all += more[e];
  }
  if (never > count.most) return kUnbounded;
  for (std::size_t turn = 0; turn < std::min(most, k); ++turn) {
    std::size_t dearest = 0;
    for (std::size_t e = 1; e < k; ++e)
      if (more[e] > more[dearest]) dearest = e;
    if (more[dearest] < 0) break;
    if (more[dearest] < kUnbounded) all -= more[dearest];
    more[dearest] = -1;
  }
  total = std::max(total, total + all);
  if (total >= limit) return kUnbounded;
  for (std::size_t e = 0; e < k; ++e)
    if (more[e] >= 0) y[count.target[e]] = inside_[e];
  return total;
}

// Handing out one unit after the other to whom it costs least is best for convex losses. Below 0
// where the loss does not say who may be left out.
double OutputSolver::apportion(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                               double limit, double* y) {
  const std::size_t n = set_.targets;
  const double* wish = loss.wish();
  if (!piece.counts.empty()) {
    if (wish == nullptr || !shapes_[index].symmetric[0]) return -1;
    for (std::uint32_t t : piece.counts[0].target)
      if (!loss.alike(t, piece.counts[0].target[0])) return -1;
  }
  ++relaxations;
  const double step = set_.step[0];
  std::vector<double>&high = saved_, &cost = inside_, &next = trial_;
  for (std::size_t t = 0; t < n; ++t) high[t] = piece.high[t];
  if (!piece.counts.empty()) {
    const OutputCount& count = piece.counts[0];
    order_.resize(count.target.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return wish[count.target[a]] > wish[count.target[b]];
    });
    for (std::size_t e = static_cast<std::size_t>(std::max(0, count.most)); e < order_.size();
         ++e) {
      const std::uint32_t t = count.target[order_[e]];
      high[t] = std::min(high[t], count.high[order_[e]]);
    }
  }
  double total = 0, ignored;
  double left = piece.ranges[0].low / (piece.ranges[0].factor[0] * step);
  for (std::size_t t = 0; t < n; ++t) {
    y[t] = piece.low[t];
    if (y[t] > high[t]) return kUnbounded;
    left -= y[t] / step;
    cost[t] = loss.best(t, y[t], y[t], ignored);
    total += cost[t];
    next[t] = y[t] + step <= high[t] ? loss.best(t, y[t] + step, y[t] + step, ignored) : kUnbounded;
  }
  for (long units = std::lround(left); units > 0; --units) {
    std::size_t to = n;
    for (std::size_t t = 0; t < n; ++t)
      if (next[t] < kUnbounded && (to == n || next[t] - cost[t] < next[to] - cost[to])) to = t;
    if (to == n) return kUnbounded;
    total += next[to] - cost[to];
    y[to] += step;
    cost[to] = next[to];
    next[to] =
        y[to] + step <= high[to] ? loss.best(to, y[to] + step, y[to] + step, ignored) : kUnbounded;
  }
  total = 0;
  for (std::size_t t = 0; t < n; ++t) {
    y[t] = std::nearbyint(y[t] / step) * step;
    total += cost[t];
  }
  return total < limit ? total : kUnbounded;
}

OutputSolver::State& OutputSolver::state_at(std::size_t level) {
  while (states_.size() <= level) states_.emplace_back();
  return states_[level];
}

double OutputSolver::solve(LeafLoss& loss, double* output, double limit) {
  best_ = limit;
  output_ = output;
  std::vector<double>& y = point_;
  y.resize(set_.targets);
  for (std::size_t k = 0; k < set_.pieces.size(); ++k) {
    const OutputPiece& piece = set_.pieces[k];
    if (shapes_[k].separable) {
      const double* weight = shapes_[k].plain ? loss.squared_weights() : nullptr;
      const double value = weight != nullptr
                               ? separate_squared(piece, loss.wish(), weight, best_, y.data())
                               : separate(piece, loss, best_, y.data());
      if (value < best_) {
        best_ = value;
        std::copy(y.begin(), y.end(), output);
      }
      continue;
    }
    if (shapes_[k].apportioned) {
      const double value = loss.priced() ? -1 : apportion(piece, k, loss, best_, y.data());
      if (value >= 0) {
        if (value < best_) {
          best_ = value;
          std::copy(y.begin(), y.end(), output);
        }
        continue;
      }
    }
    State& state = state_at(1);
    state.box.low = piece.low;
    state.box.high = piece.high;
    state.ranges.clear();
    for (const OutputRange& range : piece.ranges) state.ranges.push_back(&range);
    state.sides.resize(piece.counts.size());
    for (std::size_t c = 0; c < piece.counts.size(); ++c)
      state.sides[c].assign(piece.counts[c].target.size(), 0);
    state.chosen.assign(piece.choices.size(), 0);
    const double* wish = loss.wish();
    for (std::size_t c = 0; c < piece.counts.size(); ++c) {
      const OutputCount& count = piece.counts[c];
      bool same = shapes_[k].symmetric[c] && wish != nullptr;
      for (std::uint32_t t : count.target) same = same && loss.alike(t, count.target[0]);
      if (!same) continue;
      // Some best output rises with the wishes, so those that leave are of the largest.
      std::vector<std::uint32_t> entries(count.target.size());
      std::iota(entries.begin(), entries.end(), 0u);
      std::stable_sort(entries.begin(), entries.end(), [&](std::uint32_t a, std::uint32_t b) {
        return wish[count.target[a]] > wish[count.target[b]];
      });
      for (std::size_t e = 0; e < entries.size(); ++e)
        state.sides[c][entries[e]] = static_cast<int>(e) < count.most ? 2 : 1;
      for (std::size_t e = 0; e < entries.size(); ++e)
        if (state.sides[c][e] == 1) {
          const std::uint32_t t = count.target[e];
          state.box.low[t] = std::max(state.box.low[t], count.low[e]);
          state.box.high[t] = std::min(state.box.high[t], count.high[e]);
        }
    }
    if (settle(piece, state)) branch(piece, k, loss, 1);
  }
  return best_ < limit ? best_ : kUnbounded;
}

// What follows from a state: where as many may leave as do, the others stay. False: nothing fits.
bool OutputSolver::settle(const OutputPiece& piece, State& state) const {
  for (std::size_t c = 0; c < piece.counts.size(); ++c) {
    const OutputCount& count = piece.counts[c];
    int leave = 0;
    for (char side : state.sides[c]) leave += side == 2;
    if (leave > count.most) return false;
    if (leave < count.most) continue;
    for (std::size_t e = 0; e < count.target.size(); ++e)
      if (state.sides[c][e] == 0) {
        state.sides[c][e] = 1;
        const std::uint32_t t = count.target[e];
        state.box.low[t] = std::max(state.box.low[t], count.low[e]);
        state.box.high[t] = std::min(state.box.high[t], count.high[e]);
      }
  }
  for (std::size_t t = 0; t < set_.targets; ++t)
    if (state.box.low[t] > state.box.high[t]) return false;
  return true;
}

void OutputSolver::branch(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                          std::size_t level) {
  if (level > kDeepest) throw std::length_error("cases of a grid without bounds do not end");
  std::vector<double> y(set_.targets);
  ++relaxations;
  const double value = loss.least(states_[level].box, states_[level].ranges, best_, y.data());
  if (!(value < best_)) return;
  if (split_choice(piece, index, loss, level, y) || split_count(piece, index, loss, level, y) ||
      split_gap(piece, index, loss, level, y))
    return;
  best_ = value;
  std::copy(y.begin(), y.end(), output_);
}

// Both sides of a hole in a target's values, the nearer one first.
bool OutputSolver::halves(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                          std::size_t level, std::size_t t, double left, double right, double at) {
  const bool left_first = at - left <= right - at;
  for (int side = 0; side < 2; ++side) {
    State& next = state_at(level + 1);
    next = states_[level];
    if ((side == 0) == left_first)
      next.box.high[t] = std::min(next.box.high[t], left);
    else
      next.box.low[t] = std::max(next.box.low[t], right);
    if (next.box.low[t] <= next.box.high[t]) branch(piece, index, loss, level + 1);
  }
  return true;
}

bool OutputSolver::split_gap(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                             std::size_t level, const std::vector<double>& y) {
  for (std::size_t t = 0; t < set_.targets; ++t)
    for (const auto& [from, to] : piece.gaps[t])
      // Where violations are paid for, an output can stay in a gap that its box has left already.
      if ((!loss.priced() ||
           (states_[level].box.low[t] <= from && to <= states_[level].box.high[t])) &&
          y[t] > from + kSlack * (1 + std::fabs(from)) && y[t] < to - kSlack * (1 + std::fabs(to)))
        return halves(piece, index, loss, level, t, from, to, y[t]);
  if (loss.priced()) return false;  // nor are grids asked for then
  std::size_t worst = set_.targets;
  double most = 0;
  for (std::size_t t = 0; t < set_.targets; ++t) {
    const double step = set_.step[t];
    if (!(step > 0) || on_grid(y[t], step, kSlack)) continue;
    const double multiple = y[t] / step, off = std::fabs(multiple - std::nearbyint(multiple));
    if (off > most) {
      most = off;
      worst = t;
    }
  }
  if (worst < set_.targets) {
    const double step = set_.step[worst], below = std::floor(y[worst] / step) * step;
    return halves(piece, index, loss, level, worst, below, below + step, y[worst]);
  }
  // On the grid but for rounding: fix the outputs there, and see what the others are then.
  bool off = false;
  State& next = state_at(level + 1);
  next = states_[level];
  for (std::size_t t = 0; t < set_.targets; ++t) {
    const double step = set_.step[t];
    if (!(step > 0) || next.box.low[t] == next.box.high[t]) continue;
    off = true;
    next.box.low[t] = next.box.high[t] = std::nearbyint(y[t] / step) * step;
  }
  if (off) branch(piece, index, loss, level + 1);
  return off;
}

bool OutputSolver::split_count(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                               std::size_t level, const std::vector<double>& y) {
  for (std::size_t c = 0; c < piece.counts.size(); ++c) {
    const OutputCount& count = piece.counts[c];
    int out = 0;
    std::size_t entry = count.target.size();
    double far = 0;
    for (std::size_t e = 0; e < count.target.size(); ++e) {
      const double value = y[count.target[e]];
      if (states_[level].sides[c][e] == 2) {
        ++out;
        continue;
      }
      if (within(value, count.low[e], count.high[e], kSlack) || states_[level].sides[c][e] == 1)
        continue;
      ++out;
      const double apart = value < count.low[e] ? count.low[e] - value : value - count.high[e];
      if (states_[level].sides[c][e] == 0 && apart > far) {
        far = apart;
        entry = e;
      }
    }
    if (out <= count.most || entry == count.target.size()) continue;
    for (char side : {char{2}, char{1}}) {
      State& next = state_at(level + 1);
      next = states_[level];
      next.sides[c][entry] = side;
      const std::uint32_t t = count.target[entry];
      if (side == 1) {
        next.box.low[t] = std::max(next.box.low[t], count.low[entry]);
        next.box.high[t] = std::min(next.box.high[t], count.high[entry]);
      }
      if (settle(piece, next)) branch(piece, index, loss, level + 1);
    }
    return true;
  }
  return false;
}

bool OutputSolver::split_choice(const OutputPiece& piece, std::size_t index, LeafLoss& loss,
                                std::size_t level, const std::vector<double>& y) {
  for (std::size_t c = 0; c < piece.choices.size(); ++c) {
    const auto& choice = piece.choices[c];
    if (states_[level].chosen[c]) continue;
    if (std::any_of(choice.begin(), choice.end(),
                    [&](const auto& ranges) { return keeps_all(ranges, y.data(), 1e-12); }))
      continue;
    for (const auto& ranges : choice) {
      State& next = state_at(level + 1);
      next = states_[level];
      next.chosen[c] = 1;
      for (const OutputRange& range : ranges) next.ranges.push_back(&range);
      branch(piece, index, loss, level + 1);
    }
    return true;
  }
  return false;
}

}  // namespace odt
