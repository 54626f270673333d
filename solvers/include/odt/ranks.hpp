// Numbers as places among their different values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace odt {

// The different numbers, ascending and without NaN; `places` gets the place of each cell among
// them, and their number where a cell is NaN. Zeros of either sign are one number. None where more
// than 2048 differ: a table of the values is then no faster than to sort the cells.
std::optional<std::vector<double>> ranked(const double* numbers, std::size_t count,
                                          std::int64_t* places);

}  // namespace odt
