// The bodies of kept_stream.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <dlbridge/kept_stream.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> count{0};
  thread_local std::uint64_t const number = ++count;
  return number;
}
}  // namespace detail

DLBRIDGE_API stream_ref kept_stream::get(device where) const noexcept {
  bool const is_of_other_thread = thread_ != 0 && thread_ != detail::thread_number();
  stream_ref const stream =
      is_of_other_thread ? stream_ref::default_of(where) : stream_ref(where, native_handle_);
  return stream.in_context(context_);
}

DLBRIDGE_API bool kept_stream::is_per_thread(device where) const noexcept {
  return reinterpret_cast<std::uintptr_t>(native_handle_) == 2 &&
         runtime_of(where) != runtime_kind::none;
}

DLBRIDGE_END_NAMESPACE
