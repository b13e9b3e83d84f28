// The bodies of error.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void truncate_text(text_head& head,
                                                          char const* text) noexcept {
  char* const data = head.data();
  std::size_t const capacity = head.capacity;
  std::memcpy(data + head.size, text, capacity - 1 - head.size);
  auto const continues = [data](std::size_t i) {  // whether a byte continues a character of UTF-8
    return (static_cast<unsigned char>(data[i]) & 0xC0U) == 0x80;
  };
  std::size_t end = capacity - 4;
  while (end > capacity - 7 && continues(end)) {
    --end;  // to the first byte of a character that the end would split
  }
  end = continues(end) ? capacity - 4 : end;  // no UTF-8: no character has more than 4 bytes
  std::memset(data + end, '.', capacity - 1 - end);
  head.size = static_cast<std::uint16_t>(capacity - 1);
  data[head.size] = '\0';
}

DLBRIDGE_NOINLINE DLBRIDGE_API void append_text(text_head& head, char const* text,
                                                std::size_t length) noexcept {
  if (length >= std::size_t{head.capacity} - head.size) {
    truncate_text(head, text);
    return;
  }
  char* const end = head.data() + head.size;
  head.size = static_cast<std::uint16_t>(head.size + length);
  end[length] = '\0';
  std::memcpy(end, text, length);  // last, as a tail call
}

DLBRIDGE_NOINLINE DLBRIDGE_API void append_number(text_head& head, std::uint64_t magnitude,
                                                  bool negative) noexcept {
  char digits[21];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude != 0);
  if (negative) {
    digits[--first] = '-';
  }
  append_text(head, digits + first, sizeof digits - first);
}
}  // namespace detail

DLBRIDGE_API errc report::code() const noexcept {
  unsigned i = 0;
  while ((reasons >> i & 1) == 0 && i + 1 < errc_count) {
    ++i;
  }
  return static_cast<errc>(i);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report refusal(errc code, char const* expected, char const* got,
                                              char const* advice) noexcept {
  report r;
  r.add(code);
  r.expected.append(expected);
  r.got.append(got);
  r.advice = advice;
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API message_text message(report const& r) noexcept {
  message_text text;
  append_message(text, r);
  return text;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void raise(report const& why) {
#if DLBRIDGE_EXCEPTIONS
  throw error(why);
#else
#if defined(DLBRIDGE_ON_ERROR)
  DLBRIDGE_ON_ERROR(why);
#endif
  std::fprintf(stderr, "dlbridge: %s\n", message(why).c_str());
  std::terminate();
#endif
}

DLBRIDGE_END_NAMESPACE
