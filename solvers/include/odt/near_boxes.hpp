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

class NearBoxes {
 public:
  using Box = BoxCache::Box;

  // Never holds more than about `bytes`.
  explicit NearBoxes(std::size_t bytes) : most_bytes_(bytes) {}
  bool off() const { return most_bytes_ < kFewest; }

  // No tree on the rows of the box, which can lose `load`, loses less. A bound of `enough` is as
  // good as a larger one.
  Loss bound(const Box& box, Loss load, Loss enough) const;
  // The cuts of most rows inside the box, and of least rows around it.
  struct Cuts {
    const KnownCuts *fewer = nullptr, *more = nullptr;
    void add(const Cuts& other);
  };
  Cuts cuts(const Box& box) const;
  // No tree on the rows of the box, which can lose `load`, loses less than `value`. Larger losses
  // than suit are left out.
  void store(const Box& box, Loss load, Loss value, KnownCuts&& cuts);
  // All that another one holds, which is empty then.
  void take(NearBoxes& other);

 private:
  static constexpr std::size_t kRanges = BoxCache::kMostFeatures, kMost = 1024,
                               kFewest = std::size_t{1} << 16;
  // Boxes over the same features, the oldest of many given up for a new one.
  struct Shelf {
    std::array<std::vector<std::uint32_t>, kRanges> low, high;
    std::vector<std::int32_t> value, margin;  // the latter less what the rows can lose
    std::vector<KnownCuts> cuts;
    std::vector<std::int32_t> rows;  // of the cuts; 0: there are none
    std::size_t next = 0;
  };
  static bool suits(Loss load, Loss value) {
    return load <= KnownCuts::kMost && value <= KnownCuts::kMost;
  }
  using Key = std::array<std::uint32_t, kRanges + 1>;
  static Key key_of(const Box& box);
  static std::size_t bytes_of(const KnownCuts& cuts);

  // The shelf of a key, if there is one, and how its boxes are related to this one.
  using Relation = std::array<std::uint32_t, kMost>;
  static const Shelf* related(const std::map<Key, Shelf>& shelves, const Box& box,
                              Relation& relation);
  void put(Shelf& shelf, const Box& box, Loss load, Loss value, KnownCuts&& cuts);

  std::size_t most_bytes_, bytes_ = 0;
  // The younger ones first. Once they fill half the memory, they become the older ones.
  std::map<Key, Shelf> shelves_[2];
};

// Where cuts of neighbours are looked up, and where those that are found are written down.
struct Neighbours {
  const NearBoxes *own = nullptr, *common = nullptr;
  const NearBoxes::Box* box = nullptr;
  KnownCuts* found = nullptr;

  NearBoxes::Cuts cuts() const {
    NearBoxes::Cuts all;
    if (own) all = own->cuts(*box);
    if (common) all.add(common->cuts(*box));
    return all;
  }
};

}  // namespace odt
