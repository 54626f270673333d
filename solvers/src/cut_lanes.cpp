#include "odt/cut_lanes.hpp"

#include <array>

namespace odt {

namespace {

// Eight bytes of 0 and -1 from eight bits.
const std::uint64_t* bytes_of_bits() {
  static const std::array<std::uint64_t, 256> table = [] {
    std::array<std::uint64_t, 256> all{};
    for (std::size_t bits = 0; bits < 256; ++bits)
      for (std::size_t i = 0; i < 8; ++i)
        if (bits >> i & 1) all[bits] |= std::uint64_t{255} << (8 * i);
    return all;
  }();
  return table.data();
}

// The transpose of eight bytes as a matrix of bits.
std::uint64_t transposed(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
  return x ^ t ^ (t << 28);
}

}  // namespace

bool CutLanes::begin(View& view, std::int64_t weight) {
  if (data_ != &view.data()) {
    data_ = &view.data();
    chunk_ = kByte / largest(*data_);
  }
  if (view.rows() > kMostRows || weight > kShort) return false;
  features_.clear();
  std::size_t words = 0;
  for (std::size_t f : data_->sorted) {
    if (!view.splittable(f)) continue;
    features_.push_back(f);
    words = std::max(words, view.words_to_cut(f));
  }
  if (features_.empty()) return false;
  for (inner_ = 8; inner_ < features_.size();) inner_ *= 2;
  positions_ = std::min(view.rows(), words * kBlock);
  set_rows(view);
  return true;
}

// Values and ends of all positions, inner features side by side.
void CutLanes::set_rows(View& view) {
  const std::uint64_t* bytes = bytes_of_bits();
  const std::size_t octets = (positions_ + 7) / 8;
  std::int8_t* value = value_.reserve(octets * 8 * inner_);
  std::int8_t* ends = ends_.reserve(octets * 8 * inner_);
  const bool unit = data_->loss.unit();
  const auto octet = [](const std::uint64_t* bits, std::size_t o) {
    return bits[o / 8] >> (o % 8 * 8) & 255;
  };
  for (std::size_t j = 0; j < inner_; j += 8) {
    const std::size_t here =
        j < features_.size() ? std::min<std::size_t>(8, features_.size() - j) : 0;
    for (std::size_t o = 0; o < octets; ++o) {
      std::uint64_t up = 0, end = 0;
      for (std::size_t q = 0; q < here; ++q) {
        const std::size_t f = features_[j + q];
        if (unit) up |= octet(view.classes(f), o) << (8 * q);
        if (o < 8 * view.words_to_cut(f)) end |= octet(view.ends(f), o) << (8 * q);
      }
      up = transposed(up);
      end = transposed(end);
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t at = (8 * o + i) * inner_ + j;
        // 0 or -1 becomes -1 or 1.
        const std::uint64_t sign = ~bytes[up >> (8 * i) & 255] | 0x0101010101010101ULL;
        if (unit) std::memcpy(value + at, &sign, 8);
        std::memcpy(ends + at, bytes + (end >> (8 * i) & 255), 8);
      }
    }
  }
  if (unit) return;
  std::fill(value, value + octets * 8 * inner_, std::int8_t{0});
  for (std::size_t j = 0; j < features_.size(); ++j) {
    const std::int32_t* of = view.values(features_[j]);
    for (std::size_t i = 0; i < positions_; ++i)
      value[i * inner_ + j] = static_cast<std::int8_t>(of[i]);
  }
}

void CutLanes::set_outer(View& view, std::size_t outer) {
  const std::uint16_t* ranks[kLanes];
  for (std::size_t j = 0; j < features_.size(); ++j)
    ranks[j] = view.pair(outer, features_[j]).narrow();
  data_->kernels.interleave16(ranks, features_.size(), positions_, inner_,
                              rank_.reserve((positions_ + kBlock) * inner_));
}

void CutLanes::scan(View& view, std::size_t outer, const std::vector<char>& open,
                    std::vector<LaneCut>& cuts) {
  LaneScan s{};
  s.rank = rank_.data();
  s.value = value_.data();
  s.ends = ends_.data();
  s.positions = positions_;
  s.chunk = static_cast<std::size_t>(chunk_);
  s.inner = inner_;
  s.cuts = cuts.size();
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    s.bound[c] = static_cast<std::uint16_t>(view.sorted(outer)[cuts[c].cut - 1] + 1);
    s.left_total[c] = static_cast<std::int16_t>(cuts[c].left_total);
    s.right_total[c] = static_cast<std::int16_t>(cuts[c].right_total);
  }
  LaneGains gains;
  // Lanes without an end, or of features that may not be inner ones, do not count.
  alignas(64) std::int16_t cap[kLanes];
  for (std::size_t j = 0; j < inner_; ++j)
    cap[j] = j < features_.size() && open[features_[j]] ? kShort : -kShort;
  s.cap = cap;
  data_->kernels.lanes(s, gains);
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    cuts[c].left = gains.most_left[c];
    cuts[c].right = gains.most_right[c];
  }
}

}  // namespace odt
