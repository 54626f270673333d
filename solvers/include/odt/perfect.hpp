// Trees of depth two and three without an error, where there are any.
//
// Whether one split tells some rows apart shows in the least and largest rank of each class: one
// class must lie below the other in some feature. Where rows are added one by one, this soon holds
// of no feature any more, and then it does of no larger set either. So a feature's best first cut
// of a tree of depth two stands where the rows from below end that one split tells apart, if those
// from above reach as far; and that of a tree of depth three is found by halving.
// `docs/explanation/exact.md`, "Before a proof", says what it is for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/bottom_trees.hpp"
#include "odt/control.hpp"
#include "odt/interval.hpp"
#include "odt/view.hpp"

namespace odt {

class Perfect {
 public:
  using Stump = BottomSplit;
  using Two = SplitOf<Stump>;
  using Three = SplitOf<Two>;

  // All errors count alike, each cut may stand, leaves may hold one row and cost nothing.
  static bool suits(const Dataset& data);

  // `data` must suit.
  Perfect(const Dataset& data, Control& control);

  // The views keep their order.
  bool two(View& view, Two& tree) { return two(view, Part{}, tree); }
  // With one of some features tested first, at one of at most `most` cuts: if all features and cuts
  // may be tried, nothing is missed.
  bool three(View& view, const std::vector<std::size_t>& features, int most, Three& tree);

 private:
  using Rank = std::int16_t;
  static constexpr int kLanes = 8, kMost = 8;  // features of a vector, and vectors
  static constexpr Rank kBeyond = 32767;       // above all ranks
  using Ranks = Rank __attribute__((vector_size(2 * kLanes)));
  using Halves = long long __attribute__((vector_size(2 * kLanes)));

  // The rows of a view on one side of a cut; all rows without one.
  struct Part {
    const std::uint32_t* rank = nullptr;
    std::uint32_t bound = 0;
    bool left = true;
    bool has(std::uint32_t row) const { return !rank || (rank[row] < bound) == left; }
  };
  // Rows of two classes: the least and the largest rank of each, per feature.
  template <int N>
  struct Spread {
    Ranks least[2][N], most[2][N];
    int label[2] = {-1, -1};
    Spread() {
      for (int c = 0; c < 2; ++c)
        for (int k = 0; k < N; ++k) {
          least[c][k] = Ranks{} + kBeyond;
          most[c][k] = Ranks{} - 1;
        }
    }
    // Whether one split or none still tells the rows apart.
    bool add(int of, const Ranks* row);
  };

  template <int N>
  Stump stump(const Spread<N>& spread) const;
  bool two(View& view, const Part& part, Two& tree);
  template <int N>
  bool two(View& view, const Part& part, Two& tree);
  template <int N>
  bool cut(View& view, const Part& part, std::size_t f, std::uint32_t& bound);
  template <int N>
  Stump side(View& view, const Part& part, std::size_t f, std::uint32_t bound, bool left);
  const Ranks* row(std::uint32_t i) const { return rows_ + i * vectors_; }

  const Problem& p_;
  Control& control_;
  std::size_t vectors_ = 1;  // per row
  Aligned<Ranks> ranks_;
  const Ranks* rows_;
  std::uint64_t visits_ = 0;
};

}  // namespace odt
