// literal_text: text that is composed at compile time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Text that is composed at compile time, up to a capacity. `size` also counts what exceeds it.
template <std::size_t Capacity>
struct literal_text {
  std::size_t size = 0;
  char data[Capacity + 1] = {};

  constexpr literal_text& append(char const* text) noexcept;
  constexpr literal_text& append_unsigned(std::uint64_t number) noexcept;
  constexpr literal_text& append(std::int64_t number) noexcept {
    return number < 0 ? append("-").append_unsigned(0 - static_cast<std::uint64_t>(number))
                      : append_unsigned(static_cast<std::uint64_t>(number));
  }
};

/// Composes a literal_text of exactly the size that it needs.
/// @tparam Composer append_to(text) appends to a literal_text of any capacity
template <class Composer>
constexpr auto compose() noexcept {
  constexpr std::size_t size = [] {
    literal_text<0> measured;
    Composer::append_to(measured);
    return measured.size;
  }();
  literal_text<size> text;
  Composer::append_to(text);
  return text;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/literal_text.inl>
