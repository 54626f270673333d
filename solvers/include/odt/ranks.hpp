// Cells as places among their different values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace odt {

// The different numbers, ascending and without NaN; `places` gets the place of each cell among
// them, and their number where a cell is NaN. Zeros of either sign are one number. There are less
// than 2^32 cells.
std::vector<double> ranked(const double* numbers, std::size_t count, std::int64_t* places);

bool all_finite(const double* numbers, std::size_t count);

// Whether all are below a number.
bool all_below(const std::uint32_t* numbers, std::size_t count, std::uint32_t most);

// The first cell of each different text, in their order; `places` gets the place of each cell's
// text among them. A text has `width` characters. Nothing where more than `most` differ.
std::optional<std::vector<std::size_t>> few_words(const std::uint32_t* cells, std::size_t count,
                                                  std::size_t width, std::size_t most,
                                                  std::int64_t* places);

}  // namespace odt
