// The bodies of any_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API void raise_unlisted(tensor_view const& view, dtype const* listed,
                                                   std::size_t count) {
  report r = refusal(errc::dtype_mismatch, "", name_of(view).c_str());
  for (std::size_t i = 0; i < count; ++i) {
    r.expected.append(i == 0           ? ""
                      : i + 1 == count ? " or "
                                       : ", ")
        .append(name_of(listed[i]).c_str());
  }
  raise(r);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
