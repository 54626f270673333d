// Regression: the search against every tree, its clustering bounds against every clustering.
#include <cmath>
#include <functional>
#include <map>

#include "check.hpp"
#include "odt/cluster_bound.hpp"
#include "odt/four_clusters.hpp"
#include "odt/numbers.hpp"
#include "odt/pair_medians.hpp"
#include "odt/number_problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

double real(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

class RegressionOracle {
 public:
  explicit RegressionOracle(const NumberProblem& p) : p_(p) {}
  double best() { return best((1u << p_.base.rows) - 1, p_.base.depth); }

 private:
  double loss(unsigned rows, double output) const {
    double sum = p_.leaf_price;
    for (std::size_t i = 0; i < p_.base.rows; ++i) {
      if (!(rows >> i & 1)) continue;
      const double e = std::fabs(p_.target[i] - output);
      sum += (p_.weight.empty() ? 1 : p_.weight[i]) * (p_.absolute() ? e : e * e);
    }
    return sum;
  }
  double leaf(unsigned rows) const {
    double least = 1e300, weights = 0, sum = 0;
    for (std::size_t i = 0; i < p_.base.rows; ++i) {
      if (!(rows >> i & 1)) continue;
      const double w = p_.weight.empty() ? 1 : p_.weight[i];
      weights += w;
      sum += w * p_.target[i];
      if (p_.absolute()) least = std::min(least, loss(rows, p_.target[i]));
    }
    return p_.absolute() ? least : loss(rows, weights > 0 ? sum / weights : 0);
  }
  double best(unsigned rows, int depth) {
    double value = leaf(rows);
    if (depth == 0) return value;
    const auto key = std::make_pair(rows, depth);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    for (std::size_t f = 0; f < p_.base.features; ++f)
      for (std::uint32_t cut = 0; cut + 1 < p_.base.distinct[f]; ++cut) {
        unsigned left = 0;
        for (std::size_t i = 0; i < p_.base.rows; ++i)
          if ((rows >> i & 1) && p_.base.ranks(f)[i] <= cut) left |= 1u << i;
        if (left != 0 && left != rows)
          value = std::min(value, best(left, depth - 1) + best(rows & ~left, depth - 1));
      }
    return known_[key] = value;
  }

  const NumberProblem& p_;
  std::map<std::pair<unsigned, int>, double> known_;
};

}  // namespace

CASE(regression_equals_every_tree) {
  Random random(31);
  for (int trial = 0; trial < 600; ++trial) {
    NumberProblem p;
    p.base = random_problem(random, draw(random, 1, 10), draw(random, 1, 3), 1, draw(random, 1, 8));
    p.base.depth = draw(random, 0, 4);
    p.loss = trial % 2 == 0 ? OutputLoss::absolute : OutputLoss::squared;
    p.leaf_price = trial % 3 == 0 ? real(random, 0, 1) : 0;
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      p.target.push_back(draw(random, -5, 5) + (trial % 5 == 0 ? 1000 : 0));
      if (trial % 7 == 0) p.weight.push_back(draw(random, 0, 3) * 0.7);
    }
    NumberOptions o;
    o.threads = 1 + trial % 2;
    const NumberResult r = solve_numbers(p, o);
    CHECK(r.status == Status::optimal);
    CHECK(std::fabs(r.value - RegressionOracle(p).best()) <= 1e-7);
    CHECK(r.output.size() == r.tree.nodes.size());
  }
}

