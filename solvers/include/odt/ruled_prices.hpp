// The choice of multipliers: which there are, which are best by the trees known, and whole numbers
// near them.
#pragma once

#include <memory>
#include <vector>

#include "odt/dual_master.hpp"
#include "odt/ruled_tree.hpp"
#include "odt/ruled_weights.hpp"

namespace odt {

class Prices {
 public:
  explicit Prices(const RuledProblem& p);

  // False where there is nothing to choose.
  bool any() const { return !priced_.empty(); }
  // Nothing for the clauses; the first part of each maximum. Of the components, only those are
  // compared of which sub-trees must say more than the weighted sum: of the others, whole trees are
  // asked until one breaks a rule for it.
  Multipliers first() const;
  Multipliers rounded(const std::vector<double>& prices) const;

  // Of each clause, over the scale: what multipliers add to its component beside the objective.
  std::vector<Loss> of_clauses(const Multipliers& m) const;

  void add(const Measured& tree);
  std::size_t trees() const { return master_->trees(); }
  // Prices at which the least of the known trees is highest; the objective there.
  double best(std::vector<double>& prices);

 private:
  // A component with a bound of its own or (term >= 0) a part of one of `terms_`.
  struct Priced {
    std::size_t component;
    Loss at_most;
    int term;
    double unit;  // of its values; those of one term have one unit
  };
  void make_master();
  double steps_for(const std::vector<double>& prices) const;
  void close(Multipliers& m) const;

  const RuledProblem& p_;
  std::vector<double> range_;  // per component: what labels can change
  std::vector<double> reach_;  // per component: what the size of its value stays below
  double cost_unit_ = 0;       // what labels can change of the objective
  double cost_reach_ = 0;
  std::vector<char> compared_;
  std::vector<Priced> priced_;
  std::vector<const ObjectiveTerm*> terms_;  // the objective's maxima
  std::unique_ptr<DualMaster> master_;
};

}  // namespace odt
