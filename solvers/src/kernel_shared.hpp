// What all instruction sets share. Included by one file per set (see kernel_generic.hpp).
#pragma once

#include "kernel_bits.hpp"
#include "kernel_columns.hpp"
#include "kernel_labels.hpp"
#include "kernel_lanes.hpp"
#include "kernel_margins.hpp"

namespace {

constexpr odt::SharedKernels kShared = {
    lane_scan_generic,
    interleave16_generic,
    signed_two_generic,
    label_blocks_generic<std::int32_t>,
    label_blocks_generic<std::int64_t>,
    label_scan_generic<std::int32_t>,
    label_scan_generic<std::int64_t>,
    margin_upto_generic,
    margin_scan_generic,
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

}  // namespace
