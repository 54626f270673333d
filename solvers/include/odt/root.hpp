// The root of a search: depth by depth, with incumbents, limits, and rounds of cuts that threads
// share.
//
// A round takes a fixed number of cuts off the queue, evaluates all of them under the same upper
// bound and merges them in order. So the answer does not depend on timing, only on the number of
// threads.
#pragma once

#include <optional>

#include "odt/control.hpp"
#include "odt/dataset.hpp"
#include "odt/plan.hpp"

namespace odt {

struct RootAnswer {
  Plan plan;
  Loss value = kInfinite;  // without the model's offset
  Loss bound = 0;
  bool complete = false;  // searched to the end (or to the gap asked for)
};

// Branch and bound by bit sets or sorted scans, whichever suits, until the best tree is proven.
RootAnswer prove(const Dataset& data, Control& control, Result& result, const RootAnswer& start);

// By bit sets only; nothing where they do not suit.
std::optional<RootAnswer> prove_on_bits(const Dataset& data, Control& control, Result& result,
                                        const RootAnswer& start);

// Sorted scans. `start` is a first incumbent or empty.
RootAnswer solve_sorted(const Dataset& data, Control& control, Result& result,
                        const RootAnswer& start);

}  // namespace odt
