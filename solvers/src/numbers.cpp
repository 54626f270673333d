#include "odt/numbers.hpp"

#include <algorithm>
#include <cmath>

#include "odt/logs.hpp"
#include "odt/pair_medians.hpp"

namespace odt {
namespace {

// A column of a pass costs so much less than a feature whose rows leave a list in both directions.
constexpr std::size_t kColumnsAFeature = 60, kMostColumns = 512;

// Beside no weight a sum is what rounding has left of it.
double gain_of_mean(double s, double w) { return w > 0 ? s * s / w : 0; }

}  // namespace

void NumberRows::make_cells(const Problem& p, const std::vector<std::uint32_t>& row) {
  problem = &p;
  origin = row;
  features = p.features;
  cell.resize(features);
  counts.resize(features);
  bound.resize(features);
  for (std::size_t f = 0; f < features; ++f) {
    counts[f] = p.cuts_below(f);
    for (std::uint32_t r = 1; r < counts[f].size(); ++r)
      if (counts[f][r] > counts[f][r - 1]) bound[f].push_back(r);
    cell[f].reserve(rows);
    for (std::uint32_t i : row) cell[f].push_back(counts[f][p.ranks(f)[i]]);
  }
  hash = row_hashes(rows);
}

NumberRows::NumberRows(const RegressionData& data)
    : rows(data.points),
      targets(1),
      loss(data.problem.loss),
      price(data.problem.leaf_price),
      least(static_cast<std::size_t>(data.problem.leaf_rows)),
      factor(1, 1.0),
      mean(1, 1.0),
      sum(1),
      value(1, data.target) {
  for (const Moments& m : data.point) {
    weight.push_back(m.w);
    own.push_back(loss == OutputLoss::poisson ? m.q - (m.s - m.w) : m.q);
    sum[0].push_back(m.s);
  }
  rules = &data.problem.rules;
  make_cells(data.problem.base, data.row);
}

NumberRows::NumberRows(const OutputRows& data, OutputValues& values, OutputGains& at_once)
    : rows(data.used.size()),
      targets(data.targets),
      loss(data.problem.loss),
      price(data.problem.leaf_price),
      least(data.leaf_rows),
      factor(data.problem.factor),
      mean(data.mean),
      sum(data.targets),
      value(data.targets) {
  for (std::uint32_t i : data.used) {
    const double* of = data.of(i);
    weight.push_back(of[kWeight]);
    own.push_back((loss == OutputLoss::absolute ? 0 : of[kOwn]) - of[kFloor]);
    for (std::size_t t = 0; t < targets; ++t) {
      value[t].push_back(data.problem.target[i * targets + t] - data.centre[t]);
      sum[t].push_back(weight.back() * value[t].back());
    }
  }
  rules = &data.rules();
  make_cells(data.problem.base, data.used);
  if (data.free()) return;
  if (at_once.ready()) gains = &at_once;
  ruled = [&data, &values, row = std::vector<std::uint32_t>(),
           sums = std::vector<double>()](const std::vector<std::uint32_t>& part) mutable {
    row.clear();
    sums.assign(data.width, 0.0);
    for (std::uint32_t k : part) {
      row.push_back(data.used[k]);
      for (std::size_t j = 0; j < data.width; ++j) sums[j] += data.of(row.back())[j];
    }
    return values.leaf({row.data(), row.size(), sums.data()}, kUnbounded);
  };
}

NumberLosses::NumberLosses(const NumberRows& data) : data_(data), total_(data.targets) {
  if (data.loss == OutputLoss::absolute && !data.ruled) make_tests();
  for (double w : data.weight) unit_ = unit_ && w == 1;
  if (!unit_) return;
  inverse_.resize(data.rows + 1);
  for (std::size_t i = 1; i <= data.rows; ++i) inverse_[i] = 1.0 / static_cast<double>(i);
}

void NumberLosses::make_tests() {
  std::size_t tests = 0, parted = 0;
  for (const auto& cell : data_.cell) {
    const std::size_t cuts = cell.empty() ? 0 : *std::max_element(cell.begin(), cell.end());
    first_.push_back(tests);
    tests += cuts;
    parted += cuts > 0 ? 1 : 0;
  }
  if (tests == 0 || tests > std::min(kColumnsAFeature * parted, kMostColumns)) return;
  blocks_ = (tests + kLanes - 1) / kLanes;
  masks_.assign(data_.rows * blocks_, 0);
  for (std::size_t f = 0; f < data_.features; ++f)
    for (std::size_t i = 0; i < data_.rows; ++i)
      for (std::size_t k = first_[f]; k < first_[f] + data_.cell[f][i]; ++k)
        masks_[i * blocks_ + k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
  test_.resize(tests);
  one_.reserve(blocks_ * kLanes);
  none_.reserve(blocks_ * kLanes);
}

void NumberLosses::sum_tests(std::size_t n, const std::uint32_t* const* by_target) {
  std::fill(test_.begin(), test_.end(), own_ + 2 * data_.price);
  steps_.resize(2 * n);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double* y = data_.value[t].data();
    for (std::size_t k = 0; k < n; ++k) {
      steps_[2 * k] = data_.weight[by_target[t][k]];
      steps_[2 * k + 1] = k + 1 < n ? y[by_target[t][k + 1]] - y[by_target[t][k]] : 0;
    }
    const MaskedRows rows{nullptr, 0, masks_.data(), blocks_, by_target[t], n};
    median_pass({steps_.data(), rows, weight_, one_.data(), none_.data()}, 0);
    for (std::size_t j = 0; j < test_.size(); ++j)
      test_[j] += data_.factor[t] * (one_[j] + none_[j]);
  }
}

// Lists in both directions take about eight times as long as sums.
std::uint64_t NumberLosses::work(std::size_t n) const {
  if (data_.loss != OutputLoss::absolute) return n * data_.features * data_.targets;
  if (blocks_ > 0) return n * (data_.features + data_.targets * test_.size() / 8);
  return n * data_.features * data_.targets * 8;
}

void NumberLosses::begin(const std::uint32_t* rows, std::size_t n,
                         const std::uint32_t* const* by_target) {
  own_ = 0;
  weight_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    own_ += data_.own[rows[i]];
    weight_ += data_.weight[rows[i]];
  }
  for (std::size_t t = 0; t < data_.targets; ++t) {
    total_[t] = 0;
    for (std::size_t i = 0; i < n; ++i) total_[t] += data_.sum[t][rows[i]];
  }
  if (blocks_ > 0) sum_tests(n, by_target);
}

