#include "odt/near_boxes.hpp"

#include <algorithm>

#include "odt/lanes.hpp"

namespace odt {

namespace {

// Bit 0 stays where the range of an entry lies in the given one, bit 1 where it holds that.
ODT_CLONES void relate(const std::uint32_t* low, const std::uint32_t* high, std::size_t count,
                       std::uint32_t from, std::uint32_t to, std::uint32_t* relation) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t inside = (low[i] >= from) & (high[i] <= to),
                        around = (low[i] <= from) & (high[i] >= to);
    relation[i] &= inside | around << 1;
  }
}

constexpr std::uint32_t kInside = 1, kAround = 2;

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

NearBoxes::Near NearBoxes::find(const Box& box, Loss load, Loss enough) {
  Near near;
  const Key key = key_of(box);
  for (const auto& shelves : shelves_) {
    const auto at = shelves.find(key);
    if (at == shelves.end()) continue;
    const Shelf& shelf = at->second;
    const std::size_t count = shelf.value.size();
    relation_.assign(count, kInside | kAround);
    for (std::size_t r = 0; r < kRanges && box.ranges[r].feature != ~0u; ++r)
      relate(shelf.low[r].data(), shelf.high[r].data(), count, box.ranges[r].low,
             box.ranges[r].high, relation_.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (relation_[i] == 0) continue;
      const bool inside = relation_[i] & kInside, around = relation_[i] & kAround;
      if (inside) near.bound = std::max(near.bound, shelf.value[i]);
      if (around) near.bound = std::max(near.bound, shelf.value[i] - (shelf.load[i] - load));
      if (near.bound >= enough) return near;
      const KnownCuts& cuts = shelf.cuts[i];
      if (cuts.empty()) continue;
      if (inside && (!near.fewer || cuts.rows > near.fewer->rows)) near.fewer = &cuts;
      if (around && (!near.more || cuts.rows < near.more->rows)) near.more = &cuts;
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

}  // namespace odt
