#include "odt/ranks.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

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

struct Keyed {
  std::uint64_t key;
  std::uint32_t number;
};

// By key, byte by byte: the time of a comparing sort is mostly that of branches guessed wrong.
// Bytes that all keys share take no pass.
void sort_by_key(std::vector<Keyed>& keyed) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t), kDigits = 256;
  std::array<std::array<std::uint32_t, kDigits>, kBytes> counts{};
  for (const Keyed& one : keyed)
    for (std::size_t b = 0; b < kBytes; ++b) ++counts[b][one.key >> (8 * b) & 255];
  std::vector<Keyed> moved(keyed.size());
  for (std::size_t b = 0; b < kBytes; ++b) {
    auto& count = counts[b];
    if (keyed.empty() || count[keyed[0].key >> (8 * b) & 255] == keyed.size()) continue;
    std::uint32_t before = 0;
    for (std::uint32_t& c : count) before += std::exchange(c, before);
    for (const Keyed& one : keyed) moved[count[one.key >> (8 * b) & 255]++] = one;
    keyed.swap(moved);
  }
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
  std::vector<Keyed> order(keys.size());
  for (std::size_t v = 0; v < keys.size(); ++v) order[v] = {keys[v], static_cast<std::uint32_t>(v)};
  sort_by_key(order);
  std::vector<std::int64_t> place(keys.size());
  std::vector<double> values(keys.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    place[order[v].number] = static_cast<std::int64_t>(v);
    values[v] = number_of(order[v].key);
  }
  const auto beyond = static_cast<std::int64_t>(keys.size());
  for (std::size_t i = 0; i < count; ++i)
    places[i] = places[i] < 0 ? beyond : place[static_cast<std::size_t>(places[i])];
  return values;
}

}  // namespace odt
