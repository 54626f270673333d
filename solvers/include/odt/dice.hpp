#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace odt {

// Uniform numbers that are the same on all machines (the standard's distributions are not).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  double real() { return static_cast<double>(engine_() >> 11) * (1.0 / 9007199254740992.0); }
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(real() * static_cast<double>(n));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace odt
