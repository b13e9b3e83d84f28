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
  bounded_text<360> text("index ");
  if (is_unsigned) {
    text.append_unsigned(static_cast<std::uint64_t>(index));
  } else {
    text.append(index);
  }
  text.append(" is out of range for axis ").append(axis).append(" with extent ");
  text.append(view.extent(axis)).append(" of ").append(name_of(view).c_str());
#if DLBRIDGE_EXCEPTIONS
  throw std::out_of_range(text.c_str());
#else
  raise(refusal(errc::bad_argument, "an index of the tensor", text.c_str()));
#endif
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
