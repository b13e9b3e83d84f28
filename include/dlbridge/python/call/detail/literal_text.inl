// The inline bodies of literal_text.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/literal_text.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <std::size_t Capacity>
constexpr literal_text<Capacity>& literal_text<Capacity>::append(char const* text) noexcept {
  for (; *text != '\0'; ++text) {
    if (size < Capacity) {
      data[size] = *text;
    }
    ++size;
  }
  return *this;
}

template <std::size_t Capacity>
constexpr literal_text<Capacity>& literal_text<Capacity>::append_unsigned(
    std::uint64_t number) noexcept {
  if (number >= 10) {
    append_unsigned(number / 10);
  }
  char const digit[] = {static_cast<char>('0' + number % 10), '\0'};
  return append(digit);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
