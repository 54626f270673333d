// What leaves lose above the floors of their rows, exactly and from below.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/outputs_rows.hpp"

namespace odt {

// Rows of a leaf or a side of a cut; their order does not matter.
struct OutputPart {
  const std::uint32_t* row;
  std::size_t rows;
  const double* sums;
};

class OutputValues {
 public:
  explicit OutputValues(const OutputRows& data);

  // Loss of a leaf above its floor, the price of a leaf included; infinite where it is `limit` or
  // more.
  double leaf(const OutputPart& part, double limit);
  // What rows lose to their best output, feasible or not.
  double loss(const OutputPart& part);
  // A lower bound on that, from the free loss and from what is known of a set nearby.
  double quick(const double* sums) const;
  // Notes the nearest feasible output of a mean: means close by are bounded by it.
  void know(const double* sums);
  void forget() { near_.forget(); }
  bool by_rows() const { return data_.problem.loss == OutputLoss::absolute; }

 private:
  double free(const double* sums) const {
    return free_loss(data_.problem, data_.mean, sums[kWeight], sums[kOwn], sums + kTargets);
  }
  double medians(const OutputPart& part);
  double absolute(const OutputPart& part, double limit);

  const OutputRows& data_;
  OutputSolver solver_;
  SquaredLoss squared_;
  PoissonLoss poisson_;
  AbsoluteLoss absolute_;
  std::vector<double> goal_, output_;
  NearOutput near_;
  std::vector<std::uint32_t> rows_;
};

// The same for many leaves at once, under squared error, where targets are tied by one count at
// most.
//
// A leaf of weight w and sums s loses the rows' own losses less its gain: the most of 2 s.z - w z^2
// over feasible z.
class OutputGains {
 public:
  explicit OutputGains(const OutputRows& data);
  bool ready() const { return ready_; }
  // gain[i] of the leaf of weight w[i] and sums s[t][i], i < count.
  void of(std::size_t count, const double* w, const double* const* s, double* gain);

 private:
  struct Piece {
    std::vector<double> low, high;              // per target, relative to the centre
    std::vector<double> inner_low, inner_high;  // of targets that a count keeps inside
    std::vector<char> counted;
    std::size_t most = 0;
  };
  bool add(const OutputPiece& piece);
  void piece(const Piece& piece, std::size_t count, const double* w, const double* const* s,
             double* gain);

  const OutputRows& data_;
  bool ready_ = false;
  std::vector<Piece> pieces_;
  std::vector<double> extra_;
};

}  // namespace odt
