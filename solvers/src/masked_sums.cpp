#include "odt/masked_sums.hpp"

namespace odt {
namespace {

template <int kBlocks>
ODT_INLINE void add_blocks(const MaskedRows& in, std::size_t block, double* a, double* b) {
  Lanes sum_a[kBlocks] = {}, sum_b[kBlocks] = {};
  for (std::size_t k = 0; k < in.rows; ++k) {
    const double* from = in.first + in.row[k] * in.step;
    const std::uint8_t* mask = in.masks + in.row[k] * in.blocks + block;
    const Lanes x = Lanes{} + from[0], y = Lanes{} + from[1];
    for (int i = 0; i < kBlocks; ++i) {
      LaneBits bits;
      std::memcpy(&bits, in.lanes[mask[i]], sizeof bits);
      sum_a[i] += (Lanes)((LaneBits)x & bits);
      sum_b[i] += (Lanes)((LaneBits)y & bits);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    store(sum_a[i], a + (block + static_cast<std::size_t>(i)) * kLanes);
    store(sum_b[i], b + (block + static_cast<std::size_t>(i)) * kLanes);
  }
}

}  // namespace

ODT_CLONES void differences(const double* a, const double* b, std::size_t n, double* out) {
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes x, y;
    load(x, a + j);
    load(y, b + j);
    store(x - y, out + j);
  }
}

ODT_CLONES void add_masked_two(const MaskedRows& in, std::size_t block, double* a, double* b) {
  for (; block + 4 <= in.blocks; block += 4) add_blocks<4>(in, block, a, b);
  for (; block < in.blocks; ++block) add_blocks<1>(in, block, a, b);
}

ODT_CLONES void add_masked_one(const MaskedRows& in, std::size_t block, double* sums) {
  for (; block < in.blocks; ++block) {
    Lanes sum = {};
    for (std::size_t k = 0; k < in.rows; ++k) {
      LaneBits bits;
      std::memcpy(&bits, in.lanes[in.masks[in.row[k] * in.blocks + block]], sizeof bits);
      sum += (Lanes)((LaneBits)(Lanes{} + in.first[in.row[k] * in.step]) & bits);
    }
    store(sum, sums + block * kLanes);
  }
}

}  // namespace odt
