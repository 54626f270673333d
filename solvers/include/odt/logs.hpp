// s log(s / w) by one division and no call, one at a time or by lanes; 0 where s is 0.
//
// The logarithm is that of the mantissas, by the series of artanh, and of the exponents. Its error
// is some units in the last place of the logarithm of 2, or of what comes out.
#pragma once

#include "odt/lanes.hpp"

namespace odt {

constexpr std::int64_t kMantissa = 0x000fffffffffffffLL, kOne = 0x3ff0000000000000LL,
                       kMagic = 0x4330000000000000LL;  // 2^52, whose last bits count
constexpr double kLog2 = 0.693147180559945309417;

// Value: double with std::int64_t as bits, or lanes with theirs.
template <class Value, class Bits>
ODT_INLINE Value gain_of_ratio(const Value& s, const Value& w) {
  Bits bits[2];
  std::memcpy(&bits[0], &s, sizeof(Value));
  std::memcpy(&bits[1], &w, sizeof(Value));
  Value mantissa[2], exponent[2];
  for (int k = 0; k < 2; ++k) {
    const Bits m = (bits[k] & kMantissa) | kOne, e = (bits[k] >> 52) | kMagic;
    std::memcpy(&mantissa[k], &m, sizeof(Value));
    std::memcpy(&exponent[k], &e, sizeof(Value));
  }
  // Of a ratio of mantissas, which lies between 1/2 and 2: |t| < 1/3.
  const Value t = (mantissa[0] - mantissa[1]) / (mantissa[0] + mantissa[1]), u = t * t;
  Value series = u * (1.0 / 35) + 1.0 / 33;
  for (int k = 31; k >= 1; k -= 2) series = series * u + 1.0 / k;
  return s * (2 * t * series + (exponent[0] - exponent[1]) * kLog2);
}

inline double gain_of_ratio(double s, double w) {
  return gain_of_ratio<double, std::int64_t>(s, w);
}

}  // namespace odt
