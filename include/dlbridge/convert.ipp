// The bodies of convert.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

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

// Whether a dtype becomes a required one.
inline bool is_converted_from(dtype from, requirement const& need) noexcept {
  return need.keeps_dtype ? need.any_type() || from == need.type || has_other_type(from, need)
         : need.by_value  ? converts_by_value(from, need.type)
                          : converts_to(from, need.type);
}

DLBRIDGE_API bool is_convertible(tensor_view const& view, requirement const& need) noexcept {
  return is_converted_from(view.dtype(), need) && is_host_accessible(view.device()) &&
         need.where.accepts(view.device()) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         has_extents(view, need);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report explain_conversion(tensor_view const& view,
                                                         requirement const& need) noexcept {
  requirement rest = need;
  bool const is_on_host = is_host_accessible(view.device());
  bool const is_same = view.dtype() == need.type && !need.keeps_dtype;
  bool const converts = is_converted_from(view.dtype(), need);
  if ((converts || need.keeps_dtype) && (is_on_host || !need.where.accepts(view.device()))) {
    rest.type = converts ? view.dtype() : need.type;
    rest.order = layout::strided;
    rest.alignment = 1;
  }
  report r = explain_mismatch(view, rest);
  r.expected = bounded_text<240>();
  append_requirement(r.expected, need, need.extents != nullptr);
  if (r.has(errc::dtype_mismatch)) {
    r.advice = converts           ? "Convert it on its device first"
               : need.keeps_dtype ? r.advice
                                  : conversion_advice(view.dtype(), need.type);
  } else if (r.has(errc::device_mismatch) && !is_same) {
    r.advice = "Copy it to the CPU first";
  }
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report explain_value(tensor_view const& view,
                                                    requirement const& need, layout order,
                                                    changed_value const& value) noexcept {
  std::int64_t index[max_rank];
  std::int64_t rest = value.position;
  for (int i = 0; i < view.rank(); ++i) {
    int const axis = order == layout::column_major ? i : view.rank() - 1 - i;
    index[axis] = rest % view.extent(axis);
    rest /= view.extent(axis);
  }
  report r = refusal(errc::value_mismatch, "", value.text.c_str());
  append_requirement(r.expected, need, need.extents != nullptr);
  if (is_integer(need.type)) {
    std::uint64_t const most =
        ~std::uint64_t{0} >> (64 - need.type.bits + (need.type.code == kDLInt));
    r.expected.append(", integers from ")
        .append(need.type.code == kDLInt ? -static_cast<std::int64_t>(most) - 1 : 0)
        .append(" to ")
        .append_unsigned(most);
    r.advice = "Pass integers within these limits";
  } else {
    r.advice = is_boolean(need.type) ? "Pass 0 and 1, or compare it with 0 first"
                                     : "Convert its dtype first if its values may be rounded";
  }
  append_extents(r.got.append(" at "), view.rank(), index);
  append_name(r.got.append(" of "), view);
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void append_float(value_text& text, double number,
                                                 bool is_double) noexcept {
  char digits[32];
  for (int count = 6; count <= 17; ++count) {  // the fewest that are read back as this number
    std::snprintf(digits, sizeof digits, "%.*g", count, number);
    double const read = std::strtod(digits, nullptr);
    if (is_double ? read == number : static_cast<float>(read) == static_cast<float>(number)) {
      break;
    }
  }
  text.append(digits);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
