// The inline bodies of convert.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <dlbridge/convert.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/types/conversion_rules.hpp>
#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// A std::complex as it is in memory.
template <class Part>
struct complex_pair {
  Part real;
  Part imaginary;
};
template <class T>
constexpr bool is_pair = false;
template <class Part>
constexpr bool is_pair<complex_pair<Part>> = true;
}  // namespace detail

template <class Part>
struct dtype_traits<detail::complex_pair<Part>> {
  static constexpr dtype value{kDLComplex, 8 * sizeof(detail::complex_pair<Part>)};
};

namespace detail {
// The element types between which conversions exist: one for each dtype.
template <class... T>
struct elements {};
using float8_elements = elements<float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn,
                                 float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu>;
using wider_elements = elements<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float16,
                                bfloat16, float, double, complex_pair<float>, complex_pair<double>>;

template <class T, class First, class... Rest, class... Others>
constexpr auto find_element(elements<First, Rest...>, elements<Others...> others) noexcept {
  if constexpr (dtype_of<T>() == dtype_of<First>() || sizeof...(Rest) + sizeof...(Others) == 0) {
    return static_cast<First*>(nullptr);
  } else if constexpr (sizeof...(Rest) == 0) {
    return find_element<T>(others, elements<>());
  } else {
    return find_element<T>(elements<Rest...>(), others);
  }
}
// The one of them with the dtype of T, whose bits are those of T.
template <class T>
using element_like =
    std::remove_pointer_t<decltype(find_element<T>(wider_elements(), float8_elements()))>;

// Reads one element, which may have any address.
template <class From>
struct element_reader {
  static constexpr std::int64_t bytes = sizeof(From);
  auto operator()(char const* element) const noexcept {
    From value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_arithmetic_v<From> || is_pair<From>) {
      return value;
    } else {
      return static_cast<float>(value);
    }
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

template <class... Float>
float8_reader reader_of_float8(int code, elements<Float...>) noexcept {
  constexpr float (*decoders[])(std::uint32_t) noexcept = {&decode_float8<Float>...};
  return {decoders[code - first_float8]};
}

template <class Number>
using bits_like =
    of_width<8 * sizeof(Number), std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
template <class Number>
bits_like<Number> to_bits(Number number) noexcept {
  bits_like<Number> bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// The bits of an integer beyond the digits of To, of which one is set if To may not have the value;
// of an integer To, only then.
template <class To, class From>
bits_like<From> bits_beyond(From number) noexcept {
  using bits = bits_like<From>;
  constexpr int most = std::numeric_limits<From>::digits;
  constexpr int digits =
      std::numeric_limits<To>::digits < most ? std::numeric_limits<To>::digits : most;
  constexpr bits half = bits{1} << (digits - 1);
  constexpr bits mask = static_cast<bits>(half - 1 + half);
  constexpr bool has_signs = std::is_signed_v<From> && std::is_signed_v<To>;
  return static_cast<bits>(has_signs ? (static_cast<bits>(number) + mask + 1) & ~(2 * mask + 1)
                                     : static_cast<bits>(number) & ~mask);
}

// Converts a number to To. Returns whether To has its value, which compilers do not compute for a
// caller that ignores it. No number makes the behaviour undefined.
template <class To, class From>
bool try_convert(From number, To& out) noexcept {
  if constexpr (is_pair<From>) {
    bool const has_real = try_convert(number.real, out.real);
    return try_convert(number.imaginary, out.imaginary) && has_real;
  } else if constexpr (is_pair<To>) {
    out.imaginary = 0;
    return try_convert(number, out.real);
  } else if constexpr (std::is_same_v<To, bool>) {
    out = number == From(1);
    return out || number == From(0);
  } else if constexpr (std::is_same_v<From, bool>) {
    out = static_cast<To>(number);
    return true;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    out = static_cast<To>(number);
    return bits_beyond<To>(number) == 0;
  } else if constexpr (std::is_integral_v<To>) {
    constexpr From least = static_cast<From>((std::numeric_limits<To>::min)());
    constexpr From half = static_cast<From>((std::numeric_limits<To>::max)() / 2 + 1);
    out = static_cast<To>(number >= least && number < 2 * half ? number : least);
    return static_cast<From>(out) == number;
  } else {
    out = static_cast<To>(number);
    std::conditional_t<std::is_same_v<To, double>, double, float> const made = out;
    if constexpr (std::is_integral_v<From>) {
      From same = 0;
      return try_convert(made, same) && same == number;
    } else {
      return made == number || number != number;
    }
  }
}

// The same for loops: returns bits of which one is set if To may not have the value. They need no
// branch, so that compilers make vector loops of them.
template <class To, class From>
auto convert_or_doubt(From number, To& out) noexcept {
  bool const holds = try_convert(number, out);
  if constexpr (is_pair<From> || !std::is_arithmetic_v<To>) {
    return holds ? 0U : 1U;
  } else if constexpr (std::is_floating_point_v<From>) {
    bits_like<From> const bits = to_bits(number);
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      // Numbers beyond 2^digits are taken for 0; negative ones too, if To has no sign.
      constexpr int digits = std::numeric_limits<From>::digits - 1;
      constexpr bits_like<From> limit =
          static_cast<bits_like<From>>(std::numeric_limits<From>::max_exponent - 1 +
                                       std::numeric_limits<To>::digits)
          << digits;
      constexpr bits_like<From> signs = bits_like<From>{std::is_signed_v<To>}
                                        << (8 * sizeof(From) - 1);
      bits_like<From> const within = bits & (0 - bits_like<From>{(bits & ~signs) < limit});
      From kept;
      std::memcpy(&kept, &within, sizeof kept);
      out = static_cast<To>(kept);
    }
    return static_cast<bits_like<From>>(bits ^ to_bits(static_cast<From>(out)));
  } else {
    return bits_beyond<To>(number);
  }
}

// The first value, in the order of the copy, that a conversion by value would change.
using value_text = bounded_text<64>;
struct changed_value {
  std::int64_t position = -1;  // -1 if each element keeps its value
  value_text text{};
};
DLBRIDGE_COLD report explain_value(tensor_view const& view, requirement const& need, layout order,
                                   changed_value const& value) noexcept;

// The fewest digits that are read back as the number.
DLBRIDGE_COLD void append_float(value_text& text, double number, bool is_double) noexcept;
template <class Number>
DLBRIDGE_COLD void append_value(value_text& text, Number number) noexcept {
  if constexpr (is_pair<Number>) {
    append_value(text, number.real);
    bool const has_sign = number.imaginary < 0;
    append_value(text.append(has_sign ? "" : "+"), number.imaginary);
    text.append("j");
  } else if constexpr (std::is_floating_point_v<Number>) {
    append_float(text, static_cast<double>(number), std::is_same_v<Number, double>);
  } else if constexpr (std::is_signed_v<Number>) {
    text.append(std::int64_t{number});
  } else {
    text.append_unsigned(number);
  }
}

// Converts the elements of the rows of a plan, whose units are bytes, to a destination without
// gaps. `Step` is the distance of the elements in a row, as a constant where it is one, of which
// the compiler makes a vector loop.
template <class To, class Reader, class Step>
void convert_row(char const* from, Step step, std::int64_t count, char* to, Reader read) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    To number;
    try_convert(read(from + i * step), number);
    std::memcpy(to + i * std::int64_t{sizeof number}, &number, sizeof number);
  }
}

