// A lower bound on four clusters of sorted points on a line, for squared error: cheap enough for
// every side of a cut.
//
// Let P(m) be the least cost of the first m points in two clusters and S(m) that of the others. P
// rises and S falls with m, so the points between two values of m are bounded by P of the low and S
// of the high end; spans are cut in two until the bound is close to the best clustering found, or
// tells the caller enough.
#pragma once

#include <cstddef>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/regression_data.hpp"

namespace odt {

class FourClusters {
 public:
  // Points in the order of their targets.
  void reset(std::size_t points);
  void add(const Moments& point);

  // At least this much is lost by up to four clusters, each for `price`. Stops early when the bound
  // is `enough`, or when a clustering below `hopeless` shows that it will not be.
  double bound(double price, double enough, double hopeless);

 private:
  struct Ends {
    double value;
    std::size_t at;  // where the two clusters part
  };
  struct Span {
    std::size_t low, high;
    Ends before, behind;                  // P at low, S at high
    std::size_t before_high, behind_low;  // where P parts at high, S at low
    double bound() const { return before.value + behind.value; }
  };

  void first_costs();
  Ends before(std::size_t m, std::size_t low, std::size_t high) const;
  Ends behind(std::size_t m, std::size_t low, std::size_t high) const;

  std::size_t points_ = 0;
  double price_ = 0;
  Aligned<double> w_, s_, q_;    // prefix sums
  Aligned<double> head_, tail_;  // cost of the points before, from a place on, as one cluster
  std::vector<Span> spans_;
};

}  // namespace odt