double NumberLosses::leaf(const std::uint32_t* rows, std::size_t n) {
  if (data_.ruled) {
    copy_.assign(rows, rows + n);
    return data_.ruled(copy_);
  }
  double w = 0, lost = 0, gained = 0, output;
  for (std::size_t i = 0; i < n; ++i) {
    w += data_.weight[rows[i]];
    lost += data_.own[rows[i]];
  }
  for (std::size_t t = 0; t < data_.targets; ++t) {
    if (data_.loss == OutputLoss::absolute) {
      lost += data_.factor[t] * median(t, rows, n, output);
      continue;
    }
    double s = 0;
    for (std::size_t i = 0; i < n; ++i) s += data_.sum[t][rows[i]];
    gained += data_.factor[t] * (data_.loss == OutputLoss::squared
                                     ? gain_of_mean(s, w)
                                     : gain_over(s, w, data_.mean[t]));
  }
  return std::max(0.0, lost - gained) + data_.price;
}

void NumberLosses::splits(std::size_t f, const std::uint32_t* order, std::size_t n,
                          const std::uint32_t* const* by_target, const char* open, double* out) {
  if (n < 2) return;
  if (data_.gains) return gains(order, n, open, out);
  switch (data_.loss) {
    case OutputLoss::squared:
      return squared(order, n, out);
    case OutputLoss::poisson:
      return poisson(order, n, open, out);
    case OutputLoss::absolute:
      return medians(f, order, n, by_target, open, out);
  }
}

