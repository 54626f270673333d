// Rows that no admissible cut tells apart: they share a leaf in every tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

struct EqualRows {
  std::vector<std::uint32_t> row;    // all rows, group by group
  std::vector<std::uint32_t> start;  // of each group in `row`; one entry more than groups

  explicit EqualRows(const Problem& p) : row(p.rows) {
    std::vector<std::vector<std::uint32_t>> below(p.features);  // admissible cuts below a rank
    for (std::size_t f = 0; f < std::min(p.features, p.allowed.size()); ++f) {
      if (p.allowed[f].empty()) continue;
      below[f].assign(p.distinct[f], 0);
      for (std::size_t r = 0; r + 1 < p.distinct[f]; ++r) below[f][r + 1] = below[f][r] + (p.allowed[f][r] != 0);
    }
    const auto place = [&](std::size_t f, std::uint32_t i) {
      const std::uint32_t rank = p.ranks(f)[i];
      return below[f].empty() ? rank : below[f][rank];
    };
    // The first feature that tells two rows apart decides.
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      for (std::size_t f = 0; f < p.features; ++f)
        if (place(f, a) != place(f, b)) return place(f, a) < place(f, b);
      return false;
    };
    for (std::size_t i = 0; i < p.rows; ++i) row[i] = static_cast<std::uint32_t>(i);
    std::sort(row.begin(), row.end(), before);
    for (std::size_t i = 0; i < p.rows; ++i)
      if (i == 0 || before(row[i - 1], row[i])) start.push_back(static_cast<std::uint32_t>(i));
    start.push_back(static_cast<std::uint32_t>(p.rows));
  }
  std::size_t groups() const { return start.size() - 1; }
};

}  // namespace odt
