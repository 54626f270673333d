// From a plan to a tree: stumps and labels found again, splits that change no prediction removed,
// the loss recounted.
#pragma once

#include "odt/loss_model.hpp"
#include "odt/plan.hpp"
#include "odt/problem.hpp"

namespace odt {

struct Finished {
  Tree tree;
  Loss value;  // with leaf prices and the losses that no tree avoids
};

Finished finish(const Problem& problem, const LossModel& loss, const Plan& plan);

// The loss of a given tree on the training rows (labels as given), with leaf prices and what its
// tests cost. `held` gets the rows of each leaf.
Loss evaluate(const Problem& problem, const Tree& tree, std::vector<std::size_t>* held = nullptr);

}  // namespace odt
