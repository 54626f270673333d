// The portable table: no instruction beyond the baseline of the build.
#include "kernel_bits.hpp"
#include "kernel_columns.hpp"
#include "kernel_labels.hpp"
#include "kernel_lanes.hpp"

namespace odt {

const Kernels& kernels_portable() {
  static const Kernels table = {
      "portable",
      below_generic<std::uint16_t>,
      below_generic<std::uint32_t>,
      compress_generic<std::uint16_t>,
      compress_generic<std::uint32_t>,
      compress_bits_generic<extract_slow>,
      changes_generic<std::uint16_t>,
      changes_generic<std::uint32_t>,
      two_class_generic<block_extremes>,
      lane_scan_generic,
      interleave16_generic,
      signed_two_generic,
      multi_class_generic,
      label_blocks_generic<std::int32_t>,
      label_blocks_generic<std::int64_t>,
      label_scan_generic<std::int32_t>,
      label_scan_generic<std::int64_t>,
      columns_generic,
      column_counts_generic,
      bit_counts_generic<int16_t>,
      bit_counts_generic<int32_t>,
      quarters_generic<int16_t>,
      quarters_generic<int32_t>,
      paid_quarters_generic<int16_t>,
      paid_quarters_generic<int32_t>,
      bit_compress_generic,
  };
  return table;
}

}  // namespace odt