// The same by value. Returns the index of the first element whose value To lacks, and appends the
// value; otherwise -1. Another thread may change the elements meanwhile: what is stored is what was
// examined.
template <class To, class Reader, class Step>
std::int64_t convert_row_by_value(char const* from, Step step, std::int64_t count, char* to,
                                  Reader read, value_text& text) noexcept {
  decltype(convert_or_doubt(read(from), std::declval<To&>())) doubt = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    To number;
    doubt |= convert_or_doubt(read(from + i * step), number);
    std::memcpy(to + i * std::int64_t{sizeof number}, &number, sizeof number);
  }
  for (std::int64_t i = 0; doubt != 0 && i < count; ++i) {
    auto const value = read(from + i * step);
    To number;
    if (!try_convert(value, number)) {
      append_value(text, value);
      return i;
    }
    std::memcpy(to + i * std::int64_t{sizeof number}, &number, sizeof number);
  }
  return -1;
}

template <class To, bool ByValue, class Reader>
void convert_rows(copy_plan const& plan, char const* from, char* to, Reader read,
                  changed_value& changed) noexcept {
  copy_dimension const row = plan.dimensions[plan.rank - 1];
  auto const convert = [&](std::int64_t s, std::int64_t d, auto step) noexcept {
    if constexpr (ByValue) {
      std::int64_t const i =
          changed.position >= 0
              ? -1
              : convert_row_by_value<To>(from + s, step, row.extent, to + d, read, changed.text);
      changed.position = i >= 0 ? d / std::int64_t{sizeof(To)} + i : changed.position;
    } else {
      convert_row<To>(from + s, step, row.extent, to + d, read);
    }
  };
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    if (row.source == Reader::bytes) {
      convert(s, d, std::integral_constant<std::int64_t, Reader::bytes>());
    } else {
      convert(s, d, row.source);
    }
  });
}