void NumberLosses::one_target(const std::uint32_t* order, std::size_t n, double* out) const {
  const double *sum = data_.sum[0].data(), *weight = data_.weight.data(),
               *inverse = inverse_.data();
  const double factor = data_.factor[0], prices = 2 * data_.price, total = total_[0];
  double w = 0, s = 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    s += sum[order[i]];
    const double rest = total - s;
    double gained;
    if (unit_) {
      gained = s * s * inverse[i + 1] + rest * rest * inverse[n - 1 - i];
    } else {
      w += weight[order[i]];
      gained = gain_of_mean(s, w) + gain_of_mean(rest, weight_ - w);
    }
    const double lost = own_ - factor * gained;
    out[i] = (lost > 0 ? lost : 0) + prices;
  }
}

// Most rows are passed without a look at their cells: only where the gain is the best so far.
std::size_t NumberLosses::best_split(const std::uint32_t* order, std::size_t n,
                                     const std::uint32_t* cell, double& value) const {
  const double *sum = data_.sum[0].data(), *inverse = inverse_.data();
  const double total = total_[0];
  double s = 0, best = -1;
  std::size_t place = 0;
  const std::size_t least = data_.least;
  for (std::size_t i = 1; i < n; ++i) {
    s += sum[order[i - 1]];
    const double rest = total - s, gained = s * s * inverse[i] + rest * rest * inverse[n - i];
    if (gained <= best || cell[order[i - 1]] == cell[order[i]] || i < least || n - i < least)
      continue;
    best = gained;
    place = i;
  }
  if (place > 0) value = std::max(0.0, own_ - data_.factor[0] * best) + 2 * data_.price;
  return place;
}

void NumberLosses::squared(const std::uint32_t* order, std::size_t n, double* out) {
  if (data_.targets == 1) return one_target(order, n, out);
  if (low_w_.size() < n) {
    low_w_.resize(n);
    lost_.resize(n);
  }
  double w = 0;
  for (std::size_t i = 0; i < n; ++i) low_w_[i] = w += data_.weight[order[i]];
  std::fill(out, out + n, 0.0);
  std::fill(lost_.begin(), lost_.begin() + static_cast<std::ptrdiff_t>(n), 0.0);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double* sum = data_.sum[t].data();
    const double factor = data_.factor[t], total = total_[t];
    double s = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      s += sum[order[i]];
      out[i] += factor * s * s;
      lost_[i] += factor * (total - s) * (total - s);
    }
  }
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double left = low_w_[i], right = w - left,
                 lost = own_ - (left > 0 ? out[i] / left : 0) - (right > 0 ? lost_[i] / right : 0);
    out[i] = (lost > 0 ? lost : 0) + 2 * data_.price;
  }
}

void NumberLosses::poisson(const std::uint32_t* order, std::size_t n, const char* open,
                           double* out) {
  if (low_w_.size() < n) low_w_.resize(n);
  double w = 0;
  for (std::size_t i = 0; i < n; ++i) low_w_[i] = w += data_.weight[order[i]];
  std::fill(out, out + n, own_);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double* sum = data_.sum[t].data();
    const double all = total_[t];
    double s = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      s += sum[order[i]];
      if (open[i])
        out[i] -=
            data_.factor[t] * (gain_over(s, low_w_[i], data_.mean[t]) +
                               gain_over(all - s, w - low_w_[i], data_.mean[t]));
    }
  }
  for (std::size_t i = 0; i + 1 < n; ++i) out[i] = std::max(0.0, out[i]) + 2 * data_.price;
}

