// What the writers of certificates share: claims, and their bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace odt {
namespace {

struct Hole {};  // the log does not close a cut

// What is asked of the rows of a node.
struct Claim {
  int depth;
  std::int64_t leaves;
  int state;
  std::int32_t least;
};

// The bytes of a certificate.
struct Bytes {
  std::string bytes;
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
    bytes += static_cast<char>(value);
  }
};

// As the checker takes a claim: false where it looks itself.
inline bool normal(Claim& claim) {
  if (claim.depth < 40) claim.leaves = std::min(claim.leaves, std::int64_t{1} << claim.depth);
  claim.depth = static_cast<int>(std::min<std::int64_t>(claim.depth, claim.leaves - 1));
  return claim.depth >= 3;
}

}  // namespace
}  // namespace odt
