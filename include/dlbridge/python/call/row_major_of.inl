// The inline bodies of row_major_of.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/copy.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/row_major_of.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class P>
struct parameter<row_major_of<P>> : parameter<P> {
  static constexpr requirement required() noexcept {
    requirement need = parameter<P>::required();
    need.order = layout::row_major;
    need.converts = true;
    return need;
  }
  static managed_tensor convert(tensor_view const& source, report&) { return copy_of(source); }
  static row_major_of<P> make(imported_tensor& from, PyObject* object) noexcept {
    return parameter<P>::make(from, object);
  }
};
template <class P>
struct detail::result_kind<row_major_of<P>> : detail::result_kind<P> {};
}  // namespace python
DLBRIDGE_END_NAMESPACE
