#include "odt/near_boxes.hpp"

#include <algorithm>
#include <cstring>

#include "odt/lanes.hpp"

namespace odt {

namespace {

// Bit 0 stays where the range of an entry lies in the given one, bit 1 where it holds that.
ODT_CLONES void relate(const std::uint32_t* low, const std::uint32_t* high, std::size_t count,
                       std::uint32_t from, std::uint32_t to, std::uint8_t* relation) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t inside = (low[i] >= from) & (high[i] <= to),
                       around = (low[i] <= from) & (high[i] >= to);
    relation[i] &= static_cast<std::uint8_t>(inside | around << 1);
  }
}

constexpr std::uint8_t kInside = 1, kAround = 2;

}  // namespace

NearBoxes::Key NearBoxes::key_of(const Box& box) {
  Key key;
  for (std::size_t r = 0; r < kRanges; ++r) key[r] = box.ranges[r].feature;
  key[kRanges] = static_cast<std::uint32_t>(box.state);
  return key;
}

std::size_t NearBoxes::bytes_of(const KnownCuts& cuts) {
  return sizeof(KnownCuts) + 2 * sizeof(Loss) + 2 * kRanges * sizeof(std::uint32_t) +
         cuts.cuts.capacity() * sizeof(KnownCut) + cuts.of.capacity() * sizeof(cuts.of[0]);
}

void NearBoxes::Near::add(const Near& other) {
  bound = std::max(bound, other.bound);
  if (other.fewer && (!fewer || other.fewer->rows > fewer->rows)) fewer = other.fewer;
  if (other.more && (!more || other.more->rows < more->rows)) more = other.more;
}

NearBoxes::Near NearBoxes::find(const Box& box, Loss load, Loss enough) const {
  constexpr std::size_t kTogether = sizeof(std::uint64_t);
  alignas(kTogether) std::uint8_t relation[kMost + kTogether];
  Near near;
  const Key key = key_of(box);
  for (const auto& shelves : shelves_) {
    const auto at = shelves.find(key);
    if (at == shelves.end()) continue;
    const Shelf& shelf = at->second;
    const std::size_t count = shelf.value.size();
    std::fill(relation, relation + count, kInside | kAround);
    std::fill(relation + count, relation + count + kTogether, 0);
    for (std::size_t r = 0; r < kRanges && box.ranges[r].feature != ~0u; ++r)
      relate(shelf.low[r].data(), shelf.high[r].data(), count, box.ranges[r].low,
             box.ranges[r].high, relation);
    for (std::size_t i = 0; i < count; ++i) {
      if (relation[i] == 0) {
        std::uint64_t next;
        for (std::memcpy(&next, relation + i, kTogether); next == 0 && i + kTogether < count;
             std::memcpy(&next, relation + i, kTogether))
          i += kTogether;
        if (relation[i] == 0) continue;
      }
      const bool inside = relation[i] & kInside, around = relation[i] & kAround;
      if (inside) near.bound = std::max(near.bound, shelf.value[i]);
      if (around) near.bound = std::max(near.bound, shelf.value[i] - (shelf.load[i] - load));
      if (near.bound >= enough) return near;
      const std::int32_t rows = shelf.rows[i];
      if (rows == 0) continue;
      if (inside && (!near.fewer || rows > near.fewer->rows)) near.fewer = &shelf.cuts[i];
      if (around && (!near.more || rows < near.more->rows)) near.more = &shelf.cuts[i];
    }
  }
  return near;
}

void NearBoxes::put(Shelf& shelf, const Box& box, Loss load, Loss value, KnownCuts&& cuts) {
  if (shelf.value.size() < kMost) {
    for (std::size_t r = 0; r < kRanges; ++r) {
      shelf.low[r].push_back(box.ranges[r].low);
      shelf.high[r].push_back(box.ranges[r].high);
    }
    shelf.value.push_back(value);
    shelf.load.push_back(load);
    shelf.rows.push_back(cuts.empty() ? 0 : cuts.rows);
    shelf.cuts.push_back(std::move(cuts));
    return;
  }
  const std::size_t i = shelf.next;
  shelf.next = (i + 1) % kMost;
  bytes_ -= bytes_of(shelf.cuts[i]);
  for (std::size_t r = 0; r < kRanges; ++r) {
    shelf.low[r][i] = box.ranges[r].low;
    shelf.high[r][i] = box.ranges[r].high;
  }
  shelf.value[i] = value;
  shelf.load[i] = load;
  shelf.rows[i] = cuts.empty() ? 0 : cuts.rows;
  shelf.cuts[i] = std::move(cuts);
}

void NearBoxes::store(const Box& box, Loss load, Loss value, KnownCuts&& cuts) {
  if (off()) return;
  cuts.cuts.shrink_to_fit();
  const std::size_t bytes = bytes_of(cuts);
  if (2 * (bytes_ + bytes) > most_bytes_) {
    shelves_[1] = std::move(shelves_[0]);
    shelves_[0].clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  put(shelves_[0][key_of(box)], box, load, value, std::move(cuts));
}

void NearBoxes::take(NearBoxes& other) {
  for (int age = 1; age >= 0; --age) {
    for (auto& [key, shelf] : other.shelves_[age])
      for (std::size_t n = 0; n < shelf.value.size(); ++n) {
        const std::size_t i = (shelf.next + n) % shelf.value.size();
        Box box;
        for (std::size_t r = 0; r < kRanges; ++r)
          box.ranges[r] = {key[r], shelf.low[r][i], shelf.high[r][i]};
        box.state = static_cast<std::int32_t>(key[kRanges]);
        store(box, shelf.load[i], shelf.value[i], std::move(shelf.cuts[i]));
      }
    other.shelves_[age].clear();
  }
  other.bytes_ = 0;
}

}  // namespace odt