CASE(four_clusters_are_bounded_closely) {
  Random random(32);
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t n = static_cast<std::size_t>(draw(random, 1, trial % 10 == 0 ? 300 : 25));
    const double price = trial % 2 == 0 ? 0 : real(random, 0, 2);
    std::vector<double> y(n);
    for (double& v : y) v = trial % 3 == 0 ? draw(random, -3, 3) : real(random, -3, 3);
    std::sort(y.begin(), y.end());
    FourClusters four;
    four.reset(n);
    std::vector<Moments> prefix(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      Moments point;
      point.w = draw(random, 1, 4);
      point.s = point.w * y[i];
      point.q = point.s * y[i];
      four.add(point);
      prefix[i + 1] = prefix[i];
      prefix[i + 1].add(point);
    }
    const auto cost = [&](std::size_t a, std::size_t b) {
      Moments m = prefix[b];
      m.subtract(prefix[a]);
      return m.q - m.s * m.s / m.w;
    };
    // By the plain recurrence.
    std::vector<double> before(n + 1, 1e300);
    before[0] = 0;
    double best = 1e300;
    for (int k = 1; k <= 4; ++k) {
      std::vector<double> now(n + 1, 1e300);
      for (std::size_t i = 1; i <= n; ++i)
        for (std::size_t m = 0; m < i; ++m) now[i] = std::min(now[i], before[m] + cost(m, i));
      before = now;
      best = std::min(best, before[n] + k * price);
    }
    const double bound = four.bound(price, 1e300, -1e300);
    CHECK(bound <= best + 1e-9);
    if (n >= 5) CHECK(bound >= 0.98 * best - 1e-9);
    CHECK(four.bound(price, best / 2, -1e300) <= best + 1e-9);
    CHECK(four.bound(price, 1e300, best * 2) <= best + 1e-9);
    const Options endless;
    Control control(endless);
    ClusterBound clusters(control);
    CHECK(std::fabs(clusters(n, 4, price, cost) - best) <= 1e-9);
  }
}

CASE(medians_of_pairs_equal_plain_ones) {
  Random random(34);
  for (int trial = 0; trial < check::trials(3000); ++trial) {
    NumberProblem p;
    p.base = random_problem(random, draw(random, 2, 14), draw(random, 1, 11), 1, 2);
    p.loss = OutputLoss::absolute;
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      p.target.push_back(trial % 2 == 0 ? draw(random, -3, 3) : real(random, -9, 9));
      if (trial % 3 == 0) p.weight.push_back(draw(random, 1, 4) * 0.5);
    }
    const RegressionData data(p);
    RegressionView view;
    view.make_root(data);
    const std::size_t columns = view.columns.size();
    const auto lost = [&](const std::function<bool(std::size_t)>& in) {
      double least = 1e300;
      for (std::size_t m = 0; m < view.points; ++m) {
        double sum = 0;
        for (std::size_t i = 0; i < view.points; ++i)
          if (in(i)) sum += view.point[i].w * std::fabs(view.target[i] - view.target[m]);
        least = std::min(least, sum);
      }
      return least;
    };
    const auto has = [&](std::size_t i, std::size_t k, std::size_t value) {
      return view.codes(k)[i] == value;
    };
    if (columns == 0) continue;
    PairMedians pairs;
    pairs.prepare(view);
    const std::size_t side = draw(random, 0, static_cast<int>(columns)), value = trial % 2;
    const auto picked = [&](std::size_t i) { return side == columns || has(i, side, value); };
    side == columns ? pairs.pick_all() : pairs.pick(side, value == 1);
    PairMedians::Parts all, half[2];
    pairs.by_one(all, true);
    for (std::size_t j = 0; j < columns; ++j) {
      double points = 0, n = 0;
      for (std::size_t i = 0; i < view.points; ++i) {
        if (!picked(i) || !has(i, j, 1)) continue;
        points += 1;
        n += view.point[i].n;
      }
      CHECK(all.points[j] == points && all.n[j] == n);
      CHECK(std::fabs(all.one[j] - lost([&](auto i) { return picked(i) && has(i, j, 1); })) < 1e-9);
      CHECK(std::fabs(all.none[j] - lost([&](auto i) { return picked(i) && has(i, j, 0); })) <
            1e-9);
    }
    const std::size_t k = draw(random, 0, static_cast<int>(columns) - 1);
    if (!pairs.by_two(k, half, true)) {
      CHECK(all.points[k] == 0 || all.points[k] == all.all_points);
      continue;
    }
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t j = k; j < columns; ++j) {
        const auto part = [&](std::size_t b) {
          return lost([&](auto i) { return picked(i) && has(i, k, a) && has(i, j, b); });
        };
        CHECK(std::fabs(half[a].one[j] - part(1)) < 1e-9);
        CHECK(std::fabs(half[a].none[j] - part(0)) < 1e-9);
      }
  }
}

