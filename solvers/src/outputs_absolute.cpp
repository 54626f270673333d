#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "odt/outputs.hpp"

// Sums of absolute differences are piecewise linear, so under ranges the least one is found by a
// simplex method whose variables (outputs, and the sums that ranges bound) rest on break points and
// pass over them while that pays.

namespace odt {

void AbsoluteLoss::aim(const std::vector<std::uint32_t>& rows, const double* points,
                       const double* weights) {
  const std::size_t n = weight_.size();
  total_ = 0;
  for (std::uint32_t i : rows) total_ += weights == nullptr ? 1 : weights[i];
  std::vector<std::uint32_t> order(rows);
  for (std::size_t t = 0; t < n; ++t) {
    Line& line = lines_[t];
    line.at.clear();
    line.below.clear();
    line.sum.clear();
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return points[a * n + t] < points[b * n + t];
    });
    double weight = 0, sum = 0;
    for (std::uint32_t i : order) {
      const double w = weights == nullptr ? 1 : weights[i], at = points[i * n + t];
      if (w <= 0) continue;
      weight += w;
      sum += w * at;
      if (!line.at.empty() && line.at.back() == at) {
        line.below.back() = weight;
        line.sum.back() = sum;
      } else {
        line.at.push_back(at);
        line.below.push_back(weight);
        line.sum.push_back(sum);
      }
    }
  }
}

double AbsoluteLoss::value(std::size_t t, double y) const {
  const Line& line = lines_[t];
  if (line.at.empty()) return 0;
  const auto at = std::upper_bound(line.at.begin(), line.at.end(), y) - line.at.begin();
  const double below = at == 0 ? 0 : line.below[static_cast<std::size_t>(at) - 1];
  const double sum = at == 0 ? 0 : line.sum[static_cast<std::size_t>(at) - 1];
  return weight_[t] *
         std::max(0.0, (2 * below - line.below.back()) * y + line.sum.back() - 2 * sum);
}

double AbsoluteLoss::best(std::size_t t, double low, double high, double& output) const {
  if (low > high) return kUnbounded;
  const Line& line = lines_[t];
  if (line.at.empty()) {
    output = std::min(std::max(0.0, low), high);
    return 0;
  }
  const auto at_share = [&](double weight) {
    const auto k = std::lower_bound(line.below.begin(), line.below.end(), weight * (1 - 1e-15)) -
                   line.below.begin();
    return line.at[std::min(static_cast<std::size_t>(k), line.at.size() - 1)];
  };
  const double middle = at_share(line.below.back() / 2);
  const double near = std::min(std::max(middle, low), high);
  output = near;
  if (price_ == kUnbounded || near == middle) return value(t, near);
  // A leaf of this weight pays so much for each unit beside the interval.
  const double worth = price_ * total_ / weight_[t], all = line.below.back();
  if (worth < all)
    output = middle > near ? std::max(near, at_share((all - worth) / 2))
                           : std::min(near, at_share((all + worth) / 2));
  return value(t, output) + price_ * total_ * std::fabs(output - near);
}

namespace {

// Slopes: what is not allowed counts before what is lost.
struct Slope {
  double never = 0, lost = 0;
  Slope operator+(const Slope& o) const { return {never + o.never, lost + o.lost}; }
  Slope operator-(const Slope& o) const { return {never - o.never, lost - o.lost}; }
  Slope operator*(double f) const { return {never * f, lost * f}; }
};

}  // namespace

class LineProgram {
 public:
  LineProgram(const AbsoluteLoss& loss, const OutputBox& box,
              const std::vector<const OutputRange*>& ranges)
      : loss_(loss), ranges_(ranges), n_(loss.weight_.size()), m_(ranges.size()) {
    scale_ = 0;
    for (double w : loss.weight_) scale_ = std::max(scale_, w * loss.total_);
    for (std::size_t t = 0; t < n_; ++t) add_target(t, box.low[t], box.high[t]);
    for (const OutputRange* range : ranges) add_range(*range);
  }
  bool run(double* output);

