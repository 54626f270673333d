// What a number loses to the output of its leaf.
#pragma once

namespace odt {

// Weight times the square of the difference, its size, or half the Poisson deviance.
enum class OutputLoss { squared, absolute, poisson };

}  // namespace odt