// Cuts that are open, packed behind one another: first all that lie below a cut, then all beside.
void NumberLosses::gains(const std::uint32_t* order, std::size_t n, const char* open, double* out) {
  at_.clear();
  for (std::size_t i = 0; i + 1 < n; ++i)
    if (open[i]) at_.push_back(static_cast<std::uint32_t>(i));
  const std::size_t count = at_.size(), width = 2 * count;
  packed_.assign(width * (data_.targets + 1), 0.0);
  gain_.resize(width);
  const auto pack = [&](const double* values, double* to) {
    double sum = 0;
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += values[order[i]];
      if (k < count && at_[k] == i) to[k++] = sum;
    }
    for (std::size_t j = 0; j < count; ++j) to[count + j] = sum - to[j];
    return sum;
  };
  pack(data_.weight.data(), packed_.data());
  std::vector<const double*> from(data_.targets);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    double* to = packed_.data() + width * (t + 1);
    pack(data_.sum[t].data(), to);
    from[t] = to;
  }
  data_.gains->of(width, packed_.data(), from.data(), gain_.data());
  for (std::size_t k = 0; k < count; ++k)
    out[at_[k]] = std::max(0.0, own_ - gain_[k] - gain_[count + k]) + 2 * data_.price;
}

void NumberLosses::medians(std::size_t f, const std::uint32_t* order, std::size_t n,
                           const std::uint32_t* const* by_target, const char* open, double* out) {
  if (blocks_ > 0) {
    const double* test = test_.data() + first_[f];
    for (std::size_t i = 0; i + 1 < n; ++i)
      if (open[i]) out[i] = test[data_.cell[f][order[i]]];
    return;
  }
  std::fill(out, out + n, own_ + 2 * data_.price);
  for (std::size_t t = 0; t < data_.targets; ++t) {
    place_.resize(data_.rows);
    chain_.clear();
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint32_t row = by_target[t][k];
      const double y = data_.value[t][row], w = data_.weight[row];
      place_[row] = k;
      chain_.push(y, w, w * y);
    }
    chain_.close();
    chain(t, order, n, true, out);
    chain(t, order, n, false, out);
  }
}

// Adds what the rows up to each place lose to their median, or, not backwards, the rows behind it.
void NumberLosses::chain(std::size_t t, const std::uint32_t* order, std::size_t n, bool backwards,
                         double* out) {
  chain_.begin();
  for (std::size_t k = 0; k + 1 < n; ++k) {
    chain_.remove(place_[order[backwards ? n - 1 - k : k]]);
    out[backwards ? n - 2 - k : k] += data_.factor[t] * chain_.loss();
  }
}

double NumberLosses::median(std::size_t t, const std::uint32_t* rows, std::size_t n,
                            double& output) {
  pairs_.clear();
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    pairs_.emplace_back(data_.value[t][rows[i]], data_.weight[rows[i]]);
    all += pairs_.back().second;
  }
  std::sort(pairs_.begin(), pairs_.end());
  double below = 0, lost = 0;
  std::size_t k = 0;
  while (k + 1 < n && 2 * (below + pairs_[k].second) < all) below += pairs_[k++].second;
  output = n > 0 ? pairs_[k].first : 0;
  for (const auto& [y, w] : pairs_) lost += w * std::fabs(y - output);
  return lost;
}

void NumberLosses::outputs(const std::vector<std::uint32_t>& rows, double* out) {
  for (std::size_t t = 0; t < data_.targets; ++t) {
    if (data_.loss == OutputLoss::absolute) {
      median(t, rows.data(), rows.size(), out[t]);
      continue;
    }
    double w = 0, s = 0;
    for (std::uint32_t i : rows) {
      w += data_.weight[i];
      s += data_.sum[t][i];
    }
    out[t] = w > 0 ? s / w : 0;
  }
}

double NumberLosses::lost(std::uint32_t row, const double* output) const {
  double lost = 0;
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double y = data_.value[t][row], o = output[t];
    switch (data_.loss) {
      case OutputLoss::squared:
        lost += data_.factor[t] * (y - o) * (y - o);
        break;
      case OutputLoss::absolute:
        lost += data_.factor[t] * std::fabs(y - o);
        break;
      case OutputLoss::poisson:
        lost += data_.factor[t] * (o - (y > 0 ? y * std::log(std::max(o, 1e-12)) : 0));
        break;
    }
  }
  return data_.weight[row] * lost;
}

}  // namespace odt
