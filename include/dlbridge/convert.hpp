// converted_copy_of: copies a host tensor of any real dtype to a new tensor of another one.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/conversion_rules.hpp>
#include <dlbridge/types/small_floats.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// Reads one element, which may have any address.
template <class From>
struct element_reader {
  static constexpr std::int64_t bytes = sizeof(From);
  From operator()(char const* element) const noexcept {
    From value;
    std::memcpy(&value, element, sizeof value);
    return value;
  }
};
template <>
struct element_reader<bool> {  // of which every byte but 0 is true
  static constexpr std::int64_t bytes = 1;
  bool operator()(char const* element) const noexcept { return *element != 0; }
};
// The elements of a float of 8 bits. One class reads them all, so that an extension compiles one
// loop for them.
struct float8_reader {
  static constexpr std::int64_t bytes = 1;
  float (*decode)(std::uint32_t) noexcept;
  float operator()(char const* element) const noexcept {
    return decode(static_cast<unsigned char>(*element));
  }
};
template <class Float>
float decode_float8(std::uint32_t bits) noexcept {
  return Float::from_bits(static_cast<std::uint8_t>(bits));
}
template <class = void>  // compiled where it is used
float8_reader reader_of_float8(int code) noexcept {
  constexpr float (*decoders[])(std::uint32_t) noexcept = {
      &decode_float8<float8_e3m4>,        &decode_float8<float8_e4m3>,
      &decode_float8<float8_e4m3b11fnuz>, &decode_float8<float8_e4m3fn>,
      &decode_float8<float8_e4m3fnuz>,    &decode_float8<float8_e5m2>,
      &decode_float8<float8_e5m2fnuz>,    &decode_float8<float8_e8m0fnu>};
  return {decoders[code - first_float8]};
}

// Converts the elements of the rows of a plan, whose units are bytes.
template <class To, class Reader>
void convert_rows(copy_plan const& plan, char const* from, char* to, Reader read) noexcept {
  constexpr std::int64_t bytes = sizeof(To);
  copy_dimension const row = plan.dimensions[plan.rank - 1];
  auto const convert_row = [&](char const* s, char* d, auto source, auto destination) noexcept {
    // A local, as a store through a pointer to char might change what a reference refers to.
    std::int64_t const count = row.extent;
    for (std::int64_t i = 0; i < count; ++i) {
      To const number = converted_number<To>(read(s + i * source));
      std::memcpy(d + i * destination, &number, sizeof number);
    }
  };
  bool const is_compact = row.source == Reader::bytes && row.destination == bytes;
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    if (is_compact) {  // with constants as steps, the compiler makes a vector loop
      convert_row(from + s, to + d, std::integral_constant<std::int64_t, Reader::bytes>(),
                  std::integral_constant<std::int64_t, bytes>());
    } else {
      convert_row(from + s, to + d, row.source, row.destination);
    }
  });
}

// Converts elements of type From, if that is a conversion to another dtype.
template <class To, class From>
void convert_from(copy_plan const& plan, char const* from, char* to) noexcept {
  if constexpr (takes_numbers<To> && dtype_of<From>() != dtype_of<To>() &&
                converts_to(dtype_of<From>(), dtype_of<To>())) {
    convert_rows<To>(plan, from, to, element_reader<From>());
  }
}
// The same for the one of several types that the dtype is.
template <class To, class... From>
void convert_from_any(dtype type, copy_plan const& plan, char const* from, char* to) noexcept {
  static_cast<void>(
      ((type == dtype_of<From>() && (convert_from<To, From>(plan, from, to), true)) || ...));
}

// Converts between tensors of the same shape, which are not empty and do not overlap. The dtype of
// the source is that of To, whose bits are unchanged, or converts to it.
template <class To>
void convert_elements(tensor_view const& source, tensor_view const& destination) noexcept {
  static_assert(takes_numbers<To>,
                "dlbridge: a conversion to this element type needs a constructor from float, from "
                "double for a dtype of 64 bits, or from the integer of its dtype. Add it, or "
                "convert to a type of dlbridge or of C++ with the same bits");
  dtype const type = source.dtype();
  if (type == dtype_of<To>()) {
    return copy_whole(source, destination);
  }
  copy_plan plan = plan_copy(source, destination, element_bytes(type), sizeof(To));
  if (plan.rank == 0) {
    plan.dimensions[plan.rank++] = {1, 0, 0};
  }
  auto const* const from = static_cast<char const*>(source.data());
  auto* const to = static_cast<char*>(const_cast<void*>(destination.data()));
  if constexpr (is_floating(dtype_of<To>()) && takes_numbers<To>) {
    if (type.code >= first_float8 && type.code <= last_float8) {
      return convert_rows<To>(plan, from, to, reader_of_float8<>(type.code));
    }
  }
  convert_from_any<To, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, float16, bfloat16, float, double>(
      type, plan, from, to);
}

// The remedy for a dtype that is not converted.
inline char const* conversion_advice(dtype from, dtype to) noexcept {
  return to.code == kDLBool  ? "Compare it with 0 first"
         : is_complex(from)  ? "Pass its real part"
         : is_floating(from) ? "Round it and convert its dtype first: a float may have a fraction"
         : is_integer(from) && is_integer(to)
             ? "Convert its dtype first if its values fit: not every value of it does"
             : "Convert its dtype first";
}

// Whether the host can convert a tensor to one that meets the requirement.
inline bool is_convertible(tensor_view const& view, requirement const& need) noexcept {
  return converts_to(view.dtype(), need.type) && is_host_accessible(view.device()) &&
         need.where.accepts(view.device()) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         has_extents(view, need);
}

// Why a tensor is not converted to one that meets the requirement.
DLBRIDGE_COLD inline report explain_conversion(tensor_view const& view,
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

/// Copies a tensor of a real dtype to new host memory, with its elements converted to T.
///
/// A float receives every real dtype, rounded to the nearest number; above its largest number is
/// infinity, or NaN in a format without infinity. An integer receives bool, and the integers of
/// which it has every value. No other conversion loses a value, as converts_to states.
///
/// @tparam T The element type of the copy.
/// @param source The tensor, in memory that the CPU can access, with any strides.
/// @param order layout::row_major or layout::column_major.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return A compact, writable tensor, aligned to 64 bytes, with flag_is_copied, also if the dtypes
///   are equal.
/// @throws error dtype_mismatch (the conversion would lose values, or the dtype is not real), or as
///   copy_of.
///
/// @par Stream order
/// As copy_of: the elements must be ready when the caller calls it.
template <class T>
managed_tensor converted_copy_of(tensor_view const& source, layout order = layout::row_major,
                                 struct_kind kind = struct_kind::versioned,
                                 host_allocator const& memory = default_allocator()) {
  static_assert(is_real(dtype_of<T>()), "dlbridge: a tensor is converted to a real dtype");
  requirement need;
  need.type = dtype_of<T>();
  need.converts = true;
  if (!detail::is_convertible(source, need)) {
    raise(detail::explain_conversion(source, need));
  }
  managed_tensor result = detail::build_for_copy(source, need.type, order, kind, memory);
  if (!source.empty()) {
    detail::convert_elements<T>(source, result.view());
  }
  return result;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