// Few cuts by one pass over the targets, many by lists.
CASE(medians_of_cuts_equal_plain_ones) {
  Random random(35);
  int many = 0;
  for (int trial = 0; trial < check::trials(1500); ++trial) {
    NumberProblem p;
    const bool long_ones = trial % 15 == 0;
    p.base = random_problem(random, long_ones ? 90 : draw(random, 2, 14), draw(random, 1, 3), 1,
                            long_ones ? 1000 : draw(random, 2, 9));
    p.loss = OutputLoss::absolute;
    p.leaf_price = trial % 5 == 0 ? 0.5 : 0;
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      p.target.push_back(trial % 2 == 0 ? draw(random, -3, 3) : real(random, -9, 9));
      if (trial % 3 == 0) p.weight.push_back(draw(random, 1, 4) * 0.5);
    }
    const RegressionData points(p);
    const NumberRows rows(points);
    NumberLosses losses(rows);
    std::vector<std::uint32_t> some;
    for (std::uint32_t i = 0; i < rows.rows; ++i)
      if (trial % 4 == 0 || draw(random, 0, 2) > 0) some.push_back(i);
    const std::size_t n = some.size();
    std::vector<std::uint32_t> order(some), by_target(some);
    const std::vector<double>& y = rows.value[0];
    std::sort(by_target.begin(), by_target.end(), [&](auto a, auto b) { return y[a] < y[b]; });
    const std::uint32_t* sorted = by_target.data();
    losses.begin(some.data(), n, &sorted);
    const auto lost = [&](std::size_t first, std::size_t last) {
      double least = 1e300;
      for (std::size_t m = first; m < last; ++m) {
        double sum = 0;
        for (std::size_t i = first; i < last; ++i)
          sum += rows.weight[order[i]] * std::fabs(y[order[i]] - y[order[m]]);
        least = std::min(least, sum);
      }
      return least;
    };
    std::size_t cuts = 0;
    for (std::size_t f = 0; f < rows.features; ++f) {
      cuts += rows.bound[f].size();
      const auto& cell = rows.cell[f];
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return cell[a] < cell[b]; });
      std::vector<char> open(n + 1, 0);
      std::vector<double> out(n + 1, 0.0);
      for (std::size_t i = 0; i + 1 < n; ++i) open[i] = cell[order[i]] != cell[order[i + 1]];
      losses.splits(f, order.data(), n, &sorted, open.data(), out.data());
      for (std::size_t i = 0; i + 1 < n; ++i)
        if (open[i])
          CHECK(std::fabs(out[i] - lost(0, i + 1) - lost(i + 1, n) - 2 * p.leaf_price) < 1e-9);
    }
    many += cuts > 60 * rows.features;
  }
  CHECK(many > 0);
}

CASE(regression_by_columns_and_by_pairs) {
  Random random(33);
  for (int trial = 0; trial < check::trials(60); ++trial) {
    NumberProblem p, q;
    // With many tests a row, or a feature where medians are looked for, numbers stay numbers.
    const bool absolute = trial % 2 == 1;
    p.base = random_problem(random, draw(random, 20, 200), 3, 1,
                            absolute ? draw(random, 4, 40) : draw(random, 4, 14));
    p.loss = absolute ? OutputLoss::absolute : OutputLoss::squared;
    for (std::size_t i = 0; i < p.base.rows; ++i)
      p.target.push_back(p.base.ranks(0)[i] * (p.base.ranks(1)[i] % 2) + real(random, 0, 1));
    p.base.depth = 3;
    q = p;
    // One 0/1 column per cut.
    q.base.rank.clear();
    q.base.distinct.clear();
    for (std::size_t f = 0; f < p.base.features; ++f)
      for (std::uint32_t cut = 0; cut + 1 < p.base.distinct[f]; ++cut) {
        for (std::size_t i = 0; i < p.base.rows; ++i)
          q.base.rank.push_back(p.base.ranks(f)[i] > cut);
        q.base.distinct.push_back(2);
      }
    q.base.features = q.base.distinct.size();
    const NumberResult a = solve_numbers(p, {}), b = solve_numbers(q, {});
    CHECK(a.status == Status::optimal && b.status == Status::optimal);
    CHECK(std::fabs(a.value - b.value) <= 1e-8);
  }
}
