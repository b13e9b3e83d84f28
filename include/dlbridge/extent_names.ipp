// The bodies of extent_names.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/extent_names.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API extent_names::entry const* extent_names::add(tensor_view const& view,
                                                          requirement const& need,
                                                          int source) noexcept {
  for (int i = 0; need.extents != nullptr && i < need.rank; ++i) {
    char const name = detail::name_of_extent(need.extents[i]);
    if (name == '\0') {
      continue;
    }
    entry* each = entries_;
    while (each != entries_ + size_ && each->name != name) {
      ++each;
    }
    if (each == entries_ + size_) {
      *each = {name, view.extent(i), source};
      ++size_;
    } else if (each->extent != view.extent(i)) {
      return each;
    }
  }
  return nullptr;
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API report disagreement(tensor_view const& view, requirement const& need,
                                                   extent_names::entry const& with,
                                                   char const* where) noexcept {
  report r;
  r.add(errc::extent_mismatch);
  char const name[] = {with.name, '\0'};
  append_requirement(r.expected, need, true)
      .append(", with ")
      .append(name)
      .append(" = ")
      .append(with.extent)
      .append(" as in ")
      .append(where);
  append_name(r.got, view);
  return r;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