 private:
  struct Variable {
    std::vector<double> at;    // break points, rising
    std::vector<Slope> slope;  // one more: between them
    double x = 0;
    std::size_t place = 0;  // resting: the break point; else the piece
    bool basic = false;
  };
  void finish(Variable& v, std::vector<std::pair<double, Slope>>& jumps, Slope first);
  void add_target(std::size_t t, double low, double high);
  void add_range(const OutputRange& range);
  double entry(std::size_t r, std::size_t v) const {
    return v < n_ ? -ranges_[r]->factor[v] : (v - n_ == r ? 1.0 : 0.0);
  }
  void factor();
  std::vector<double> solve(std::vector<double> b) const;
  std::vector<double> solve_transposed(std::vector<double> b) const;
  bool negative(const Slope& s) const {
    return s.never < -1e-9 * big_ || (s.never <= 1e-9 * big_ && s.lost < -1e-10 * scale_ * big_);
  }
  bool step();
  Slope jump(const Variable& v, std::size_t point) const {
    return v.slope[point + 1] - v.slope[point];
  }

  const AbsoluteLoss& loss_;
  const std::vector<const OutputRange*>& ranges_;
  std::size_t n_, m_;
  double scale_ = 1, big_ = 1;
  std::vector<Variable> all_;
  std::vector<std::size_t> basis_;
  std::vector<double> inverse_;
};

