#include "odt/dual_master.hpp"

#include <algorithm>
#include <cmath>

namespace odt {
namespace {

constexpr double kTiny = 1e-9;

// Rows of `width` coefficients and a right side; the last row holds the reduced costs.
class Tableau {
 public:
  Tableau(std::size_t rows, std::size_t columns)
      : rows_(rows), width_(columns + 1), cell_((rows + 1) * width_, 0.0), basic_(rows) {}

  double& at(std::size_t row, std::size_t column) { return cell_[row * width_ + column]; }
  double& right(std::size_t row) { return at(row, width_ - 1); }
  double& cost(std::size_t column) { return at(rows_, column); }
  double value() { return -right(rows_); }

  void pivot(std::size_t row, std::size_t column) {
    basic_[row] = column;
    const double by = 1 / at(row, column);
    for (std::size_t j = 0; j < width_; ++j) at(row, j) *= by;
    for (std::size_t i = 0; i <= rows_; ++i) {
      const double factor = at(i, column);
      if (i == row || factor == 0) continue;
      for (std::size_t j = 0; j < width_; ++j) at(i, j) -= factor * at(row, j);
    }
  }

  // Least cost from a basis whose right sides are at least 0.
  void minimize() {
    for (std::size_t step = 0; step < 50 * rows_ + 200; ++step) {
      std::size_t column = width_;
      for (std::size_t j = 0; j + 1 < width_; ++j)
        if (cost(j) < -kTiny && (column == width_ || (step < 20 * rows_ && cost(j) < cost(column))))
          column = j;
      if (column == width_) return;
      std::size_t row = rows_;
      for (std::size_t i = 0; i < rows_; ++i) {
        if (at(i, column) <= kTiny) continue;
        if (row == rows_ || right(i) * at(row, column) < right(row) * at(i, column)) row = i;
      }
      if (row == rows_) return;  // unbounded: not with prices for all that is missing
      pivot(row, column);
    }
  }

 private:
  std::size_t rows_, width_;
  std::vector<double> cell_;
  std::vector<std::size_t> basic_;
};

}  // namespace

void DualMaster::add(double cost, std::vector<double> values) {
  costs_.push_back(cost);
  values_.push_back(std::move(values));
}

// Columns: trees, then per row what is left below its bound and what is missing, then per term its
// largest value, which may have either sign.
double DualMaster::solve(std::vector<double>& multipliers) {
  const std::size_t trees = costs_.size(), rows = rows_.size(), terms = weights_.size();
  const std::size_t left = trees, missing = left + rows, largest = missing + rows;
  Tableau t(rows + 1, largest + 2 * terms);
  for (std::size_t i = 0; i < trees; ++i) {
    t.cost(i) = costs_[i];
    t.at(rows, i) = 1;
    for (std::size_t k = 0; k < rows; ++k) t.at(k, i) = values_[i][k];
  }
  t.right(rows) = 1;
  for (std::size_t k = 0; k < rows; ++k) {
    t.at(k, left + k) = 1;
    if (rows_[k].term >= 0) {
      const std::size_t z = largest + 2 * static_cast<std::size_t>(rows_[k].term);
      t.at(k, z) = -1;
      t.at(k, z + 1) = 1;
      t.cost(missing + k) = 1;  // an empty column
    } else {
      t.right(k) = rows_[k].bound;
      t.at(k, missing + k) = -1;
      t.cost(missing + k) = rows_[k].most;
    }
  }
  for (std::size_t m = 0; m < terms; ++m) {
    t.cost(largest + 2 * m) = weights_[m];
    t.cost(largest + 2 * m + 1) = -weights_[m];
  }
  // To begin with, the last tree alone.
  const std::vector<double>& first = values_.back();
  t.pivot(rows, trees - 1);
  std::vector<int> highest(terms, -1);
  for (std::size_t k = 0; k < rows; ++k) {
    if (rows_[k].term < 0) {
      t.pivot(k, first[k] <= rows_[k].bound ? left + k : missing + k);
      continue;
    }
    int& best = highest[static_cast<std::size_t>(rows_[k].term)];
    if (best < 0 || first[k] > first[static_cast<std::size_t>(best)]) best = static_cast<int>(k);
  }
  for (std::size_t m = 0; m < terms; ++m)
    if (highest[m] >= 0)
      t.pivot(static_cast<std::size_t>(highest[m]),
              largest + 2 * m + (first[static_cast<std::size_t>(highest[m])] < 0));
  for (std::size_t k = 0; k < rows; ++k)
    if (rows_[k].term >= 0 &&
        highest[static_cast<std::size_t>(rows_[k].term)] != static_cast<int>(k))
      t.pivot(k, left + k);
  t.minimize();
  multipliers.resize(rows);
  for (std::size_t k = 0; k < rows; ++k) multipliers[k] = std::max(0.0, t.cost(left + k));
  return t.value();
}

}  // namespace odt
