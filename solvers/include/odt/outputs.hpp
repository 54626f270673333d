// Feasible sets of leaf outputs, and the feasible output of least loss for the rows of a leaf.
//
// A set is a union of pieces. A piece is a polyhedron, less what is said without taking it apart:
// gaps of a target, a grid of outputs, counts of targets that leave an interval, choices between
// sets of ranges. The best output of a piece is found by branch and bound over these; where no
// range ties targets together it has a closed form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

namespace odt {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// low <= sum of factor * output <= high.
struct OutputRange {
  std::vector<double> factor;  // per target
  double low = -kUnbounded, high = kUnbounded;
};

// At most `most` of these targets lie outside their interval.
struct OutputCount {
  int most = 0;
  std::vector<std::uint32_t> target;
  std::vector<double> low, high;
};

struct OutputPiece {
  std::vector<double> low, high;  // per target
  std::vector<std::vector<std::pair<double, double>>>
      gaps;  // per target: open intervals without outputs, rising
  std::vector<OutputRange> ranges;
  std::vector<OutputCount> counts;
  std::vector<std::vector<std::vector<OutputRange>>>
      choices;  // [choice][alternative]: ranges that then hold

  // Made once, in outputs.cpp.
  OutputPiece();
  OutputPiece(const OutputPiece&);
  OutputPiece(OutputPiece&&) noexcept;
  OutputPiece& operator=(const OutputPiece&);
  OutputPiece& operator=(OutputPiece&&) noexcept;
  ~OutputPiece();
};

struct OutputSet {
  std::size_t targets = 0;
  std::vector<double> step;  // per target: outputs are multiples of it; 0: any. Ends of bounds and
                             // gaps are multiples too.
  std::vector<OutputPiece> pieces;

  static OutputSet all(std::size_t targets);
};

struct OutputBox {
  std::vector<double> low, high;
};

// What a leaf loses by its output: a sum over targets of convex functions.
class LeafLoss {
 public:
  virtual ~LeafLoss() = default;
  // Least loss of one target with its output in [low, high], and that output.
  virtual double best(std::size_t target, double low, double high, double& output) const = 0;
  // Least loss of all targets in a box under ranges; infinity where nothing fits or all is `limit`
  // or more.
  virtual double least(const OutputBox& box, const std::vector<const OutputRange*>& ranges,
                       double limit, double* output) = 0;
  // What targets are wished to be, if of two that are otherwise alike the one of the larger wish
  // never gets less.
  virtual const double* wish() const { return nullptr; }
  virtual bool alike(std::size_t, std::size_t) const { return false; }
  // Weights and goal of a squared distance, to be computed in line; null for others.
  virtual const double* squared_weights() const { return nullptr; }
  // Whether what is outside a set is only paid for.
  virtual bool priced() const { return false; }
};

class OutputSolver {
 public:
  explicit OutputSolver(const OutputSet& set);
  OutputSolver(OutputSolver&&) noexcept;
  ~OutputSolver();
  // Least loss over the set and the output that has it; infinity where it is `limit` or more.
  double solve(LeafLoss& loss, double* output, double limit = kUnbounded);
  const OutputSet& set() const { return set_; }
  // Whether a vector lies in the set, but for `slack` times the size of what is compared.
  bool contains(const double* output, double slack) const;
  bool convex() const { return convex_; }
  bool everything() const { return everything_; }
  std::uint64_t relaxations = 0;  // solved so far

 private:
  struct State {
    OutputBox box;
    std::vector<const OutputRange*> ranges;
    std::vector<std::vector<char>> sides;  // [count][entry]: 0 undecided, 1 inside, 2 may leave
    std::vector<char> chosen;              // [choice]
  };
  struct Shape {
    bool separable = false;
    bool plain = false;           // separable, without gaps, grids, or more than one count
    bool apportioned = false;     // a grid, and one range: the sum of all targets is given
    std::vector<char> symmetric;  // [count]
  };
  double separate_squared(const OutputPiece& piece, const double* goal, const double* weight,
                          double limit, double* output) const;
  double separate(const OutputPiece& piece, LeafLoss& loss, double limit, double* output) const;
  double apportion(const OutputPiece& piece, std::size_t index, LeafLoss& loss, double limit,
                   double* output);
  double one(const OutputPiece& piece, const LeafLoss& loss, std::size_t target, double low,
             double high, double& output) const;
  void branch(const OutputPiece& piece, std::size_t index, LeafLoss& loss, std::size_t level);
  bool settle(const OutputPiece& piece, State& state) const;
  bool split_gap(const OutputPiece& piece, std::size_t index, LeafLoss& loss, std::size_t level,
                 const std::vector<double>& y);
  bool split_count(const OutputPiece& piece, std::size_t index, LeafLoss& loss, std::size_t level,
                   const std::vector<double>& y);
  bool split_choice(const OutputPiece& piece, std::size_t index, LeafLoss& loss, std::size_t level,
                    const std::vector<double>& y);
  bool halves(const OutputPiece& piece, std::size_t index, LeafLoss& loss, std::size_t level,
              std::size_t target, double left, double right, double at);
  State& state_at(std::size_t level);