// Converts elements of type From, if that is a conversion to another dtype. One that is exact is
// compiled once for both rules.
template <class To, bool ByValue, class From>
void convert_from(copy_plan const& plan, char const* from, char* to,
                  changed_value& changed) noexcept {
  constexpr dtype source = dtype_of<From>();
  constexpr dtype type = dtype_of<To>();
  constexpr bool exists = ByValue ? converts_by_value(source, type) : converts_to(source, type);
  if constexpr (source != type && exists) {
    constexpr bool is_exact = is_boolean(source) || (is_integer(type) && converts_to(source, type));
    convert_rows<To, ByValue && !is_exact>(plan, from, to, element_reader<From>(), changed);
  }
}

// The same for the one of several types that the dtype is.
template <class To, bool ByValue, class... From>
void convert_from_any(elements<From...>, dtype type, copy_plan const& plan, char const* from,
                      char* to, changed_value& changed) noexcept {
  static_cast<void>(((type == dtype_of<From>() &&
                      (convert_from<To, ByValue, From>(plan, from, to, changed), true)) ||
                     ...));
}

// Converts between tensors of the same shape, which are not empty and do not overlap; the
// destination is compact. The dtype of the source is that of To, whose bits are unchanged, or
// converts to it.
template <class To, bool ByValue>
void convert_elements(tensor_view const& source, tensor_view const& destination,
                      changed_value& changed) noexcept {
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
  if constexpr (ByValue || !is_integer(dtype_of<To>())) {
    if (type.code >= first_float8 && type.code <= last_float8) {
      return convert_rows<To, ByValue>(plan, from, to,
                                       reader_of_float8(type.code, float8_elements()), changed);
    }
  }
  convert_from_any<To, ByValue>(wider_elements(), type, plan, from, to, changed);
}

template <class T, bool ByValue>
managed_tensor convert_tensor(tensor_view const& source, requirement const& need, layout order,
                              struct_kind kind, host_allocator const& memory, report& why) {
  managed_tensor result = build_for_copy(source, need.type, order, kind, memory);
  changed_value changed;
  if (!source.empty()) {
    convert_elements<element_like<T>, ByValue>(source, result.view(), changed);
  }
  if constexpr (ByValue) {
    if (changed.position >= 0) {
      why = explain_value(source, need, order, changed);
      result.reset();
    }
  }
  return result;
}
}  // namespace detail

template <class T, class Rule>
managed_tensor converted_copy_of(tensor_view const& source, layout order, struct_kind kind,
                                 host_allocator const& memory) {
  static_assert(converts_to(dtype_of<T>(), dtype_of<T>()),
                "dlbridge: a tensor is converted to a dtype of numbers");
  static_assert(detail::is_converted<Rule>, "dlbridge: the rule is converted or by_value");
  requirement need;
  need.type = dtype_of<T>();
  need.converts = true;
  need.by_value = detail::is_by_value<Rule>;
  report why;
  managed_tensor result;
  if (!detail::is_convertible(source, need)) {
    why = detail::explain_conversion(source, need);
  } else {
    result = detail::convert_tensor<T, detail::is_by_value<Rule>>(source, need, order, kind, memory,
                                                                  why);
  }
  if (!why.ok()) {
    raise(why);
  }
  return result;
}

DLBRIDGE_END_NAMESPACE
