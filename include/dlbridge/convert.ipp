// The bodies of convert.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/device.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The remedy for a dtype that is not converted.
inline char const* conversion_advice(dtype from, dtype to) noexcept {
  return to.code == kDLBool  ? "Compare it with 0 first"
         : is_complex(from)  ? "Pass its real part"
         : is_floating(from) ? "Round it and convert its dtype first: a float may have a fraction"
         : is_integer(from) && is_integer(to)
             ? "Convert its dtype first if its values fit: not every value of it does"
             : "Convert its dtype first";
}

DLBRIDGE_API bool is_convertible(tensor_view const& view, requirement const& need) noexcept {
  return converts_to(view.dtype(), need.type) && is_host_accessible(view.device()) &&
         need.where.accepts(view.device()) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         has_extents(view, need);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report explain_conversion(tensor_view const& view,
                                                         requirement const& need) noexcept {
  requirement rest = need;
  bool const is_on_host = is_host_accessible(view.device());
  bool const is_same = view.dtype() == need.type;
  if (converts_to(view.dtype(), need.type) && (is_on_host || !need.where.accepts(view.device()))) {
    rest.type = view.dtype();
    rest.order = layout::strided;
    rest.alignment = 1;
  }
  report r = explain_mismatch(view, rest);
  r.expected = bounded_text<240>();
  append_requirement(r.expected, need, need.extents != nullptr);
  if (r.has(errc::dtype_mismatch)) {
    r.advice = converts_to(view.dtype(), need.type) ? "Convert it on its device first"
                                                    : conversion_advice(view.dtype(), need.type);
  } else if (r.has(errc::device_mismatch) && !is_same) {
    r.advice = "Copy it to the CPU first";
  }
  return r;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
