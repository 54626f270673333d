#include "odt/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace odt {
namespace {

// A table of so many values stays in the fast caches.
constexpr std::size_t kFewValues = 2048;

// Unsigned numbers in the order of the doubles.
std::uint64_t key_of(double number) {
  number += 0.0;  // no negative zero
  std::uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

double number_of(std::uint64_t key) {
  const std::uint64_t bits = key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key;
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

}  // namespace

std::optional<std::vector<double>> ranked(const double* numbers, std::size_t count,
                                          std::int64_t* places) {
  constexpr std::size_t kSlots = 4 * kFewValues;
  std::vector<std::uint32_t> slots(kSlots, 0);  // the number of a value, from 1; 0: free
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(numbers[i])) {
      places[i] = -1;
      continue;
    }
    const std::uint64_t key = key_of(numbers[i]);
    std::size_t slot = (key * 0x9e3779b97f4a7c15u) >> 51;  // the 13 highest bits
    while (slots[slot] && keys[slots[slot] - 1] != key) slot = (slot + 1) % kSlots;
    if (!slots[slot]) {
      if (keys.size() == kFewValues) return std::nullopt;
      keys.push_back(key);
      slots[slot] = static_cast<std::uint32_t>(keys.size());
    }
    places[i] = slots[slot] - 1;
  }
  static_assert(kSlots == std::size_t{1} << 13, "as the hash has bits");
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order(keys.size());
  for (std::size_t v = 0; v < keys.size(); ++v) order[v] = {keys[v], static_cast<std::uint32_t>(v)};
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> place(keys.size());
  std::vector<double> values(keys.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    place[order[v].second] = static_cast<std::int64_t>(v);
    values[v] = number_of(order[v].first);
  }
  const auto beyond = static_cast<std::int64_t>(keys.size());
  for (std::size_t i = 0; i < count; ++i)
    places[i] = places[i] < 0 ? beyond : place[static_cast<std::size_t>(places[i])];
  return values;
}

}  // namespace odt
