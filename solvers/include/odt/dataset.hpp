// The training rows as the search wants them: sorted once per feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
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
  const bool narrow;  // ranks of all features fit 16 bits, with one above them
  LossModel loss;
  std::vector<std::uint32_t> order;  // [feature * rows + position]
  std::vector<std::vector<std::uint32_t>>
      allowed_upto;                 // per feature: empty, or allowed cuts below a rank
  std::vector<Column> columns;      // the tests of few-valued features, if errors are counted
  std::vector<std::size_t> sorted;  // the other features

  // With a control, it throws Stop where a limit is met: thousands of features of many rows take
  // seconds to sort.
  Dataset(const Problem& p, const Kernels& k, Control* control = nullptr);
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

  std::size_t rank_bytes() const { return narrow ? 2 : 4; }
  std::size_t rows() const { return problem.rows; }
  std::size_t features() const { return problem.features; }
  // A gap between neighbouring ranks may be cut iff an allowed cut lies in [low, high).
  bool gap_allowed(std::size_t f, std::uint32_t low, std::uint32_t high) const {
    return allowed_upto[f].empty() || allowed_upto[f][high] > allowed_upto[f][low];
  }

  // What every tree loses. Found when it is first asked for, by whichever search that is.
  Loss inseparable() const;

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 22;
  Loss lost_by_equal_rows() const;
  mutable std::once_flag known_;
  mutable Loss inseparable_ = 0;
  Control* control_;
};

}  // namespace odt
