// What depth-two problems on fewer rows, or on more, say of one on these rows.
//
// Boxes over the same features (see box_cache.hpp) are compared by their ranges: if one lies in the
// other, so do its rows. Fewer rows never lose more, and more rows lose at most what those beyond
// can lose more. That holds of the best tree, and of the best one with a given cut at its top, so
// most cuts are closed by those of neighbours before a row is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "odt/box_cache.hpp"

namespace odt {

// A cut at the top of a tree of depth two.
template <class T>
struct KnownCutOf {
  std::uint32_t bound;     // ranks below it go left
  std::int32_t rows_left;  // so many rows
  T left, right;           // no stump on these rows loses less
  T load_left;             // what they can lose at most
};
using KnownCut = KnownCutOf<Loss>;

struct KnownCuts {
  std::int32_t rows = 0;
  Loss load = 0;                                // what all rows can lose at most
  static constexpr Loss kMost = Loss{1} << 30;  // no cut is kept where losses can be larger
  using Kept = KnownCutOf<std::int32_t>;
  std::vector<Kept> cuts;  // those of a feature one after the other, ascending
  std::vector<std::pair<std::uint32_t, std::uint32_t>> of;  // per feature: the first, and behind
  bool empty() const { return cuts.empty(); }
};

// Of the neighbours that are known, those of most and of least rows, and where to write down the
// cuts that are found.
struct Neighbours {
  const KnownCuts *fewer = nullptr, *more = nullptr;
  KnownCuts* found = nullptr;
};

class NearBoxes {
 public:
  using Box = BoxCache::Box;

  // Never holds more than about `bytes`.
  explicit NearBoxes(std::size_t bytes) : most_bytes_(bytes) {}
  bool off() const { return most_bytes_ < kFewest; }

  struct Near {
    Loss bound = 0;  // no tree on the rows of the box loses less
    const KnownCuts *fewer = nullptr, *more = nullptr;
    void add(const Near& other);
  };
  // What is near a box whose rows can lose `load`. A bound of `enough` is as good as a larger one.
  Near find(const Box& box, Loss load, Loss enough) const;
  // No tree on the rows of the box, which can lose `load`, loses less than `value`.
  void store(const Box& box, Loss load, Loss value, KnownCuts&& cuts);
  // All that another one holds, which is empty then.
  void take(NearBoxes& other);

 private:
  static constexpr std::size_t kRanges = BoxCache::kMostFeatures, kMost = 1024,
                               kFewest = std::size_t{1} << 16;
  // Boxes over the same features, the oldest of many given up for a new one.
  struct Shelf {
    std::array<std::vector<std::uint32_t>, kRanges> low, high;
    std::vector<Loss> value, load;
    std::vector<KnownCuts> cuts;
    std::vector<std::int32_t> rows;  // of the cuts; 0: there are none
    std::size_t next = 0;
  };
  using Key = std::array<std::uint32_t, kRanges + 1>;
  static Key key_of(const Box& box);
  static std::size_t bytes_of(const KnownCuts& cuts);

  void put(Shelf& shelf, const Box& box, Loss load, Loss value, KnownCuts&& cuts);

  std::size_t most_bytes_, bytes_ = 0;
  // The younger ones first. Once they fill half the memory, they become the older ones.
  std::map<Key, Shelf> shelves_[2];
};

}  // namespace odt
