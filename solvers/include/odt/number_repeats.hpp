// Cuts that part the rows of a problem as an earlier cut does, whichever side comes first, and that
// no rule tells from it: a tree is as good with the earlier one.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/number_problem.hpp"
#include "odt/plan.hpp"

namespace odt {

class NumberRepeats {
 public:
  explicit NumberRepeats(const NumberProblem& problem);
  bool none() const { return repeats_.empty(); }
  NumberProblem without() const;
  // A tree of the problem, with earlier cuts in the place of these.
  Tree retold(const Tree& tree) const;
  // What trees lose at least by their first cut, told without these cuts, with them.
  void spread(std::vector<double>& by_first) const;

 private:
  struct Cut {
    std::uint32_t feature, bound;  // ranks below it go left
    bool operator<(const Cut& o) const {
      return feature != o.feature ? feature < o.feature : bound < o.bound;
    }
  };
  struct Repeat {
    Cut cut, first;
    bool turned;
  };

  bool told_apart(Cut a, Cut b) const;
  bool alike(Cut a, Cut b, bool& turned) const;
  void retell(const Plan& plan, int at, const std::vector<std::uint32_t>& rows, std::size_t level,
              Tree& made) const;

  const NumberProblem& problem_;
  std::vector<int> kind_;        // of columns of the rules
  std::vector<Repeat> repeats_;  // in the order of their cuts
};

}  // namespace odt
