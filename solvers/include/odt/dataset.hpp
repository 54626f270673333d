// The training rows as the search wants them: sorted once per feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/control.hpp"
#include "odt/equal_rows.hpp"
#include "odt/kernels.hpp"
#include "odt/loss_model.hpp"
#include "odt/problem.hpp"

namespace odt {

// A test of a few-valued feature.
struct Column {
  std::size_t feature;
  std::uint32_t bound;  // ranks below it pass
};

struct Dataset {
  const Problem& problem;
  const Kernels& kernels;
  LossModel loss;
  std::vector<std::uint32_t> order;  // [feature * rows + position]
  std::vector<std::vector<std::uint32_t>>
      allowed_upto;                 // per feature: empty, or allowed cuts below a rank
  std::vector<Column> columns;      // the tests of few-valued features, if errors are counted
  std::vector<std::size_t> sorted;  // the other features

  // With a control, it throws Stop where a limit is met: thousands of features of many rows take
  // seconds to sort.
  Dataset(const Problem& p, const Kernels& k, Control* control = nullptr)
      : problem(p), kernels(k), loss(p), control_(control) {
    order.resize(p.features * p.rows);
    allowed_upto.resize(p.features);
    std::vector<std::uint32_t> start;
    for (std::size_t f = 0; f < p.features; ++f) {
      const std::uint32_t* rank = p.ranks(f);
      start.assign(p.distinct[f] + 1, 0);
      for (std::size_t i = 0; i < p.rows; ++i) ++start[rank[i] + 1];
      for (std::size_t r = 0; r < p.distinct[f]; ++r) start[r + 1] += start[r];
      for (std::size_t i = 0; i < p.rows; ++i)
        order[f * p.rows + start[rank[i]]++] = static_cast<std::uint32_t>(i);
      if (f < p.allowed.size() && !p.allowed[f].empty()) {
        allowed_upto[f].assign(p.distinct[f] + 1, 0);
        for (std::size_t r = 0; r < p.distinct[f]; ++r)
          allowed_upto[f][r + 1] = allowed_upto[f][r] + (p.allowed[f][r] != 0);
      }
      const bool few = loss.unit() && p.distinct[f] <= kFewValues + 1;
      if (!few) sorted.push_back(f);
      for (std::uint32_t r = 0; few && r + 1 < p.distinct[f]; ++r)
        if (gap_allowed(f, r, r + 1)) columns.push_back({f, r + 1});
      look(f);
    }
  }
  // Where the control, if there is one, is asked whether to go on: after each so many cells, so not
  // at all where there are few. `feature` is one of a loop over all.
  void look(std::size_t feature) const {
    const std::size_t cells = rows() * feature;
    if (control_ && cells / kCells != (cells + rows()) / kCells) control_->check();
  }
  // Up to this many cuts a feature, its stumps are counted by bitmaps. Measured on quantized sets:
  // 8 cuts win up to 15 times, 20 win on 400 rows and lose on 15,000.
  static constexpr std::uint32_t kFewValues = 12;
  std::size_t column_stride() const { return (columns.size() + 7) / 8 * 8; }

  std::size_t rows() const { return problem.rows; }
  std::size_t features() const { return problem.features; }
  // A gap between neighbouring ranks may be cut iff an allowed cut lies in [low, high).
  bool gap_allowed(std::size_t f, std::uint32_t low, std::uint32_t high) const {
    return allowed_upto[f].empty() || allowed_upto[f][high] > allowed_upto[f][low];
  }

  // What every tree loses.
  Loss inseparable() const {
    const EqualRows equal(problem);
    Loss sum = 0;
    std::vector<Loss> losses(static_cast<std::size_t>(loss.labels));
    for (std::size_t g = 0; g < equal.groups(); ++g) {
      if (equal.start[g + 1] - equal.start[g] == 1) continue;  // the row's least loss is 0
      std::fill(losses.begin(), losses.end(), 0);
      for (std::uint32_t i = equal.start[g]; i < equal.start[g + 1]; ++i)
        for (std::size_t c = 0; c < losses.size(); ++c)
          losses[c] += loss.loss(problem, equal.row[i], c);
      sum += *std::min_element(losses.begin(), losses.end());
    }
    return sum;
  }

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 22;
  Control* control_;
};

}  // namespace odt
