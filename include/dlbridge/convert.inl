// The inline bodies of convert.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dlbridge/convert.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/types/conversion_rules.hpp>
#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_NAMESPACE
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
}  // namespace detail

template <class T>
managed_tensor converted_copy_of(tensor_view const& source, layout order, struct_kind kind,
                                 host_allocator const& memory) {
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

DLBRIDGE_END_NAMESPACE
