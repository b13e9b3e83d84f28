// wide: a signed integer of 128 bits, which holds every product of two int64.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 wide;
#else  // compilers for 32-bit machines have none
class wide {
 public:
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  constexpr wide(Integer value)
      : high_(value < Integer{0} ? ~std::uint64_t{0} : 0),
        low_(static_cast<std::uint64_t>(value)) {}

  friend constexpr wide operator+(wide a, wide b) {
    std::uint64_t const low = a.low_ + b.low_;
    return wide(a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low);
  }
  friend constexpr wide operator-(wide a, wide b) { return a + wide(~b.high_, ~b.low_) + 1; }
  friend constexpr wide operator*(wide a, wide b) {
    constexpr std::uint64_t half = 0xFFFFFFFF;
    std::uint64_t const first =
        (a.low_ >> 32) * (b.low_ & half) + ((a.low_ & half) * (b.low_ & half) >> 32);
    std::uint64_t const second = (a.low_ & half) * (b.low_ >> 32) + (first & half);
    return wide((a.low_ >> 32) * (b.low_ >> 32) + (first >> 32) + (second >> 32) +
                    a.high_ * b.low_ + a.low_ * b.high_,
                a.low_ * b.low_);
  }
  constexpr wide& operator+=(wide other) { return *this = *this + other; }

  friend constexpr bool operator==(wide a, wide b) {
    return a.high_ == b.high_ && a.low_ == b.low_;
  }
  friend constexpr bool operator<(wide a, wide b) {
    return a.high_ != b.high_
               ? static_cast<std::int64_t>(a.high_) < static_cast<std::int64_t>(b.high_)
               : a.low_ < b.low_;
  }
  friend constexpr bool operator>(wide a, wide b) { return b < a; }
  friend constexpr bool operator<=(wide a, wide b) { return !(b < a); }
  friend constexpr bool operator>=(wide a, wide b) { return !(a < b); }

 private:
  constexpr wide(std::uint64_t high, std::uint64_t low) : high_(high), low_(low) {}
  std::uint64_t high_;
  std::uint64_t low_;
};
#endif
