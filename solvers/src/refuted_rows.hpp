// Sets of rows that lost too much in trees, and what that says about others. Of diagrams only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// The last such sets, and those that helped; compared with a set eight at a time, or four, where
// the processor has vectors.
class RefutedRows {
 public:
  enum class Vectors { none, avx2, avx512 };

  // `dearest`: what each row loses at most.
  RefutedRows(std::size_t words, const std::vector<Loss>& dearest);

  void keep(const std::uint64_t* rows, Loss loss);

  // A bound above `budget` on what rows lose, or 0: at least what a set here does, less what those
  // of it can lose that are not among them.
  Loss least(const std::uint64_t* rows, Loss budget);

 private:
  static constexpr std::size_t kMost = 1024, kLanes = 8;

  // The word of a set, or behind the words its loss: those of eight sets lie side by side.
  std::uint64_t& at(std::size_t set, std::size_t word) {
    return kept_[(set / kLanes * (words_ + 1) + word) * kLanes + set % kLanes];
  }
  Loss least_by(std::size_t set, const std::uint64_t* rows);
  void put(std::size_t set, const std::uint64_t* rows, Loss loss);

  const std::size_t words_;
  const std::vector<Loss>& dearest_;
  Loss cheapest_ = kInfinite;            // what a row loses at most that can lose
  std::vector<std::uint64_t> can_lose_;  // the rows that can
  std::vector<std::uint64_t> kept_;
  std::size_t many_ = 0, next_ = 0;
  Loss most_ = 0;  // that a set loses
  Vectors vectors_;
};

}  // namespace odt
