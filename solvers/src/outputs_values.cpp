#include "odt/outputs_values.hpp"

#include <algorithm>
#include <cmath>

namespace odt {

OutputValues::OutputValues(const OutputRows& data)
    : data_(data),
      solver_(data.problem.set),
      squared_(data.problem.factor),
      poisson_(data.problem.factor),
      absolute_(data.problem.factor),
      goal_(data.targets),
      output_(data.targets) {}

double OutputValues::quick(const double* sums) const {
  if (by_rows()) return data_.problem.leaf_price;
  return std::max(0.0, free(sums) + near_.beyond(sums[kWeight], data_.centre, sums + kTargets) -
                           sums[kFloor]) +
         data_.problem.leaf_price;
}

double OutputValues::leaf(const OutputPart& part, double limit) {
  if (by_rows()) return absolute(part, limit);
  const NumberProblem& p = data_.problem;
  const double* sums = part.sums;
  const double alone = free(sums), w = sums[kWeight];
  if (solver_.everything() || !(w > 0)) return std::max(0.0, alone - sums[kFloor]) + p.leaf_price;
  const double room = limit - p.leaf_price - (alone - sums[kFloor]);
  if (!(room > 0)) return kUnbounded;
  for (std::size_t t = 0; t < data_.targets; ++t)
    goal_[t] = std::max(data_.centre[t] + sums[kTargets + t] / w,
                        p.loss == OutputLoss::poisson ? 0.0 : -kUnbounded);
  double lost;
  if (p.loss == OutputLoss::squared) {
    squared_.aim(goal_.data());
    lost = solver_.solve(squared_, output_.data(), room / w);
  } else {
    poisson_.aim(goal_.data());
    lost = solver_.solve(poisson_, output_.data(), room / w);
  }
  return lost == kUnbounded ? kUnbounded
                            : std::max(0.0, alone + w * lost - sums[kFloor]) + p.leaf_price;
}

double OutputValues::loss(const OutputPart& part) {
  return by_rows() ? medians(part) : free(part.sums);
}

double OutputValues::medians(const OutputPart& part) {
  const NumberProblem& p = data_.problem;
  rows_.assign(part.row, part.row + part.rows);
  absolute_.aim(rows_, p.target.data(), p.weight.empty() ? nullptr : p.weight.data());
  double alone = 0;
  for (std::size_t t = 0; t < data_.targets; ++t)
    alone += absolute_.best(t, -kUnbounded, kUnbounded, output_[t]);
  return alone;
}

// Medians first: they lose no more than any output that obeys the rules, and need no linear
// program.
double OutputValues::absolute(const OutputPart& part, double limit) {
  const double price = data_.problem.leaf_price, floor = part.sums[kFloor],
               most = limit - price + floor;
  double lost = medians(part);
  if (!(lost < most)) return kUnbounded;
  if (!solver_.everything() && part.sums[kWeight] > 0)
    lost = solver_.solve(absolute_, output_.data(), most);
  return lost == kUnbounded ? kUnbounded : std::max(0.0, lost - floor) + price;
}

void OutputValues::know(const double* sums) {
  near_.forget();
  if (data_.problem.loss != OutputLoss::squared || solver_.everything() || !(sums[kWeight] > 0))
    return;
  for (std::size_t t = 0; t < data_.targets; ++t)
    goal_[t] = data_.centre[t] + sums[kTargets + t] / sums[kWeight];
  near_.know(solver_, squared_, goal_);
}

// ---- many leaves at once

OutputGains::OutputGains(const OutputRows& data) : data_(data) {
  const OutputSet& set = data.problem.set;
  if (data.problem.loss != OutputLoss::squared) return;
  if (std::any_of(set.step.begin(), set.step.end(), [](double step) { return step > 0; })) return;
  ready_ =
      !set.pieces.empty() && std::all_of(set.pieces.begin(), set.pieces.end(),
                                         [this](const OutputPiece& piece) { return add(piece); });
}

// False where the piece is of another kind.
bool OutputGains::add(const OutputPiece& from) {
  const std::size_t n = data_.targets;
  if (!from.ranges.empty() || !from.choices.empty() || from.counts.size() > 1) return false;
  if (std::any_of(from.gaps.begin(), from.gaps.end(),
                  [](const auto& gaps) { return !gaps.empty(); }))
    return false;
  Piece to;
  for (std::size_t t = 0; t < n; ++t) {
    to.low.push_back(from.low[t] - data_.centre[t]);
    to.high.push_back(from.high[t] - data_.centre[t]);
  }
  to.inner_low = to.low;
  to.inner_high = to.high;
  to.counted.assign(n, 0);
  for (const OutputCount& count : from.counts) {
    to.most = static_cast<std::size_t>(std::max(0, count.most));
    for (std::size_t k = 0; k < count.target.size(); ++k) {
      const std::uint32_t t = count.target[k];
      if (to.counted[t]) return false;
      to.counted[t] = 1;
      to.inner_low[t] = std::max(to.low[t], count.low[k] - data_.centre[t]);
      to.inner_high[t] = std::min(to.high[t], count.high[k] - data_.centre[t]);
      if (to.inner_low[t] > to.inner_high[t]) return false;
    }
  }
  pieces_.push_back(std::move(to));
  return true;
}

void OutputGains::of(std::size_t count, const double* w, const double* const* s, double* gain) {
  constexpr std::size_t kBlock = 64;
  std::vector<const double*> from(data_.targets);
  double trial[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t here = std::min(kBlock, count - at);
    for (std::size_t t = 0; t < data_.targets; ++t) from[t] = s[t] + at;
    piece(pieces_[0], here, w + at, from.data(), gain + at);
    for (std::size_t k = 1; k < pieces_.size(); ++k) {
      piece(pieces_[k], here, w + at, from.data(), trial);
      for (std::size_t i = 0; i < here; ++i) gain[at + i] = std::max(gain[at + i], trial[i]);
    }
  }
}

// Plain loops over leaves, so that they become vector instructions: gains inside, and on top the
// most that those gain which leave, as many as may.
void OutputGains::piece(const Piece& of, std::size_t count, const double* w, const double* const* s,
                        double* gain) {
  extra_.assign(of.most * count, 0.0);
  std::fill(gain, gain + count, 0.0);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double factor = data_.problem.factor[t], low = of.low[t], high = of.high[t];
    const double* sum = s[t];
    if (!of.counted[t]) {
      for (std::size_t i = 0; i < count; ++i) {
        double z = w[i] > 0 ? sum[i] / w[i] : 0;
        z = z < low ? low : z;
        z = z > high ? high : z;
        gain[i] += factor * z * (2 * sum[i] - w[i] * z);
      }
      continue;
    }
    const double inner_low = of.inner_low[t], inner_high = of.inner_high[t];
    double more[64];
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = w[i] > 0 ? sum[i] / w[i] : 0;
      double z = mean < low ? low : mean;
      z = z > high ? high : z;
      double inside = mean < inner_low ? inner_low : mean;
      inside = inside > inner_high ? inner_high : inside;
      const double kept = factor * inside * (2 * sum[i] - w[i] * inside);
      more[i] = factor * z * (2 * sum[i] - w[i] * z) - kept;
      gain[i] += kept;
    }
    for (std::size_t k = 0; k < of.most; ++k) {
      double* held = extra_.data() + k * count;
      for (std::size_t i = 0; i < count; ++i) {
        const double a = held[i], b = more[i];
        held[i] = a > b ? a : b;
        more[i] = a > b ? b : a;
      }
    }
  }
  for (std::size_t k = 0; k < of.most; ++k)
    for (std::size_t i = 0; i < count; ++i) gain[i] += extra_[k * count + i];
}

}  // namespace odt
