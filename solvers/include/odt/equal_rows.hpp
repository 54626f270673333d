// Rows that no admissible cut tells apart: they share a leaf in every tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// Groups are refined feature by feature, so that each column is read once and from end to end: to
// compare two rows over thousands of columns costs a miss of the cache for each of them.
struct EqualRows {
  std::vector<std::uint32_t>
      row;  // all rows, group by group; groups in the order of their ranks, feature by feature
  std::vector<std::uint32_t> start;  // of each group in `row`; one entry more than groups

  explicit EqualRows(const Problem& p);
  std::size_t groups() const { return start.size() - 1; }

 private:
  using Group = std::pair<std::uint32_t, std::uint32_t>;  // of two rows and more: from, to

  void refine(const Problem& p, std::size_t f);

  template <class Place>
  void part(const Place& place, std::uint32_t places, std::uint32_t from, std::uint32_t to);

  std::vector<char> first_;  // whether a group begins at this place of `row`
  std::vector<Group> open_, next_;
  std::vector<std::uint32_t> below_, begin_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted_;
};

}  // namespace odt
