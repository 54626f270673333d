// Random problems and an oracle that tries every tree.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "odt/problem.hpp"

namespace odt_test {

using Random = std::mt19937;
inline int draw(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline odt::Problem random_problem(Random& random, int rows, int features, int classes,
                                   int values) {
  odt::Problem p;
  p.rows = static_cast<std::size_t>(rows);
  p.features = static_cast<std::size_t>(features);
  p.classes = classes;
  for (int f = 0; f < features; ++f) {
    std::vector<int> x(p.rows);
    for (int& v : x) v = draw(random, 0, values - 1);
    std::vector<int> sorted = x;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (int v : x)
      p.rank.push_back(static_cast<std::uint32_t>(
          std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()));
    p.distinct.push_back(static_cast<std::uint32_t>(sorted.size()));
  }
  for (int i = 0; i < rows; ++i) p.label.push_back(draw(random, 0, classes - 1));
  return p;
}

class Oracle {
 public:
  explicit Oracle(const odt::Problem& p) : p_(p) {}
  odt::Loss best() { return best((1u << p_.rows) - 1, p_.depth); }

 private:
  odt::Loss leaf(unsigned rows) const {
    odt::Loss least = odt::kInfinite;
    for (int c = 0; c < p_.classes; ++c) {
      odt::Loss sum = 0;
      for (std::size_t i = 0; i < p_.rows; ++i) {
        if (!(rows >> i & 1)) continue;
        const std::size_t label = static_cast<std::size_t>(p_.label[i]);
        const odt::Loss unit = p_.cost.empty()
                                   ? p_.label[i] != c
                                   : p_.cost[label * static_cast<std::size_t>(p_.classes) +
                                             static_cast<std::size_t>(c)];
        sum += unit * (p_.weight.empty() ? 1 : p_.weight[i]);
      }
      least = std::min(least, sum);
    }
    return least + p_.leaf_price;
  }
  odt::Loss best(unsigned rows, int depth) {
    odt::Loss value = leaf(rows);
    if (depth == 0) return value;
    const auto key = std::make_pair(rows, depth);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    for (std::size_t f = 0; f < p_.features; ++f)
      for (std::uint32_t cut = 0; cut + 1 < p_.distinct[f]; ++cut) {
        unsigned left = 0;
        for (std::size_t i = 0; i < p_.rows; ++i)
          if ((rows >> i & 1) && p_.ranks(f)[i] <= cut) left |= 1u << i;
        if (left == 0 || left == rows) continue;
        value = std::min(value, best(left, depth - 1) + best(rows & ~left, depth - 1));
      }
    return known_[key] = value;
  }

  const odt::Problem& p_;
  std::map<std::pair<unsigned, int>, odt::Loss> known_;
};

}  // namespace odt_test
