// Whole numbers up to 2^256: how many trees there are.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace odt {

class BigCount {
 public:
  BigCount(std::uint64_t value = 0) {  // NOLINT: a number is a count
    limb_[0] = static_cast<std::uint32_t>(value);
    limb_[1] = static_cast<std::uint32_t>(value >> 32);
  }
  bool zero() const { return *this == BigCount(); }
  bool operator==(const BigCount& o) const { return limb_ == o.limb_; }

  BigCount& operator+=(const BigCount& o) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      carry += std::uint64_t{limb_[i]} + o.limb_[i];
      limb_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) throw std::overflow_error("more trees than can be counted");
    return *this;
  }
  // No more than this one is.
  BigCount& operator-=(const BigCount& o) {
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      borrow += std::int64_t{limb_[i]} - o.limb_[i];
      limb_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    if (borrow) throw std::logic_error("a number of trees is below zero");
    return *this;
  }
  BigCount operator*(const BigCount& o) const {
    const std::size_t mine = size(), others = o.size();
    BigCount product;
    for (std::size_t i = 0; i < mine; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < others || carry; ++j) {
        if (i + j >= kLimbs) throw std::overflow_error("more trees than can be counted");
        carry += std::uint64_t{limb_[i]} * (j < others ? o.limb_[j] : 0) + product.limb_[i + j];
        product.limb_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    return product;
  }
  // Hexadecimal digits, the first one being the largest.
  std::string digits() const {
    std::string text;
    for (std::size_t i = size(); i-- > 0;)
      for (int shift = 28; shift >= 0; shift -= 4)
        text += "0123456789abcdef"[limb_[i] >> shift & 15];
    return text.empty() ? "0" : text;
  }

 private:
  static constexpr std::size_t kLimbs = 8;
  std::size_t size() const {
    std::size_t used = kLimbs;
    while (used > 0 && limb_[used - 1] == 0) --used;
    return used;
  }
  std::array<std::uint32_t, kLimbs> limb_{};  // the least first
};

}  // namespace odt
