// Lanes do what numbers do, and masked sums and logarithms on them do not depend on the instruction
// set.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "odt/logs.hpp"
#include "odt/masked_sums.hpp"
#include "odt/outputs_pair_gains.hpp"
#include "odt/paired_lanes.hpp"
#include "random_problem.hpp"

using namespace odt;
using odt_test::draw;
using odt_test::Random;

namespace {

ODT_CLONES void gains_of_ratios(const double* s, const double* w, double* out) {
  Lanes a, b;
  load(a, s);
  load(b, w);
  store(gain_of_ratio<Lanes, LaneWords>(a, b), out);
}

// What all kinds of lanes do, next to the same of numbers.
template <class L>
void check_lanes(Random& random) {
  double a[kLanes], b[kLanes], out[kLanes];
  std::int64_t bits[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) {
    a[l] = draw(random, -9, 9) / 4.0;
    b[l] = draw(random, -9, 9) / 4.0;
    bits[l] = -draw(random, 0, 1);
  }
  L x, y;
  typename BitsOf<L>::type mask;
  load(x, a);
  load(y, b);
  load_bits(mask, bits);
  const auto check = [&](const L& found, const auto& of) {
    store(found, out);
    for (std::size_t l = 0; l < kLanes; ++l) CHECK(out[l] == of(a[l], b[l], bits[l] != 0));
  };
  check(x + y, [](double p, double q, bool) { return p + q; });
  check(2 - x * y, [](double p, double q, bool) { return 2 - p * q; });
  check(x / (y + 9), [](double p, double q, bool) { return p / (q + 9); });
  check(larger(x, y), [](double p, double q, bool) { return std::max(p, q); });
  check(smaller(x, y), [](double p, double q, bool) { return std::min(p, q); });
  check(magnitude(x), [](double p, double, bool) { return std::fabs(p); });
  check(masked(x, mask), [](double p, double, bool m) { return m ? p : 0; });
  check(choose(mask, x, y), [](double p, double q, bool m) { return m ? p : q; });
  check(choose((x > y) & mask, x, y),
        [](double p, double q, bool m) { return p > q && m ? p : q; });
  check(choose((x >= 1.0) | mask, x, y),
        [](double p, double q, bool m) { return p >= 1 || m ? p : q; });
  CHECK(largest(x) == *std::max_element(a, a + kLanes));
}

}  // namespace

CASE(lanes_do_as_numbers_do) {
  Random random(3);
  for (int trial = 0; trial < check::trials(2000); ++trial) {
    check_lanes<Lanes>(random);
    check_lanes<PairedLanes>(random);
  }
}

CASE(masked_sums_do_not_depend_on_the_instruction_set) {
  for (int trial = 0; trial < check::trials(300); ++trial) {
    Random random(static_cast<std::uint32_t>(trial));
    const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 40)),
                      blocks = static_cast<std::size_t>(draw(random, 1, 20)),
                      first = static_cast<std::size_t>(draw(random, 0, 5)) % blocks;
    std::vector<double> values(3 * rows);
    for (double& one : values) one = draw(random, -1000, 1000) / 7.0;
    std::vector<std::uint8_t> masks(rows * blocks);
    for (auto& mask : masks) mask = static_cast<std::uint8_t>(draw(random, 0, 255));
    std::vector<std::uint32_t> taken;
    for (std::uint32_t i = 0; i < rows; ++i)
      if (draw(random, 0, 2) > 0) taken.push_back(i);
    const MaskedRows in{values.data(), 3, masks.data(), blocks, taken.data(), taken.size()};
    std::vector<double> a(blocks * kLanes, 1), b = a, x = a, y = a;
    add_masked_two(in.behind(1), first, a.data(), b.data());
    add_two_by_lanes(in.behind(1), first, x.data(), y.data());
    CHECK(a == x && b == y);
    for (std::size_t c = first * kLanes; c < blocks * kLanes; ++c) {
      double sum = 0;
      for (std::uint32_t i : taken)
        if (masks[i * blocks + c / kLanes] >> (c % kLanes) & 1) sum += values[3 * i + 1];
      CHECK(a[c] == sum);
    }
  }
}

// Also where an instruction does both at once.
CASE(products_are_rounded_before_they_are_added) {
  for (int trial = 0; trial < check::trials(100); ++trial) {
    Random random(static_cast<std::uint32_t>(trial));
    const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 40));
    std::vector<double> part(2 * rows);
    for (double& one : part) one = draw(random, 1, 1000) / 7.0;
    std::vector<std::uint8_t> masks(rows, 255);
    std::vector<std::uint32_t> all(rows);
    for (std::size_t i = 0; i < rows; ++i) all[i] = static_cast<std::uint32_t>(i);
    const std::vector<double> one(kLanes, 1), mean(kLanes, draw(random, 1, 1000) / 3.0);
    std::vector<double> sums(kLanes, 0);
    absolute_losses(
        {part.data(), all.data(), rows, masks.data(), 1, one.data(), mean.data(), 2, 0, 0.5},
        sums.data());
    double expected = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      volatile double product = part[2 * i] * std::fabs(part[2 * i + 1] - mean[0]);
      expected += product;
    }
    CHECK(std::all_of(sums.begin(), sums.end(), [&](double sum) { return sum == expected; }));
  }
}

// Near one, far from it, and where the power of two next to the ratio changes.
CASE(logarithms_of_ratios) {
  Random random(7);
  const auto real = [&](double most) {
    return std::uniform_real_distribution<double>(-most, most)(random);
  };
  for (int trial = 0; trial < check::trials(100000); ++trial) {
    double s[kLanes], w[kLanes], gain[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double apart[] = {real(1e-9), real(1), real(300), 0, 0,
                              (draw(random, -60, 60) + 0.5 + real(0.1)) * kLog2};
      w[l] = std::exp(real(trial % 2 == 0 ? 1 : 300));
      s[l] = w[l] * std::exp(apart[draw(random, 0, 5)]);
      if (draw(random, 0, 9) == 0) s[l] = 0;
      if (s[l] == 0 && draw(random, 0, 1) == 0) w[l] = 0;
    }
    gains_of_ratios(s, w, gain);
    for (std::size_t l = 0; l < kLanes; ++l) {
      CHECK(gain[l] == gain_of_ratio(s[l], w[l]));
      if (s[l] == 0) {
        CHECK(gain[l] == 0);
        continue;
      }
      const double change = (s[l] - w[l]) / w[l];
      const double told = std::fabs(change) < 0.1 ? std::log1p(change) : std::log(s[l] / w[l]);
      const double unit =
          std::fabs(change) < 0.1 ? std::fabs(told) : std::max(kLog2, std::fabs(told));
      CHECK(std::fabs(gain[l] / s[l] - told) <= 6e-16 * unit);
    }
  }
}