void LineProgram::finish(Variable& v, std::vector<std::pair<double, Slope>>& jumps, Slope first) {
  std::stable_sort(jumps.begin(), jumps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  v.slope.push_back(first);
  for (const auto& [at, by] : jumps) {
    if (!v.at.empty() && v.at.back() == at) {
      v.slope.back() = v.slope.back() + by;
    } else {
      v.at.push_back(at);
      v.slope.push_back(v.slope.back() + by);
    }
  }
  all_.push_back(std::move(v));
}

void LineProgram::add_target(std::size_t t, double low, double high) {
  Variable v;
  const AbsoluteLoss::Line& line = loss_.lines_[t];
  const double weight = loss_.weight_[t];
  std::vector<std::pair<double, Slope>> jumps;
  Slope first{0, line.at.empty() ? 0 : -weight * line.below.back()};
  double before = 0;
  for (std::size_t k = 0; k < line.at.size(); ++k) {
    jumps.push_back({line.at[k], {0, 2 * weight * (line.below[k] - before)}});
    before = line.below[k];
  }
  const bool hard = loss_.price_ == kUnbounded;
  const Slope price = hard ? Slope{1, 0} : Slope{0, loss_.price_ * loss_.total_};
  if (low > -kUnbounded) {
    first = first - price;
    jumps.push_back({low, price});
  }
  if (high < kUnbounded) jumps.push_back({high, price});
  if (jumps.empty()) jumps.push_back({0, {}});
  finish(v, jumps, first);
  Variable& made = all_.back();
  std::size_t k = 0;
  while (k + 1 < made.at.size() && negative(made.slope[k + 1])) ++k;
  made.place = k;
  made.x = made.at[k];
}

void LineProgram::add_range(const OutputRange& range) {
  Variable v;
  const bool hard = loss_.price_ == kUnbounded;
  const Slope price = hard ? Slope{1, 0} : Slope{0, loss_.price_ * loss_.total_};
  std::vector<std::pair<double, Slope>> jumps;
  Slope first{};
  if (range.low > -kUnbounded) {
    first = first - price;
    jumps.push_back({range.low, price});
  }
  if (range.high < kUnbounded) jumps.push_back({range.high, price});
  finish(v, jumps, first);
  Variable& made = all_.back();
  for (std::size_t t = 0; t < n_; ++t) {
    made.x += range.factor[t] * all_[t].x;
    big_ = std::max(big_, std::fabs(range.factor[t]));
  }
  made.basic = true;
  while (made.place < made.at.size() && made.x > made.at[made.place]) ++made.place;
  basis_.push_back(all_.size() - 1);
}

// The inverse of the basis, by Gauss and Jordan.
void LineProgram::factor() {
  std::vector<double> a(m_ * m_);
  inverse_.assign(m_ * m_, 0.0);
  for (std::size_t r = 0; r < m_; ++r) {
    for (std::size_t k = 0; k < m_; ++k) a[r * m_ + k] = entry(r, basis_[k]);
    inverse_[r * m_ + r] = 1;
  }
  for (std::size_t k = 0; k < m_; ++k) {
    std::size_t pivot = k;
    for (std::size_t r = k + 1; r < m_; ++r)
      if (std::fabs(a[r * m_ + k]) > std::fabs(a[pivot * m_ + k])) pivot = r;
    if (std::fabs(a[pivot * m_ + k]) < 1e-13)
      throw std::runtime_error("a basis of outputs is singular");
    for (std::size_t j = 0; j < m_ && pivot != k; ++j) {
      std::swap(a[k * m_ + j], a[pivot * m_ + j]);
      std::swap(inverse_[k * m_ + j], inverse_[pivot * m_ + j]);
    }
    const double by = 1 / a[k * m_ + k];
    for (std::size_t j = 0; j < m_; ++j) {
      a[k * m_ + j] *= by;
      inverse_[k * m_ + j] *= by;
    }
    for (std::size_t r = 0; r < m_; ++r) {
      const double f = a[r * m_ + k];
      if (r == k || f == 0) continue;
      for (std::size_t j = 0; j < m_; ++j) {
        a[r * m_ + j] -= f * a[k * m_ + j];
        inverse_[r * m_ + j] -= f * inverse_[k * m_ + j];
      }
    }
  }
}

std::vector<double> LineProgram::solve(std::vector<double> b) const {
  std::vector<double> x(m_, 0.0);
  for (std::size_t k = 0; k < m_; ++k)
    for (std::size_t r = 0; r < m_; ++r) x[k] += inverse_[k * m_ + r] * b[r];
  return x;
}

std::vector<double> LineProgram::solve_transposed(std::vector<double> b) const {
  std::vector<double> x(m_, 0.0);
  for (std::size_t k = 0; k < m_; ++k)
    for (std::size_t r = 0; r < m_; ++r) x[r] += inverse_[k * m_ + r] * b[k];
  return x;
}

// One resting variable moves while that pays. False: none does.
bool LineProgram::step() {
  factor();
  std::vector<double> never(m_), lost(m_);
  for (std::size_t k = 0; k < m_; ++k) {
    const Variable& v = all_[basis_[k]];
    never[k] = v.slope[v.place].never;
    lost[k] = v.slope[v.place].lost;
  }
  never = solve_transposed(std::move(never));
  lost = solve_transposed(std::move(lost));
  std::size_t enters = all_.size();
  double sign = 0;
  Slope slope;
  for (std::size_t j = 0; j < all_.size() && enters == all_.size(); ++j) {
    const Variable& v = all_[j];
    if (v.basic) continue;
    Slope price;
    for (std::size_t r = 0; r < m_; ++r) price = price + Slope{never[r], lost[r]} * entry(r, j);
    for (double way : {1.0, -1.0}) {
      const Slope s = (v.slope[way > 0 ? v.place + 1 : v.place] - price) * way;
      if (!negative(s)) continue;
      enters = j;
      sign = way;
      slope = s;
      break;
    }
  }
  if (enters == all_.size()) return false;
  std::vector<double> column(m_);
  for (std::size_t r = 0; r < m_; ++r) column[r] = -sign * entry(r, enters);
  const std::vector<double> rate = solve(std::move(column));
  // The next break point of each variable that moves; the entering one stands last.
  struct Moving {
    std::size_t variable;
    double rate, from;
    std::size_t next;  // break point ahead
    bool any;
  };
  std::vector<Moving> moving;
  const auto add = [&](std::size_t index, double by) {
    if (std::fabs(by) < 1e-11) return;
    const Variable& v = all_[index];
    Moving one{index, by, v.x, 0, true};
    if (by > 0) {
      one.next = v.basic ? v.place : v.place + 1;
      one.any = one.next < v.at.size();
    } else {
      one.any = v.place > 0;
      one.next = one.any ? v.place - 1 : static_cast<std::size_t>(-1);
    }
    moving.push_back(one);
  };
  for (std::size_t k = 0; k < m_; ++k) add(basis_[k], rate[k]);
  add(enters, sign);
  for (;;) {
    std::size_t first = moving.size();
    double theta = kUnbounded;
    for (std::size_t k = 0; k < moving.size(); ++k) {
      if (!moving[k].any) continue;
      const double at = all_[moving[k].variable].at[moving[k].next];
      const double when = std::max(0.0, (at - moving[k].from) / moving[k].rate);
      if (when < theta ||
          (when == theta && first < moving.size() && moving[k].variable < moving[first].variable)) {
        theta = when;
        first = k;
      }
    }
    if (first == moving.size()) throw std::runtime_error("a leaf output is not bounded");
    Moving& hit = moving[first];
    slope = slope + jump(all_[hit.variable], hit.next) * std::fabs(hit.rate);
    if (negative(slope)) {
      if (hit.rate > 0) {
        hit.any = ++hit.next < all_[hit.variable].at.size();
      } else {
        hit.any = hit.next > 0;
        if (hit.any)
          --hit.next;
        else
          hit.next = static_cast<std::size_t>(-1);
      }
      continue;
    }
    for (const Moving& one : moving) {
      Variable& v = all_[one.variable];
      v.x = one.from + one.rate * theta;
      // A piece lies before the break point of its number; below the least one it is piece 0.
      v.place = one.rate > 0 ? one.next : one.next + 1;
    }
    Variable& stops = all_[hit.variable];
    stops.place = hit.next;
    stops.x = stops.at[hit.next];
    if (hit.variable == enters) return true;
    stops.basic = false;
    all_[enters].basic = true;
    *std::find(basis_.begin(), basis_.end(), hit.variable) = enters;
    return true;
  }
}

bool LineProgram::run(double* output) {
  for (int round = 0; step(); ++round)
    if (round > 20000) throw std::runtime_error("a leaf output is not found");
  // The basic variables again from the resting ones.
  factor();
  std::vector<double> right(m_, 0.0);
  for (std::size_t r = 0; r < m_; ++r)
    for (std::size_t j = 0; j < all_.size(); ++j)
      if (!all_[j].basic) right[r] -= entry(r, j) * all_[j].x;
  const std::vector<double> x = solve(std::move(right));
  for (std::size_t k = 0; k < m_; ++k) all_[basis_[k]].x = x[k];
  for (std::size_t t = 0; t < n_; ++t) output[t] = all_[t].x;
  for (const Variable& v : all_) {
    const double slack = 1e-9;
    for (std::size_t k = 0; k < v.at.size(); ++k) {
      const double by = slack * (1 + std::fabs(v.at[k]) + std::fabs(v.x));
      if (v.slope[k].never < 0 && v.slope[k + 1].never >= 0 && v.x < v.at[k] - by) return false;
      if (v.slope[k + 1].never > 0 && v.slope[k].never <= 0 && v.x > v.at[k] + by) return false;
    }
  }
  return true;
}

double AbsoluteLoss::least(const OutputBox& box, const std::vector<const OutputRange*>& ranges,
                           double limit, double* output) {
  const std::size_t n = weight_.size();
  LineProgram program(*this, box, ranges);
  if (!program.run(output)) return kUnbounded;
  double total = 0;
  for (std::size_t t = 0; t < n; ++t) {
    double y = output[t];
    if (price_ == kUnbounded) output[t] = y = std::min(std::max(y, box.low[t]), box.high[t]);
    total += value(t, y);
    if (price_ < kUnbounded)
      total += price_ * total_ * std::max({0.0, box.low[t] - y, y - box.high[t]});
  }
  if (price_ < kUnbounded)
    for (const OutputRange* range : ranges) {
      double sum = 0;
      for (std::size_t t = 0; t < n; ++t) sum += range->factor[t] * output[t];
      total += price_ * total_ * std::max({0.0, range->low - sum, sum - range->high});
    }
  return total < limit ? total : kUnbounded;
}

}  // namespace odt
