// The bodies of index.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>

#include <dlbridge/detail/index.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API void raise_index(tensor_view const& view, int axis,
                                                std::int64_t index, bool is_unsigned) {
  bounded_text<32> given;
  is_unsigned ? given.append_unsigned(static_cast<std::uint64_t>(index)) : given.append(index);
  std::int64_t const extent = view.extent(axis);
  bounded_text<360> text;
#if DLBRIDGE_EXCEPTIONS  // the words of IndexError, which it becomes in Python
  text.append("index ").append(given.c_str()).append(" is out of range for axis ").append(axis);
  text.append(" with extent ").append(extent).append(" of ").append(name_of(view).c_str());
  throw std::out_of_range(text.c_str());
#else
  extent > 0 ? text.append("an index from 0 to ").append(extent - 1) : text.append("no index");
  text.append(" for axis ").append(axis).append(" of ").append(name_of(view).c_str());
  raise(refusal(errc::bad_argument, text.c_str(), given.c_str()));
#endif
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
