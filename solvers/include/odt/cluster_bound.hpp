// Optimal clustering of sorted points on a line: a bound for every tree with as many leaves, since
// a tree's leaves are clusters too. Optimal clusters are intervals, and where the last one starts
// moves right with the end (the costs are Monge), so every layer takes n log n costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "odt/control.hpp"

namespace odt {

class ClusterBound {
 public:
  explicit ClusterBound(Control& control) : control_(control) {}

  // Least cost of at most `most` clusters, each of them for `price`. cost(a, b): of the points a ..
  // b - 1 in one cluster.
  template <class Cost>
  double operator()(std::size_t n, int most, double price, const Cost& cost) {
    before_.resize(n + 1);
    now_.resize(n + 1);
    before_[0] = 0;
    work_ = 1 + n / kNear;
    for (std::size_t i = 1; i <= n; ++i) before_[i] = cost(0, i);
    double best = before_[n] + price;
    for (int k = 2; k <= most && static_cast<std::size_t>(k) <= n; ++k) {
      if (best <= k * price) break;
      if (k < most) {
        layer(1, n, 0, n - 1, cost);
        std::swap(before_, now_);
        before_[0] = 0;
        best = std::min(best, before_[n] + k * price);
      } else {
        for (std::size_t m = 1; m < n; ++m)
          best = std::min(best, before_[m] + cost(m, n) + k * price);
      }
    }
    return best;
  }

 private:
  template <class Cost>
  void layer(std::size_t low, std::size_t high, std::size_t first, std::size_t last,
             const Cost& cost) {
    while (low <= high) {
      const std::size_t mid = (low + high) / 2;
      double least = before_[std::min(first, mid)] + cost(std::min(first, mid), mid);
      std::size_t where = std::min(first, mid);
      for (std::size_t m = first + 1; m < mid && m <= last; ++m) {
        const double value = before_[m] + cost(m, mid);
        if (value < least) {
          least = value;
          where = m;
        }
      }
      now_[mid] = least;
      look(std::min(last + 1, mid) - std::min(first, mid));
      if (mid > low) layer(low, mid - 1, first, where, cost);
      low = mid + 1;
      first = where;
    }
  }

  void look(std::size_t costs) {
    constexpr std::size_t kMany = 1 << 14;
    if ((looked_ += costs * work_) < kMany) return;
    control_.poll(looked_);
    looked_ = 0;
  }

  static constexpr std::size_t kNear = 4096;  // points that are read as fast as rows in turn

  Control& control_;
  std::vector<double> before_, now_;
  std::size_t work_ = 1, looked_ = 0;
};

}  // namespace odt
