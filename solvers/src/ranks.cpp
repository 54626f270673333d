#include "odt/ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace odt {
namespace {

// A table of so many values stays in the fast caches. No more cells are sorted as soon.
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

// Places in the order of their keys: byte by byte of the 24 leading bits that tell the keys apart,
// as the time of a comparing sort is mostly that of branches guessed wrong; then those that are
// equal so far, of which there are few. A byte that all keys share takes no pass.
std::vector<std::uint32_t> sorted_by_key(const std::vector<std::uint64_t>& keys) {
  constexpr std::size_t kBytes = 3, kDigits = 256;
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  if (keys.size() < 2) return order;
  const auto [least, largest] = std::minmax_element(keys.begin(), keys.end());
  int shift = 0;
  while ((*largest - *least) >> shift >> (8 * kBytes)) ++shift;
  std::vector<std::uint64_t> heads(keys.size()), moved(keys.size());  // and the place below it
  std::array<std::array<std::uint32_t, kDigits>, kBytes> counts{};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t head = (keys[i] - *least) >> shift;
    for (std::size_t b = 0; b < kBytes; ++b) ++counts[b][head >> (8 * b) & 255];
    heads[i] = head << 32 | i;
  }
  for (std::size_t b = 0; b < kBytes; ++b) {
    auto& count = counts[b];
    const auto digit = [b](std::uint64_t x) { return x >> (32 + 8 * b) & 255; };
    if (count[digit(heads[0])] == keys.size()) continue;
    std::uint32_t before = 0;
    for (std::uint32_t& c : count) before += std::exchange(c, before);
    for (const std::uint64_t x : heads) moved[count[digit(x)]++] = x;
    heads.swap(moved);
  }
  const auto less = [&](std::uint32_t x, std::uint32_t y) { return keys[x] < keys[y]; };
  for (std::size_t from = 0, to = 0; from < heads.size(); from = to) {
    bool rising = true;
    for (; to < heads.size() && heads[to] >> 32 == heads[from] >> 32; ++to) {
      order[to] = static_cast<std::uint32_t>(heads[to]);
      rising = rising && (to == from || !less(order[to], order[to - 1]));
    }
    const auto begin = order.begin();
    if (!rising) std::sort(begin + static_cast<long>(from), begin + static_cast<long>(to), less);
  }
  return order;
}

// By a table of the values; nothing where more differ than it holds.
std::optional<std::vector<double>> by_table(const double* numbers, std::size_t count,
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
  const std::vector<std::uint32_t> order = sorted_by_key(keys);
  std::vector<std::int64_t> place(keys.size());
  std::vector<double> values(keys.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    place[order[v]] = static_cast<std::int64_t>(v);
    values[v] = number_of(keys[order[v]]);
  }
  const auto beyond = static_cast<std::int64_t>(keys.size());
  for (std::size_t i = 0; i < count; ++i)
    places[i] = places[i] < 0 ? beyond : place[static_cast<std::size_t>(places[i])];
  return values;
}

// By a sort of the cells.
std::vector<double> by_sort(const double* numbers, std::size_t count, std::int64_t* places) {
  std::vector<std::uint64_t> keys(count);
  constexpr std::uint64_t kMissing = ~std::uint64_t{0};  // no number has this key
  for (std::size_t i = 0; i < count; ++i)
    keys[i] = std::isnan(numbers[i]) ? kMissing : key_of(numbers[i]);
  std::vector<double> values;
  values.reserve(count);
  std::uint64_t last = kMissing;
  for (const std::uint32_t i : sorted_by_key(keys)) {
    if (keys[i] == kMissing) {
      places[i] = static_cast<std::int64_t>(values.size());
      continue;
    }
    if (values.empty() || keys[i] != last) values.push_back(number_of(keys[i]));
    last = keys[i];
    places[i] = static_cast<std::int64_t>(values.size()) - 1;
  }
  return values;
}

}  // namespace

std::vector<double> ranked(const double* numbers, std::size_t count, std::int64_t* places) {
  if (count > kFewValues)
    if (auto values = by_table(numbers, count, places)) return *std::move(values);
  return by_sort(numbers, count, places);
}

bool all_finite(const double* numbers, std::size_t count) {
  double sum = 0;  // of zeros, where all are
  for (std::size_t i = 0; i < count; ++i) sum += numbers[i] * 0;
  return sum == 0;
}

bool all_below(const std::uint32_t* numbers, std::size_t count, std::uint32_t most) {
  bool above = false;
  for (std::size_t i = 0; i < count; ++i) above |= numbers[i] >= most;
  return !above;
}

std::optional<std::vector<std::size_t>> few_words(const std::uint32_t* cells, std::size_t count,
                                                  std::size_t width, std::size_t most,
                                                  std::int64_t* places) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < count; ++i) {
    const auto same = [&](std::size_t row) {
      return std::memcmp(cells + i * width, cells + row * width, width * sizeof *cells) == 0;
    };
    const auto found = std::find_if(first.begin(), first.end(), same);
    places[i] = found - first.begin();
    if (found != first.end()) continue;
    if (first.size() == most) return std::nullopt;
    first.push_back(i);
  }
  return first;
}

}  // namespace odt
