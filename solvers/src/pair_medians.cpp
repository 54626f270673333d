#include "odt/pair_medians.hpp"

#include <numeric>

#include "odt/paired_lanes.hpp"

namespace odt {
namespace {

template <class L, int kBlocks>
ODT_INLINE void pass_blocks(const MedianPass& in, std::size_t block) {
  const MaskedRows& rows = in.columns;
  L above[kBlocks] = {}, below[kBlocks] = {}, one[kBlocks] = {}, none[kBlocks] = {};
  for (std::size_t k = 0; k < rows.rows; ++k) {
    const std::uint8_t* mask = rows.masks + rows.row[k] * rows.blocks + block;
    const L w = L{} + in.steps[2 * k];
    for (int i = 0; i < kBlocks; ++i) {
      typename BitsOf<L>::type bits;
      load_bits(bits, rows.lanes[mask[i]]);
      above[i] += masked(w, bits);
    }
  }
  double all_below = 0, all_above = in.weight;
  for (std::size_t k = 0; k < rows.rows; ++k) {
    const std::uint8_t* mask = rows.masks + rows.row[k] * rows.blocks + block;
    const double weight = in.steps[2 * k], way = in.steps[2 * k + 1];
    const L w = L{} + weight;
    for (int i = 0; i < kBlocks; ++i) {
      typename BitsOf<L>::type bits;
      load_bits(bits, rows.lanes[mask[i]]);
      const L mine = masked(w, bits);
      below[i] += mine;
      above[i] -= mine;
    }
    all_below += weight;
    all_above -= weight;
    if (way == 0) continue;  // the same target
    for (int i = 0; i < kBlocks; ++i) {
      one[i] += way * smaller(below[i], above[i]);
      none[i] += way * smaller(all_below - below[i], all_above - above[i]);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    const std::size_t at = (block + static_cast<std::size_t>(i)) * kLanes;
    store(one[i], in.one + at);
    store(none[i], in.none + at);
  }
}

template <class L>
ODT_INLINE void pass_all(const MedianPass& in, std::size_t block) {
  for (; block + 2 <= in.columns.blocks; block += 2) pass_blocks<L, 2>(in, block);
  for (; block < in.columns.blocks; ++block) pass_blocks<L, 1>(in, block);
}
ODT_VERSIONS(void pass(const MedianPass& in, std::size_t block), pass_all<L>(in, block))

}  // namespace

void median_pass(const MedianPass& in, std::size_t block) { pass(in, block); }

void PairMedians::prepare(const RegressionView& view) {
  const std::size_t n = view.points;
  blocks_ = (view.columns.size() + kLanes - 1) / kLanes;
  masks_.assign(n * blocks_, 0);
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const std::uint32_t* codes = view.codes(k);
    std::uint8_t* masks = masks_.data() + k / kLanes;
    for (std::size_t i = 0; i < n; ++i)
      masks[i * blocks_] |= static_cast<std::uint8_t>(codes[view.by_target[i]] << (k % kLanes));
  }
  weight_.resize(n);
  target_.resize(n);
  counted_.resize(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    weight_[i] = view.sorted_point(i).w;
    target_[i] = view.sorted_target(i);
    counted_[2 * i] = 1;
    counted_[2 * i + 1] = view.sorted_point(i).n;
  }
}

void PairMedians::pick_all() {
  picked_.resize(weight_.size());
  std::iota(picked_.begin(), picked_.end(), 0u);
}

void PairMedians::pick(std::size_t column, bool one) {
  picked_.clear();
  for (std::uint32_t i = 0; i < weight_.size(); ++i)
    if (has(i, column) == one) picked_.push_back(i);
}

bool PairMedians::by_two(std::size_t column, Parts (&out)[2], bool counts) {
  std::size_t count[2] = {0, 0};
  for (auto& half : half_) half.resize(picked_.size());
  for (std::uint32_t i : picked_) {
    const std::size_t k = has(i, column) ? 1 : 0;
    half_[k][count[k]++] = i;
  }
  if (count[0] == 0 || count[1] == 0) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    half_[k].resize(count[k]);
    tell(half_[k], column / kLanes, out[k], counts);
  }
  return true;
}

void PairMedians::tell(const std::vector<std::uint32_t>& points, std::size_t block, Parts& out,
                       bool counts) {
  const std::size_t stride = blocks_ * kLanes, n = points.size();
  out.one.reserve(stride);
  out.none.reserve(stride);
  steps_.resize(2 * n);
  out.all_w = 0;
  for (std::size_t k = 0; k < n; ++k) {
    steps_[2 * k] = weight_[points[k]];
    steps_[2 * k + 1] = k + 1 < n ? target_[points[k + 1]] - target_[points[k]] : 0;
    out.all_w += steps_[2 * k];
  }
  const MaskedRows rows{counted_.data(), 2, masks_.data(), blocks_, points.data(), n};
  median_pass({steps_.data(), rows, out.all_w, out.one.data(), out.none.data()}, block);
  if (!counts) return;
  out.points.reserve(stride);
  out.n.reserve(stride);
  add_masked_two(rows, block, out.points.data(), out.n.data());
  out.all_points = static_cast<double>(n);
  out.all_n = 0;
  for (std::uint32_t i : points) out.all_n += counted_[2 * i + 1];
}

}  // namespace odt
