// Functions written for eight doubles at a time, with vectors as wide as the machine has them.
#pragma once

#include <algorithm>

#include "odt/lanes.hpp"

// As ODT_CLONES, for a function of internal linkage whose body is for lanes of a type L.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ODT_VERSIONS(HEAD, ...)                                                \
  __attribute__((target("avx512f"))) HEAD { using L = Lanes; __VA_ARGS__; }    \
  __attribute__((target("avx2"))) HEAD { using L = PairedLanes; __VA_ARGS__; } \
  __attribute__((target("default"))) HEAD { using L = PairedLanes; __VA_ARGS__; }
#else
#define ODT_VERSIONS(HEAD, ...) \
  HEAD { using L = Lanes; __VA_ARGS__; }
#endif

namespace odt {

ODT_INLINE void load_bits(LaneBits& x, const std::int64_t* from) {
  std::memcpy(&x, from, sizeof x);
}
ODT_INLINE Lanes choose(const LaneBits& mask, const Lanes& a, const Lanes& b) {
  return (Lanes)(((LaneBits)a & mask) | ((LaneBits)b & ~mask));
}
ODT_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
ODT_INLINE Lanes smaller(const Lanes& a, const Lanes& b) { return a < b ? a : b; }
// Zero in place of those that are not of a mask.
ODT_INLINE Lanes masked(const Lanes& x, const LaneBits& mask) {
  return (Lanes)((LaneBits)x & mask);
}
ODT_INLINE Lanes magnitude(const Lanes& x) {
  return (Lanes)((LaneBits)x & (LaneBits{} + INT64_MAX));
}

// Eight doubles as two vectors: where registers are as wide as one of these, GCC keeps what is
// wider in memory, and compares it number by number.
using HalfLanes = double __attribute__((vector_size(32)));
using HalfBits = std::int64_t __attribute__((vector_size(32)));
using HalfWords = std::uint64_t __attribute__((vector_size(32)));
struct PairedBits {
  HalfBits low, high;
};
struct PairedLanes {
  HalfLanes low, high;
};

template <class L>
struct BitsOf {
  using type = LaneBits;
};
template <>
struct BitsOf<PairedLanes> {
  using type = PairedBits;
};

#define ODT_PAIRED(RESULT, OPERATOR, TYPE)                            \
  ODT_INLINE RESULT operator OPERATOR(const TYPE& a, const TYPE& b) { \
    return {a.low OPERATOR b.low, a.high OPERATOR b.high};            \
  }
ODT_PAIRED(PairedLanes, +, PairedLanes)
ODT_PAIRED(PairedLanes, -, PairedLanes)
ODT_PAIRED(PairedLanes, *, PairedLanes)
ODT_PAIRED(PairedLanes, /, PairedLanes)
ODT_PAIRED(PairedBits, >, PairedLanes)
ODT_PAIRED(PairedBits, >=, PairedLanes)
ODT_PAIRED(PairedBits, &, PairedBits)
ODT_PAIRED(PairedBits, |, PairedBits)
#undef ODT_PAIRED
ODT_INLINE PairedLanes paired(double x) { return {HalfLanes{} + x, HalfLanes{} + x}; }
#define ODT_PAIRED(RESULT, OPERATOR)                                    \
  ODT_INLINE RESULT operator OPERATOR(const PairedLanes& a, double b) { \
    return a OPERATOR paired(b);                                        \
  }                                                                     \
  ODT_INLINE RESULT operator OPERATOR(double a, const PairedLanes& b) { \
    return paired(a) OPERATOR b;                                        \
  }
ODT_PAIRED(PairedLanes, +)
ODT_PAIRED(PairedLanes, -)
ODT_PAIRED(PairedLanes, *)
ODT_PAIRED(PairedLanes, /)
ODT_PAIRED(PairedBits, >)
ODT_PAIRED(PairedBits, >=)
#undef ODT_PAIRED
template <class T>
ODT_INLINE PairedLanes& operator+=(PairedLanes& a, const T& b) {
  return a = a + b;
}
template <class T>
ODT_INLINE PairedLanes& operator-=(PairedLanes& a, const T& b) {
  return a = a - b;
}
ODT_INLINE PairedBits& operator&=(PairedBits& a, const PairedBits& b) { return a = a & b; }
ODT_INLINE PairedBits& operator|=(PairedBits& a, const PairedBits& b) { return a = a | b; }

ODT_INLINE void load(PairedLanes& x, const double* from) {
  std::memcpy(&x.low, from, sizeof x.low);
  std::memcpy(&x.high, from + kLanes / 2, sizeof x.high);
}
ODT_INLINE void store(const PairedLanes& x, double* to) {
  std::memcpy(to, &x.low, sizeof x.low);
  std::memcpy(to + kLanes / 2, &x.high, sizeof x.high);
}
ODT_INLINE void load_bits(PairedBits& x, const std::int64_t* from) {
  std::memcpy(&x.low, from, sizeof x.low);
  std::memcpy(&x.high, from + kLanes / 2, sizeof x.high);
}
ODT_INLINE PairedLanes choose(const PairedBits& mask, const PairedLanes& a, const PairedLanes& b) {
  return {mask.low ? a.low : b.low, mask.high ? a.high : b.high};
}
ODT_INLINE PairedLanes masked(const PairedLanes& x, const PairedBits& mask) {
  return {(HalfLanes)((HalfBits)x.low & mask.low), (HalfLanes)((HalfBits)x.high & mask.high)};
}
ODT_INLINE PairedLanes magnitude(const PairedLanes& x) {
  return masked(x, PairedBits{HalfBits{} + INT64_MAX, HalfBits{} + INT64_MAX});
}

ODT_INLINE PairedLanes larger(const PairedLanes& a, const PairedLanes& b) {
  return choose(a > b, a, b);
}
ODT_INLINE PairedLanes smaller(const PairedLanes& a, const PairedLanes& b) {
  return choose(b > a, a, b);
}

template <class L>
ODT_INLINE double largest(const L& lanes) {
  double each[kLanes];
  store(lanes, each);
  return *std::max_element(each, each + kLanes);
}

}  // namespace odt
