#include "odt/few_leaves.hpp"

#include <algorithm>
#include <cstring>

#include "odt/lanes.hpp"

namespace odt {

namespace {

// In each byte, the bits that are set in it and in those below.
ODT_CLONES void count_bytes(const std::uint64_t* bits, std::size_t count, std::uint64_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = bits[i];
    x -= x >> 1 & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    x += x << 8;
    x += x << 16;
    out[i] = x + (x << 32);
  }
}

// Rows of a class before each cell.
ODT_CLONES void add_up(const std::uint64_t* bytes, std::size_t stride, std::size_t words,
                       std::int16_t* out) {
  std::int16_t all = 0;
  *out++ = 0;
  for (std::size_t w = 0; w < words; ++w, out += 8) {
    const std::uint64_t here = bytes[w * stride];
    for (int b = 0; b < 8; ++b) out[b] = static_cast<std::int16_t>(all + (here >> 8 * b & 255));
    all = out[7];
  }
}

// Of each point, what rows of all but the most frequent classes there are between it and another
// one that is before (or behind) all of them. `before` has the rows of each class before the
// points, `other` those before the other one. Points are told by sixteen.
ODT_CLONES void lose(const std::int16_t* before, std::size_t stride, const std::int16_t* other,
                     bool behind, int labels, int leaves, std::size_t count, std::int16_t* lost) {
  constexpr std::size_t kTogether = FewLeaves::kTogether;
  std::int16_t most[FewLeaves::kMost][kTogether];
  for (std::size_t at = 0; at < count; at += kTogether) {
    std::memset(most, 0, static_cast<std::size_t>(leaves) * sizeof most[0]);
    std::int16_t all[kTogether] = {};
    for (int c = 0; c < labels; ++c) {
      const std::int16_t* of = before + static_cast<std::size_t>(c) * stride + at;
      std::int16_t rest[kTogether];
      for (std::size_t k = 0; k < kTogether; ++k)
        rest[k] = static_cast<std::int16_t>(behind ? other[c] - of[k] : of[k] - other[c]);
      for (int l = 0; l < leaves; ++l) {
        std::int16_t* here = most[l];
        for (std::size_t k = 0; k < kTogether; ++k) {
          const std::int16_t x = here[k], y = rest[k];
          here[k] = x > y ? x : y;
          rest[k] = x > y ? y : x;
        }
      }
      for (std::size_t k = 0; k < kTogether; ++k)
        all[k] = static_cast<std::int16_t>(all[k] + rest[k]);
    }
    std::memcpy(lost + at, all, sizeof all);
  }
}

}  // namespace

void FewLeaves::begin(const std::uint64_t* classes, int stride, std::size_t rows,
                      const LossModel& loss) {
  classes_ = classes;
  stride_ = static_cast<std::size_t>(stride);
  words_ = (rows + kBlock - 1) / kBlock;
  row_ = words_ * (kBlock / kCell) + 1 + kTogether;
  labels_ = loss.labels;
  each_ = loss.each;
  counted_ = false;
}

void FewLeaves::count() {
  counted_ = true;
  counts_.resize(std::max(counts_.size(), row_ * static_cast<std::size_t>(labels_)));
  bytes_.resize(std::max(bytes_.size(), words_ * stride_));
  count_bytes(classes_, words_ * stride_, bytes_.data());
  for (std::size_t c = 0; c < static_cast<std::size_t>(labels_); ++c)
    add_up(bytes_.data() + c, stride_, words_, counts_.data() + c * row_);
}

FewLeaves::Counts FewLeaves::before(std::int32_t cut) const {
  Counts count{};
  const std::size_t at = static_cast<std::size_t>(cut), cell = at / kCell;
  const std::uint64_t rest = low_bits(at % kCell);
  for (std::size_t c = 0; c < static_cast<std::size_t>(labels_); ++c) {
    count[c] = counts_[c * row_ + cell];
    if (rest == 0) continue;
    const std::uint64_t bits = classes_[at / kBlock * stride_ + c] >> (cell * kCell % kBlock);
    count[c] = static_cast<std::int16_t>(count[c] + popcount(bits & rest));
  }
  return count;
}

Loss FewLeaves::lost(std::int32_t low, std::int32_t high, int leaves) {
  if (!counted_) count();
  if (leaves >= labels_) return 0;
  const Counts upto = before(high), from = before(low);
  Counts most{};
  Loss lost = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(labels_); ++c) {
    std::int16_t rest = static_cast<std::int16_t>(upto[c] - from[c]);
    for (std::size_t l = 0; l < static_cast<std::size_t>(leaves); ++l) {
      const std::int16_t less = std::min(most[l], rest);
      most[l] = std::max(most[l], rest);
      rest = less;
    }
    lost += rest;
  }
  return each_ * lost;
}

void FewLeaves::look(const Interval& i, int left_leaves, int right_leaves) {
  if (!counted_) count();
  first_ = i.low / kCell + 1;
  inner_ = std::max(0, (i.high - 1) / kCell + 1 - first_);
  const std::size_t inner = static_cast<std::size_t>(inner_), room = inner + 2 + kTogether;
  lost_left_.resize(std::max(lost_left_.size(), room));
  lost_right_.resize(std::max(lost_right_.size(), room));
  const std::int16_t* points = counts_.data() + first_;
  lose(points, row_, before(i.low).data(), false, labels_, std::min(left_leaves, labels_), inner,
       lost_left_.data() + 1);
  lose(points, row_, before(i.high).data(), true, labels_, std::min(right_leaves, labels_), inner,
       lost_right_.data() + 1);
  lost_left_[0] = 0;
  lost_right_[inner + 1] = 0;
}

// The ends of a cell.
std::int32_t FewLeaves::low(const Interval& i, std::int32_t cell) const {
  return cell == 0 ? i.low : (first_ + cell - 1) * kCell;
}
std::int32_t FewLeaves::high(const Interval& i, std::int32_t cell) const {
  return cell == inner_ ? i.high : (first_ + cell) * kCell;
}

Loss FewLeaves::loses(const Interval& i, std::int32_t cell) const {
  const std::size_t at = static_cast<std::size_t>(cell);
  return std::max(i.low_left + each_ * lost_left_[at],
                  i.high_left - each_ * (i.high - low(i, cell))) +
         std::max(i.high_right + each_ * lost_right_[at + 1],
                  i.low_right - each_ * (high(i, cell) - i.low));
}

OpenCuts FewLeaves::narrow(const Interval& i, OpenCuts open, Loss upper, int left_leaves,
                           int right_leaves) {
  if (open.first > open.last) return open;
  // All rows between the ends lose no less than those on both sides of a cut, and often more.
  constexpr Loss kShare = 8;
  const Loss all = lost(i.low, i.high, std::min(left_leaves, right_leaves));
  if (i.low_left + i.high_right + all - all / kShare < upper) return open;
  look(i, left_leaves, right_leaves);
  std::int32_t first = 0, last = inner_;
  while (first <= last && loses(i, first) >= upper) ++first;
  while (first <= last && loses(i, last) >= upper) --last;
  if (first > last) return {1, 0};
  return {std::max(open.first, low(i, first) + 1), std::min(open.last, high(i, last) - 1)};
}

Loss FewLeaves::bound(const Interval& i, int left_leaves, int right_leaves) {
  if (i.high - i.low < 2) return kInfinite;
  look(i, left_leaves, right_leaves);
  Loss least = kInfinite;
  for (std::int32_t cell = 0; cell <= inner_; ++cell) least = std::min(least, loses(i, cell));
  return least;
}

}  // namespace odt
