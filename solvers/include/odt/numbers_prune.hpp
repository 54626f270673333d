// Trees with fewer leaves from a tree for number targets.
#pragma once

#include "odt/numbers_anytime.hpp"

namespace odt {

// The best tree of at most `leaves` leaves that pruning leaves of one, with its values. The values
// of the given tree hold a price per leaf that is not in those of the result.
NumberTree::Ptr pruned(const NumberTree::Ptr& tree, int leaves, double price);

// The tree with another price per leaf, without splits that do not pay it.
NumberTree::Ptr repriced(const NumberTree::Ptr& tree, double before, double after);

}  // namespace odt
