// The portable table: no instruction beyond the baseline of the build.
#include "kernel_shared.hpp"

namespace odt {

const Kernels& kernels_portable() {
  static const Kernels table = {
      kShared,
      "portable",
      below_generic<std::uint16_t>,
      below_generic<std::uint32_t>,
      compress_generic<std::uint16_t>,
      compress_generic<std::uint32_t>,
      compress_bits_generic<extract_slow>,
      changes_generic<std::uint16_t>,
      changes_generic<std::uint32_t>,
      two_class_generic<block_extremes>,
      multi_class_generic<multi_class_boundaries, multi_class_open>,
  };
  return table;
}

}  // namespace odt
