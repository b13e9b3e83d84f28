// The inline bodies of error.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
constexpr bool errc_rows_are_in_order() noexcept {
  for (std::size_t i = 0; i < errc_count; ++i) {
    if (errc_rows[i].code != static_cast<errc>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(errc_rows_are_in_order(), "errc_rows has one row for each errc, in the same order");

// Not cold, as compilers copy by slow instructions in cold code.
void append_text(text_head& head, char const* text, std::size_t length) noexcept;

void append_number(text_head& head, std::uint64_t magnitude, bool negative) noexcept;
}  // namespace detail

template <std::size_t Capacity>
inline bounded_text<Capacity>::bounded_text() noexcept {
  static_assert(offsetof(bounded_text, data_) == sizeof(head_), "text_head::data");
  data_[0] = '\0';
}

template <std::size_t Capacity>
inline bounded_text<Capacity>& bounded_text<Capacity>::append(char const* text,
                                                              std::size_t length) noexcept {
  detail::append_text(head_, text, length);
  return *this;
}

template <std::size_t Capacity>
inline bounded_text<Capacity>& bounded_text<Capacity>::append(std::int64_t number) noexcept {
  auto const bits = static_cast<std::uint64_t>(number);
  detail::append_number(head_, number < 0 ? 0 - bits : bits, number < 0);
  return *this;
}

template <std::size_t Capacity>
inline bounded_text<Capacity>& bounded_text<Capacity>::append_unsigned(
    std::uint64_t number) noexcept {
  detail::append_number(head_, number, false);
  return *this;
}

namespace detail {
constexpr bool is_mismatch(errc code) noexcept { return row(code).kind == error_kind::mismatch; }
}  // namespace detail

template <std::size_t N>
void append_message(bounded_text<N>& text, report const& r) noexcept {
  bool const refused = !r.ok();
  errc const first = refused ? r.code() : errc();
  bool const mismatch = refused && detail::is_mismatch(first);
  if (refused && !mismatch) {
    text.append(row(first).noun).append(": ");
  }
  text.append("expected ").append(r.expected.c_str(), r.expected.size());
  text.append("; got ").append(r.got.c_str(), r.got.size());
  if (mismatch) {
    int nouns = 0;
    for (auto i = static_cast<unsigned>(first); r.reasons >> i != 0; ++i) {
      errc const code = static_cast<errc>(i);
      if (r.has(code) && detail::is_mismatch(code)) {
        text.append(nouns++ == 0 ? ": " : ", ").append(row(code).noun);
      }
    }
    bool const plural = nouns > 1 || r.has(errc::extent_mismatch);
    text.append(plural ? " differ" : " differs");
  }
  if (r.advice != nullptr) {
    text.append(". ").append(r.advice);
  }
}

DLBRIDGE_END_NAMESPACE
