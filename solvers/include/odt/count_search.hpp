// Trees to depth three over many rows and few cuts, by counts alone.
//
// A leaf of such a tree is a box of at most three features. So rows are counted once for every
// three features, in cells between their cuts; after that no row is looked at again: prefix sums
// give the losses of each box, and each pair of cuts remembers the best third one behind it. There
// is nothing to prune, and the time is that of the counts whatever the labels are: rows times the
// number of threes, about a nanosecond each.
#pragma once

#include "odt/control.hpp"
#include "odt/loss_model.hpp"
#include "odt/root.hpp"

namespace odt {

// Depth at most three, no rules on paths, and rows enough for tables to be small beside them.
bool suits_counts(const Problem& problem, const Options& options);

// Needs no sorted rows. `start` is a first incumbent or empty; a limit leaves the best tree so far.
RootAnswer solve_by_counts(const Problem& problem, const LossModel& loss, Control& control,
                           Result& result, const RootAnswer& start);

}  // namespace odt
