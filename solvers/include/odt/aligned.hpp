// Cache-line aligned storage that grows but never shrinks, so that search levels reuse their
// memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace odt {

template <class T>
class Aligned {
 public:
  Aligned() = default;
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  Aligned(Aligned&& other) noexcept { swap(other); }
  Aligned& operator=(Aligned&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Aligned() { std::free(block_); }

  // Contents are undefined after growth.
  T* reserve(std::size_t count) {
    if (count > capacity_) {
      constexpr std::size_t kSmall = 1 << 14;  // bytes: what grows often costs more than its room
      if (count * sizeof(T) <= kSmall) count = std::max(count, 2 * capacity_);
      std::free(block_);
      data_ = nullptr;
      capacity_ = 0;
      // `aligned_alloc` parts a larger block, which takes several times as long for a small one.
      const std::size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
      block_ = std::malloc(bytes + 63);
      if (block_ == nullptr) throw std::bad_alloc();
      data_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(block_) + 63) / 64 * 64);
      capacity_ = bytes / sizeof(T);
    }
    return data_;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  void swap(Aligned& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
  }
  void* block_ = nullptr;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

constexpr std::size_t kBlock = 64;  // rows per bitmap word

inline std::size_t words_of(std::size_t rows) { return (rows + kBlock - 1) / kBlock; }
// Without the instruction, which the base line of the processor lacks, the compiler calls a table
// look-up eight times.
inline int popcount(std::uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555ULL;
  x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
  return static_cast<int>((x * 0x0101010101010101ULL) >> 56);
}

inline std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~0ULL : (1ULL << count) - 1;
}
// All bits from the k-th set one on, k from 1.
inline std::uint64_t from_bit(std::uint64_t bits, std::int32_t k) {
  while (--k > 0) bits &= bits - 1;
  return ~((bits & -bits) - 1);
}
// Bits of word w that stand for a row, when there are `rows` of them.
inline std::uint64_t valid_bits(std::size_t rows, std::size_t w) {
  return low_bits(rows - w * kBlock);
}

}  // namespace odt
