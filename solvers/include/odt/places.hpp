// Where in a gap the threshold of a split comes out: the arithmetic of
// odtdsl/problem/ir/intervals.py and odtdsl/datasets/decimals.py, in the same floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace odt {

using Edge = std::pair<double, int>;  // just before a value (0) or just after it (1)
using Piece = std::pair<Edge, Edge>;  // from one edge to a later one
using RealSet = std::vector<Piece>;   // disjoint, in increasing order

// The float nearest to the middle of low < high, inside [low, high).
inline double midpoint(double low, double high) {
  const double total = low + high;
  const double middle = std::isfinite(total) ? total / 2 : low / 2 + high / 2;
  return low <= middle && middle < high ? middle : low;
}

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // exact as floats
constexpr double kLarge =
    1e15;  // from here on whole numbers have zeros at their end instead of all their digits

// The whole number nearest to x * 10^digits, halves to even.
inline long long rounded(double x, int digits) {
  if (digits >= 0 && digits <= 22 && std::abs(x) * kPowers[digits] < kLarge) {
    const double whole = std::nearbyint(x * kPowers[digits]);
    if (std::abs(std::fma(x, kPowers[digits], -whole)) < 0.499)
      return static_cast<long long>(whole);
  }
  char text[512];
  bool carried = false;
  if (digits >= 0) {
    std::snprintf(text, sizeof text, "%.*f", digits, x);
  } else {
    const int exponent = std::snprintf(text, sizeof text, "%.0f", std::abs(x)) - 1;
    std::snprintf(text, sizeof text, "%.*e", exponent + digits, x);
    char* end = std::strchr(text, 'e');
    carried = std::atoi(end + 1) > exponent;
    *end = 0;
  }
  long long whole = 0;
  for (const char* c = text; *c; ++c)
    if (*c >= '0' && *c <= '9') whole = 10 * whole + (*c - '0');  // the point depends on the locale
  return (*text == '-' ? -whole : whole) * (carried ? 10 : 1);
}

// The float nearest to whole / 10^digits.
inline double decimal(long long whole, int digits) {
  if (digits >= 0 && digits <= 22 && std::abs(whole) < 1LL << 53)
    return static_cast<double>(whole) / kPowers[digits] + 0.0;
  char text[64];
  std::snprintf(text, sizeof text, "%llde%d", whole, -digits);
  return std::strtod(text, nullptr) + 0.0;
}

struct Short {
  int digits;  // after the point; below 0: zeros before it
  double value;
};

// The shortest decimal among the floats of [low, high), of these the nearest to `wish`.
inline std::optional<Short> shortest(double low, double high, double wish) {
  if (!(low < high)) return {};
  const double near =
      std::min(std::max(wish, low), std::nextafter(high, -std::numeric_limits<double>::infinity()));
  char text[512];
  int digits =
      std::abs(near) < kLarge ? 0 : 1 - std::snprintf(text, sizeof text, "%.0f", std::abs(near));
  for (;; ++digits) {
    const long long whole = rounded(near, digits);
    double found = decimal(whole, digits);
    if (!(low <= found && found < high))
      found = decimal(found >= high ? whole - 1 : whole + 1, digits);
    if (low <= found && found < high) return Short{digits, found};
  }
}

// The floats of a piece: from the first to the one after the last.
inline std::pair<double, double> floats_of(Edge low, Edge high) {
  const double most = std::numeric_limits<double>::infinity();
  return {low.second ? std::nextafter(low.first, most) : low.first,
          high.second ? std::nextafter(high.first, most) : high.first};
}

inline std::optional<double> nearest_in(Edge low, Edge high, double wish) {
  if (low >= high) return {};
  if (low <= Edge(wish, 0) && Edge(wish, 1) <= high) return wish;
  if (Edge(wish, 0) < low && low.second == 0) return low.first;
  if (Edge(wish, 1) > high && high.second == 1) return high.first;
  const double middle = low.first / 2 + high.first / 2;
  if (low <= Edge(middle, 0) && Edge(middle, 1) <= high) return middle;
  // Neighbouring floats leave no room between open ends; a closed far end may still do.
  if (low.second == 0) return low.first;
  if (high.second == 1) return high.first;
  return {};
}

// The threshold of a split between two neighbouring values: the shortest decimal that is admitted,
// of these the nearest to the midpoint; without `shorten` the admitted one nearest to the midpoint.
inline std::optional<double> place(const RealSet& admitted, double low, double high, bool shorten) {
  const double wish = midpoint(low, high);
  const Edge first(low, 0), last(high, 0);
  auto piece = std::lower_bound(admitted.begin(), admitted.end(), Piece(first, first));
  if (piece != admitted.begin()) --piece;
  std::optional<Short> best;
  for (; piece != admitted.end() && piece->first < last; ++piece) {
    const Edge from = std::max(piece->first, first), to = std::min(piece->second, last);
    std::optional<Short> t;
    if (shorten) {
      const auto [lowest, end] = floats_of(from, to);
      t = shortest(lowest, end, wish);
    } else if (const auto value = nearest_in(from, to, wish)) {
      t = Short{0, *value};
    }
    if (t &&
        (!best || t->digits < best->digits ||
         (t->digits == best->digits && std::abs(t->value - wish) < std::abs(best->value - wish))))
      best = t;
  }
  return best ? std::optional<double>(best->value) : std::nullopt;
}

}  // namespace odt
