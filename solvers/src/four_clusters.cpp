#include "odt/four_clusters.hpp"

#include <algorithm>

#include "odt/lanes.hpp"

namespace odt {
namespace {

constexpr double kClose = 0.98;  // of the best clustering found: a bound this near prunes as well
constexpr double kFar = 1e300;

struct Prefixes {
  const double *w, *s, *q;
  const double* other;  // cost of the other cluster, by where they part
};

// Least cost of two clusters that part somewhere in low .. high, one of them ending (sign 1) or
// starting (-1) at `end`.
ODT_CLONES double least(const Prefixes& p, std::size_t end, double sign, std::size_t low,
                        std::size_t high, std::size_t* where) {
  const double w = p.w[end], s = p.s[end], q = p.q[end];
  const Lanes step = {0, 1, 2, 3, 4, 5, 6, 7};
  Lanes best = Lanes{} + kFar, at = {};
  for (std::size_t a = low; a <= high; a += kLanes) {
    Lanes x, y, z, other;
    load(x, p.w + a);
    load(y, p.s + a);
    load(z, p.q + a);
    load(other, p.other + a);
    const Lanes index = step + static_cast<double>(a);
    const Lanes value = other + sign * (q - z) - (s - y) * (s - y) / (sign * (w - x) + 1e-290);
    const auto better = (value < best) & (index <= static_cast<double>(high));
    best = better ? value : best;
    at = better ? index : at;
  }
  std::size_t lane = 0;
  for (std::size_t l = 1; l < kLanes; ++l)
    if (best[l] < best[lane]) lane = l;
  *where = static_cast<std::size_t>(at[lane]);
  return best[lane];
}

ODT_CLONES void single_costs(const Prefixes& p, std::size_t points, double* head, double* tail) {
  const double w = p.w[points], s = p.s[points], q = p.q[points];
  for (std::size_t a = 0; a <= points; a += kLanes) {
    Lanes x, y, z;
    load(x, p.w + a);
    load(y, p.s + a);
    load(z, p.q + a);
    store(z - y * y / (x + 1e-290), head + a);
    store((q - z) - (s - y) * (s - y) / (w - x + 1e-290), tail + a);
  }
}

}  // namespace

void FourClusters::reset(std::size_t points) {
  for (auto* a : {&w_, &s_, &q_, &head_, &tail_}) {
    a->reserve(points + 1 + kLanes);
    a->data()[0] = 0;
  }
  points_ = 0;
}

void FourClusters::add(const Moments& point) {
  const std::size_t i = points_++;
  w_[i + 1] = w_[i] + point.w;
  s_[i + 1] = s_[i] + point.s;
  q_[i + 1] = q_[i] + point.q;
}

void FourClusters::first_costs() {
  // What lies behind the last point is read in full lanes, but not used.
  for (std::size_t i = 1; i < kLanes; ++i) {
    w_[points_ + i] = w_[points_];
    s_[points_ + i] = s_[points_];
    q_[points_ + i] = q_[points_];
  }
  single_costs({w_.data(), s_.data(), q_.data(), nullptr}, points_, head_.data(), tail_.data());
}

FourClusters::Ends FourClusters::before(std::size_t m, std::size_t low, std::size_t high) const {
  Ends ends{head_[m] + price_, m};
  if (m < 2) return ends;
  std::size_t where = 0;
  const double two = least({w_.data(), s_.data(), q_.data(), head_.data()}, m, 1,
                           std::max<std::size_t>(1, low), std::min(high, m - 1), &where);
  if (two + 2 * price_ < ends.value) ends.value = two + 2 * price_;
  ends.at = where;
  return ends;
}

FourClusters::Ends FourClusters::behind(std::size_t m, std::size_t low, std::size_t high) const {
  Ends ends{tail_[m] + price_, m};
  if (m + 2 > points_) return ends;
  std::size_t where = 0;
  const double two = least({w_.data(), s_.data(), q_.data(), tail_.data()}, m, -1,
                           std::max(low, m + 1), std::min(high, points_ - 1), &where);
  if (two + 2 * price_ < ends.value) ends.value = two + 2 * price_;
  ends.at = where;
  return ends;
}

double FourClusters::bound(double price, double enough, double hopeless) {
  price_ = price;
  const std::size_t n = points_;
  if (n < 5) return price;
  first_costs();
  const Ends whole = before(n, 1, n - 1);
  const Ends rest = behind(0, 1, n - 1);
  double best = whole.value;
  spans_.assign(1, {0, n, {0, 0}, {0, n}, whole.at, rest.at});
  for (;;) {
    auto widest = std::min_element(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.bound() < b.bound();
    });
    if (widest == spans_.end()) return best;
    const double lower = std::min(best, widest->bound());
    if (lower >= kClose * best || lower >= enough || best < hopeless) return lower;
    const Span span = *widest;
    *widest = spans_.back();
    spans_.pop_back();
    if (span.high - span.low < 2) continue;
    const std::size_t mid = (span.low + span.high) / 2;
    const Ends p = before(mid, span.before.at, span.before_high),
               s = behind(mid, span.behind_low, span.behind.at);
    best = std::min(best, p.value + s.value);
    spans_.push_back({span.low, mid, span.before, s, p.at, span.behind_low});
    spans_.push_back({mid, span.high, p, span.behind, span.before_high, s.at});
  }
}

}  // namespace odt
