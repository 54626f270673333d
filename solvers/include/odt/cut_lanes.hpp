// Depth two of two classes by lanes (see LaneScan): several cuts of the outer feature and all inner
// features in one pass. It looks at more cuts than the scans do, and each is far cheaper while rows
// are few. On more rows the scans win, which pass over blocks and features by their bounds
// (measured: 512 rows cost bidding and occupancy 8%, 1,024 rows 24% and more).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "odt/view.hpp"

namespace odt {

// What one pass finds at a cut: the largest gains of a split of each side.
struct LaneCut {
  std::int32_t cut = 0;  // rows on the left
  std::int32_t left_total = 0, right_total = 0;
  std::int32_t left = 0, right = 0;
};

class CutLanes {
 public:
  static constexpr std::size_t kLanes = 64, kMostRows = 512;
  static constexpr std::int32_t kByte = 127, kShort = 32767;

  // Whether the losses of these data can be summed so at all.
  static bool suits(const Dataset& data) {
    if (!data.narrow || data.sorted.empty() || data.sorted.size() > kLanes) return false;
    if (data.loss.kind == LossKind::two_class) return true;
    return data.loss.kind == LossKind::signed_two && largest(data) <= kLargest;
  }

  // `weight`: of all rows. False if they are too many, or no inner feature can be cut.
  bool begin(View& view, std::int64_t weight);
  void set_outer(View& view, std::size_t outer);
  std::size_t most_cuts() const { return kLanes / inner_; }
  // `open`: per feature, whether it may be an inner one.
  void scan(View& view, std::size_t outer, const std::vector<char>& open,
            std::vector<LaneCut>& cuts);
  std::size_t positions() const { return positions_; }

 private:
  // Chunks of fewer rows than this are not worth it.
  static constexpr std::int32_t kLargest = kByte / 8;

  static std::int32_t largest(const Dataset& data) {
    std::int32_t most = 1;
    for (std::int32_t v : data.loss.difference) most = std::max(most, std::abs(v));
    return most;
  }
  void set_rows(View& view);

  const Dataset* data_ = nullptr;
  std::int32_t chunk_ = kByte;
  std::size_t inner_ = 8, positions_ = 0;
  std::vector<std::size_t> features_;  // the inner ones
  Aligned<std::uint16_t> rank_;
  Aligned<std::int8_t> value_, ends_;
};

}  // namespace odt
