// The best single split of each side of a cut, in one pass over the rows of the node.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/control.hpp"
#include "odt/counters.hpp"
#include "odt/outputs_values.hpp"

namespace odt {

// One side: what it is asked, and its best leaf or split.
struct OutputStump {
  OutputPart part;
  int state = 0;  // of the path above
  std::size_t level = 0;
  double upper = kUnbounded;   // nothing that loses this much is of interest
  double single = kUnbounded;  // loss as a leaf
  double value = kUnbounded;   // of the best split or leaf under the rules, if below `upper`
  double lower = 0;            // no leaf or split under relaxed rules has less
  int feature = -1;            // -1: a leaf
  std::uint32_t bound = 0;     // ranks below it go left
};

class OutputStumps {
 public:
  OutputStumps(const OutputRows& data, OutputValues& values, Control& control, Counters& counters,
               double tolerance);

  // Whether many cuts are valued at once; then values are exact whatever the upper bounds.
  bool at_once() const { return gains_.ready(); }
  // Each row of the node belongs to the side that `side` names; a side that is null is left out.
  void solve(const OutputNode& node, const std::vector<char>& side, OutputStump* const stumps[2]);

 private:
  struct Cuts {  // of one feature and one side
    std::size_t count = 0;
    std::vector<std::uint32_t> place, row;  // rows left of the cut; the first one right of it
    std::vector<std::vector<double>> sum;   // at once: [weight or target][cut]
    std::vector<double> sums;               // else: [cut][width]
    std::vector<std::uint32_t> ordered;     // else: the side's rows
    void make_room(std::size_t rows, std::size_t columns, std::size_t width);
  };
  void scan(const OutputNode& node, const std::vector<char>& side, OutputStump* const stumps[2]);
  void gather(const OutputNode& node, const std::vector<char>& side, std::size_t f,
              OutputStump* const stumps[2]);
  // Whether a side may be split, and by state of the sides, which of a feature's cuts may stand.
  void permit(const OutputNode& node, const std::vector<char>& side, std::size_t f, int k,
              const OutputStump& stump);
  bool permitted(std::size_t place) const { return !strict_ || may_[place]; }
  void all(std::size_t f, OutputStump& stump, Cuts& cuts);
  void halve(std::size_t f, OutputStump& stump, const Cuts& cuts, std::size_t low, std::size_t high,
             double left, double right);
  void fill(std::size_t f, OutputStump& stump, const Cuts& cuts, std::size_t cut, double& left,
            double& right);
  std::uint32_t bound_at(std::size_t f, const Cuts& cuts, std::size_t cut) const {
    return data_.problem.base.ranks(f)[cuts.row[cut]];
  }

  const OutputRows& data_;
  OutputValues& values_;
  Control& control_;
  Counters& counters_;
  const NumberRules& rules_;
  RuleCheck check_;
  std::size_t leaf_rows_;
  OutputGains gains_;
  Cuts cuts_[2];
  std::vector<double> packed_;  // [row]: weight and targets
  std::vector<double> rest_, lost_, gain_;
  bool strict_ = false;    // of the side that is scanned: only some cuts may stand
  std::vector<char> may_;  // then, per rows left of a cut
  std::vector<Loss> below_, beside_;
  double tolerance_;
};

}  // namespace odt