  const OutputSet& set_;
  std::vector<Shape> shapes_;
  bool convex_ = false, everything_ = false;
  std::deque<State> states_;
  std::vector<double> point_;
  double best_ = kUnbounded;
  double* output_ = nullptr;
  mutable std::vector<double> saved_, inside_, trial_;
  mutable std::vector<std::uint32_t> order_;
};

// The weighted squared distance from a goal, or what is beside the set at a price: weight * (y -
// goal)^2 + price * the 1-norm violation.
class SquaredLoss final : public LeafLoss {
 public:
  explicit SquaredLoss(std::vector<double> weight, double price = kUnbounded)
      : weight_(std::move(weight)), price_(price) {}
  void aim(const double* goal) { goal_ = goal; }
  const std::vector<double>& weights() const { return weight_; }
  double best(std::size_t target, double low, double high, double& output) const override;
  double least(const OutputBox& box, const std::vector<const OutputRange*>& ranges, double limit,
               double* output) override;
  const double* wish() const override { return goal_; }
  bool priced() const override { return price_ < kUnbounded; }
  const double* squared_weights() const override {
    return price_ < kUnbounded ? nullptr : weight_.data();
  }
  bool alike(std::size_t a, std::size_t b) const override { return weight_[a] == weight_[b]; }

 private:
  // g . x >= c with a multiplier between 0 and cap; x is the output times the root of its weight.
  struct Bound {
    std::vector<double> g;
    double c, cap, u;
    int state;  // 0: off, 1: active, 2: paid for
    bool equal;
  };
  Bound& add(double c, double cap, bool equal);
  bool rows(const OutputBox& box, const std::vector<const OutputRange*>& ranges);
  bool program(double limit, double fixed);
  bool enter(std::size_t p, bool up);
  bool direction(const std::vector<double>& g);
  void polish();

  std::vector<double> weight_;
  double price_;
  const double* goal_ = nullptr;
  // Of the program that is being solved, in free targets only.
  std::vector<std::uint32_t> free_;
  std::vector<double> low_, high_, root_, start_, x_, z_, r_, gram_, rhs_;
  std::vector<Bound> bounds_;
  std::size_t used_ = 0;
  std::vector<std::size_t> active_;
};

// weight * (y - goal log y), less the same at the goal: half the Poisson deviance.
class PoissonLoss final : public LeafLoss {
 public:
  explicit PoissonLoss(std::vector<double> weight)
      : weight_(std::move(weight)), quadratic_(weight_) {}
  void aim(const double* goal) { goal_ = goal; }
  double best(std::size_t target, double low, double high, double& output) const override;
  double least(const OutputBox& box, const std::vector<const OutputRange*>& ranges, double limit,
               double* output) override;
  const double* wish() const override { return goal_; }
  bool alike(std::size_t a, std::size_t b) const override { return weight_[a] == weight_[b]; }

 private:
  double value(const double* y) const;
  bool start(OutputBox box, const std::vector<const OutputRange*>& ranges, double* y);
  std::vector<double> weight_, quadratic_;
  const double* goal_ = nullptr;
};

// The weighted sum of absolute differences from points.
class AbsoluteLoss final : public LeafLoss {
 public:
  explicit AbsoluteLoss(std::vector<double> weight, double price = kUnbounded)
      : weight_(std::move(weight)), price_(price), lines_(weight_.size()) {}
  // The points of a leaf: rows of `points` (targets each) with weights; sorted here.
  void aim(const std::vector<std::uint32_t>& rows, const double* points, const double* weights);
  double best(std::size_t target, double low, double high, double& output) const override;
  double least(const OutputBox& box, const std::vector<const OutputRange*>& ranges, double limit,
               double* output) override;
  bool priced() const override { return price_ < kUnbounded; }
  double value(std::size_t target, double y) const;

 private:
  friend class LineProgram;
  struct Line {
    std::vector<double> at, below;  // points, rising; weight up to each
    std::vector<double> sum;        // of weight * point up to each
  };
  std::vector<double> weight_;
  double price_;
  double total_ = 0;
  std::vector<Line> lines_;
};

}  // namespace odt
