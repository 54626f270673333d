// s log(s / w) by one division and no call, one at a time or by lanes; 0 where s is 0.
//
// The logarithm is that of a power of two and, by the series of artanh, that of what remains: their
// difference as integers tells which power is near a ratio of doubles. Its error is some units in
// the last place of the logarithm of 2, or of what comes out.
#pragma once

#include <cmath>

#include "odt/lanes.hpp"

namespace odt {

// In place of no weight: the sum beside it is exactly 0.
constexpr double kNoWeight = 1e-290;

constexpr std::uint64_t kSign = std::uint64_t{1} << 63, kHalfPower = std::uint64_t{1} << 51,
                        kPowerBits = 0xfff0000000000000ULL,
                        kMagic = 0x4330000000000000ULL;  // 2^52, whose last bits count
constexpr double kNoPower = 4503599627370496.0 + 2048, kLog2 = 0.693147180559945309417;
// (artanh(t) / t - 1) / t^2 by powers of t^2, where |t| <= 1/5: t^2 times it is right to 1.6e-17.
constexpr double kArtanh[] = {0.3333333333333632,  0.19999999998098325, 0.1428571469486735,
                              0.11111069453563148, 0.09093170552997057, 0.07625230015003648,
                              0.07683133229124434};

// Value: double with std::uint64_t as bits, or lanes with theirs.
template <class Value, class Bits>
ODT_INLINE Value gain_of_ratio(const Value& s, const Value& weight) {
  const Value w = weight + kNoWeight;
  Bits count, exposure;
  std::memcpy(&count, &s, sizeof(Value));
  std::memcpy(&exposure, &w, sizeof(Value));
  // The power of two next to the ratio, 2048 too large, in the twelve highest bits. Without it, the
  // ratio lies between 2/3 and 3/2.
  const Bits power = count - exposure + (kHalfPower + kSign);
  const Bits near_bits = count - (power & kPowerBits) + kSign,
             exponent_bits = (power >> 52) | kMagic;
  Value near, exponent;
  std::memcpy(&near, &near_bits, sizeof(Value));
  std::memcpy(&exponent, &exponent_bits, sizeof(Value));
  const Value t = (near - w) / (near + w), u = t * t;
  Value series = u * kArtanh[6] + kArtanh[5];
#pragma GCC unroll 8
  for (int k = 4; k >= 0; --k) series = series * u + kArtanh[k];
  return s * (2 * t * (u * series + 1) + (exponent - kNoPower) * kLog2);
}

inline double gain_of_ratio(double s, double w) {
  return gain_of_ratio<double, std::uint64_t>(s, w);
}

// How much less of half the deviance rows of a weight and a sum lose by their mean than by another
// one. Where counts are large it would drown in sums of y log y.
inline double gain_over(double s, double w, double mean) {
  const double all = w * mean, apart = s - all;
  if (!(all > 0) || !(s > 0)) return all > 0 ? all : 0;
  const double x = apart / all;
  return s * (std::fabs(x) < 0.5 ? std::log1p(x) : std::log(s / all)) - apart;
}

}  // namespace odt
