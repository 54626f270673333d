#include "odt/near_boxes.hpp"

#include <algorithm>
#include <limits>

#include "odt/lanes.hpp"

namespace odt {

namespace {

// Bit 0 says that the range of an entry lies in the given one, bit 1 that it holds that.
ODT_INLINE std::uint32_t related(std::uint32_t low, std::uint32_t high, std::uint32_t from,
                                 std::uint32_t to) {
  const std::uint32_t inside = (low >= from) & (high <= to), around = (low <= from) & (high >= to);
  return inside | around << 1;
}
ODT_CLONES void relate(const std::uint32_t* low, const std::uint32_t* high, std::size_t count,
                       std::uint32_t from, std::uint32_t to, std::uint32_t* relation) {
  for (std::size_t i = 0; i < count; ++i) relation[i] = related(low[i], high[i], from, to);
}
// Bits stay where this holds as well.
ODT_CLONES void relate_too(const std::uint32_t* low, const std::uint32_t* high, std::size_t count,
                           std::uint32_t from, std::uint32_t to, std::uint32_t* relation) {
  for (std::size_t i = 0; i < count; ++i) relation[i] &= related(low[i], high[i], from, to);
}

constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

// The largest of some numbers where a bit is set, or else the least that there is.
ODT_CLONES std::int32_t largest(const std::uint32_t* relation, std::uint32_t bit,
                                const std::int32_t* of, std::size_t count) {
  constexpr std::size_t kTogether = 16;
  std::int32_t most[kTogether];
  std::fill(most, most + kTogether, kLowest);
  std::size_t i = 0;
  for (; i + kTogether <= count; i += kTogether)
    for (std::size_t j = 0; j < kTogether; ++j) {
      const std::int32_t value = of[i + j], here = relation[i + j] & bit ? value : kLowest;
      most[j] = most[j] > here ? most[j] : here;
    }
  for (; i < count; ++i)
    if (relation[i] & bit) most[0] = std::max(most[0], of[i]);
  return *std::max_element(most, most + kTogether);
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

const NearBoxes::Shelf* NearBoxes::related(const std::map<Key, Shelf>& shelves, const Box& box,
                                           Relation& relation) {
  const auto at = shelves.find(key_of(box));
  if (at == shelves.end()) return nullptr;
  const Shelf& shelf = at->second;
  const std::size_t count = shelf.value.size();
  for (std::size_t r = 0; r < kRanges && (r == 0 || box.ranges[r].feature != ~0u); ++r)
    (r == 0 ? relate : relate_too)(shelf.low[r].data(), shelf.high[r].data(), count,
                                   box.ranges[r].low, box.ranges[r].high, relation.data());
  return &shelf;
}

Loss NearBoxes::bound(const Box& box, Loss load, Loss enough) const {
  Relation relation;
  Loss bound = 0;
  for (const auto& shelves : shelves_) {
    const Shelf* shelf = bound < enough ? related(shelves, box, relation) : nullptr;
    if (!shelf) continue;
    const std::size_t count = shelf->value.size();
    bound = std::max<Loss>(bound, largest(relation.data(), kInside, shelf->value.data(), count));
    const std::int32_t around = largest(relation.data(), kAround, shelf->margin.data(), count);
    if (around != kLowest) bound = std::max(bound, load + around);
  }
  return bound;
}

void NearBoxes::Cuts::add(const Cuts& other) {
  if (other.fewer && (!fewer || other.fewer->rows > fewer->rows)) fewer = other.fewer;
  if (other.more && (!more || other.more->rows < more->rows)) more = other.more;
}

NearBoxes::Cuts NearBoxes::cuts(const Box& box) const {
  Relation relation;
  Cuts all;
  for (const auto& shelves : shelves_) {
    const Shelf* shelf = related(shelves, box, relation);
    for (std::size_t i = 0; shelf && i < shelf->rows.size(); ++i) {
      const std::int32_t rows = relation[i] != 0 ? shelf->rows[i] : 0;
      if (rows == 0) continue;
      if ((relation[i] & kInside) && (!all.fewer || rows > all.fewer->rows))
        all.fewer = &shelf->cuts[i];
      if ((relation[i] & kAround) && (!all.more || rows < all.more->rows))
        all.more = &shelf->cuts[i];
    }
  }
  return all;
}

void NearBoxes::put(Shelf& shelf, const Box& box, Loss load, Loss value, KnownCuts&& cuts) {
  if (shelf.value.size() < kMost) {
    for (std::size_t r = 0; r < kRanges; ++r) {
      shelf.low[r].push_back(box.ranges[r].low);
      shelf.high[r].push_back(box.ranges[r].high);
    }
    shelf.value.push_back(static_cast<std::int32_t>(value));
    shelf.margin.push_back(static_cast<std::int32_t>(value - load));
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
  shelf.value[i] = static_cast<std::int32_t>(value);
  shelf.margin[i] = static_cast<std::int32_t>(value - load);
  shelf.rows[i] = cuts.empty() ? 0 : cuts.rows;
  shelf.cuts[i] = std::move(cuts);
}

void NearBoxes::store(const Box& box, Loss load, Loss value, KnownCuts&& cuts) {
  if (off() || !suits(load, value)) return;
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
        store(box, shelf.value[i] - shelf.margin[i], shelf.value[i], std::move(shelf.cuts[i]));
      }
    other.shelves_[age].clear();
  }
  other.bytes_ = 0;
}

}  // namespace odt
