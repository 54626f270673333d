// Eight doubles at a time, by the compiler's vectors: as wide as the machine has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Where the loader can choose, a function is compiled for several instruction sets. Sums and
// products are kept apart in all of them, so that they answer alike. Sanitizers instrument the code
// by which the loader chooses, before they are loaded themselves: with them there is one version.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ODT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define ODT_POPCNT __attribute__((target_clones("popcnt", "default")))
#else
#define ODT_CLONES
#define ODT_POPCNT
#endif

namespace odt {

constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(64)));
using LaneBits = std::int64_t __attribute__((vector_size(64)));
using LaneWords = std::uint64_t __attribute__((vector_size(64)));

// Always inlined, so that each clone of a caller has its own.
#define ODT_INLINE inline __attribute__((always_inline))

ODT_INLINE void load(Lanes& x, const double* from) { std::memcpy(&x, from, sizeof x); }
ODT_INLINE void store(const Lanes& x, double* to) { std::memcpy(to, &x, sizeof x); }

}  // namespace odt
