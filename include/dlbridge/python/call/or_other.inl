// The inline bodies of or_other.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/copy.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/literal_text.hpp>
#include <dlbridge/python/call/detail/number_reader.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The element type of a parameter type, or void.
template <class P, class = void>
struct element_of {
  using type = void;
};
template <class P>
struct element_of<P, std::void_t<typename P::element_type>> {
  using type = typename P::element_type;
};
template <class P>
using number_of = std::remove_const_t<typename element_of<P>::type>;

// What or_other<P, Kind> accepts. Members:
// - fits: whether a parameter P can accept it
// - require_elements(): refuses to compile for other elements than those
// - type: its annotation
// - text, last_text: what refusals call it, within a list and at the end of one
// - accepts(object): whether an object is of this kind, if it has no __dlpack__
// - read(object): its tensor; or an empty one with an exception set
template <class P>
struct other_kind<P, numbers> {
  static constexpr bool fits = std::is_const_v<typename element_of<P>::type> &&
                               (is_scalar<number_of<P>> || has_parts<number_of<P>>);
  static constexpr char const* type =
      has_parts<number_of<P>>
          ? " | typing.SupportsComplex | typing.SupportsFloat | typing.SupportsIndex | "
            "list[typing.Any] | tuple[typing.Any, ...] | range"
          : " | typing.SupportsFloat | typing.SupportsIndex | list[typing.Any] | "
            "tuple[typing.Any, ...] | range";
  static constexpr char const* text = ", a number, a list of numbers";
  static constexpr char const* last_text = ", a number, or a list of numbers";

  static constexpr bool require_elements() noexcept;
  static bool accepts(PyObject* object) noexcept { return is_list(object) || is_number(object); }
  static managed_tensor read(PyObject* object) noexcept;
};

template <class P>
struct other_kind<P, buffers> {
  static constexpr bool fits = true;
#if PY_VERSION_HEX >= 0x030C0000
  static constexpr char const* type = " | collections.abc.Buffer";
#else
  static constexpr char const* type = " | typing_extensions.Buffer";
#endif
  static constexpr char const* text = ", a buffer";
  static constexpr char const* last_text = ", or a buffer";

  static constexpr bool require_elements() noexcept { return true; }
  static bool accepts(PyObject* object) noexcept { return PyObject_CheckBuffer(object) != 0; }
  static managed_tensor read(PyObject* object) noexcept {
    return may_read_buffer(object) ? from_buffer(object) : managed_tensor();
  }
};

template <class P>
struct read_only_kind {
  static constexpr bool fits =
      std::is_void_v<number_of<P>> || std::is_const_v<typename element_of<P>::type>;

  static constexpr bool require_elements() noexcept;
};

template <class P>
struct other_kind<P, arrays> : read_only_kind<P> {
  static constexpr char const* type = " | SupportsArray";
  static constexpr char const* text = ", an object with __array__";
  static constexpr char const* last_text = ", or an object with __array__";

  static bool accepts(PyObject* object) noexcept { return has_array_method(object); }
  static managed_tensor read(PyObject* object) noexcept { return from_array_method(object); }
};

template <class P>
struct other_kind<P, arrow> : read_only_kind<P> {
  static constexpr char const* type = " | SupportsArrowArray | SupportsArrowStream";
  static constexpr char const* text = ", an Arrow array";
  static constexpr char const* last_text = ", or an Arrow array";

  static bool accepts(PyObject* object) noexcept { return has_arrow(object); }
  static managed_tensor read(PyObject* object) noexcept { return from_arrow(object); }
};

template <class P>
constexpr bool is_copied_row_major() noexcept {
  if constexpr (std::is_base_of_v<untyped_parameter, parameter<P>>) {
    constexpr requirement need = parameter<P>::required();
    return !parameter<P>::optional && !need.writable &&
           (need.order == layout::strided || need.order == layout::row_major);
  }
  return false;
}

template <class P, class Kind>
using if_fits = std::conditional_t<other_kind<P, Kind>::fits, std::tuple<Kind>, std::tuple<>>;

// The kinds that or_other<P, Kinds...> accepts: without tags, all that fit. An Arrow array has no
// shape, so that an object which is also an array of two dimensions is read as that.
template <class P, class... Kinds>
struct kinds_of {
  using type = std::tuple<Kinds...>;
};
template <class P>
struct kinds_of<P> {
  using type = decltype(std::tuple_cat(if_fits<P, numbers>(), if_fits<P, buffers>(),
                                       if_fits<P, arrays>(), if_fits<P, arrow>()));
};
}  // namespace python::detail

namespace python {
namespace detail {
template <class P, class Kinds>
struct other_parameter;
template <class P, class... Kinds>
struct other_parameter<P, std::tuple<Kinds...>> : parameter<P> {
  static constexpr bool takes_others = true;

  static bool is_other(PyObject* object) noexcept;
  static managed_tensor import_other(PyObject* object) noexcept;

  template <class Text>
  static constexpr void append_other_types(Text& text) noexcept {
    (text.append(other_kind<P, Kinds>::type), ...);
  }
  struct name_composer {
    template <class Text>
    static constexpr void append_to(Text& text) noexcept {
      std::size_t rest = sizeof...(Kinds);
      (text.append(--rest == 0 ? other_kind<P, Kinds>::last_text : other_kind<P, Kinds>::text),
       ...);
    }
  };
  DLBRIDGE_LOCAL static constexpr auto other_names = compose<name_composer>();
};

template <class P, class... Kinds>
struct result_kind<or_other<P, Kinds...>> : result_kind<P> {};
}  // namespace detail

template <class P, class... Kinds>
struct parameter<or_other<P, Kinds...>>
    : detail::other_parameter<P, typename detail::kinds_of<P, Kinds...>::type> {
  static or_other<P, Kinds...> make(imported_tensor& from, PyObject* object) noexcept {
    return or_other<P, Kinds...>(parameter<P>::make(from, object));
  }
};
}  // namespace python

namespace python::detail {
template <class P>
constexpr bool other_kind<P, numbers>::require_elements() noexcept {
  static_assert(std::is_void_v<number_of<P>> || std::is_const_v<typename element_of<P>::type>,
                "dlbridge: or_other<P, numbers> reads its elements, as what a function wrote to "
                "the copy of a list would be lost. Write T const");
  static_assert(std::is_void_v<number_of<P>> || is_scalar<number_of<P>> || has_parts<number_of<P>>,
                "dlbridge: or_other<P, numbers> has elements of bool, an integer, float, double "
                "or a complex number");
  return true;
}

template <class P>
constexpr bool read_only_kind<P>::require_elements() noexcept {
  static_assert(
      fits,
      "dlbridge: or_other<P, arrays> and or_other<P, arrow> read their elements, as what "
      "a function wrote to a copy would be lost, and Arrow's memory is immutable. Write T "
      "const");
  return true;
}

template <class P>
inline managed_tensor other_kind<P, numbers>::read(PyObject* object) noexcept {
  // Not in or_other: Clang prints further errors for a function with an invalid parameter type.
  static_assert(!std::is_void_v<number_of<P>>,
                "dlbridge: or_other<P, numbers> copies numbers to elements of P. Write a P with "
                "an element type");
  constexpr number_type read_as = number_type_of<std::conditional_t<fits, number_of<P>, float>,
                                                 parameter<P>::required().by_value>();
  managed_tensor result = number_reader(read_as).read(object);
  if constexpr (parameter<P>::required().order == layout::column_major) {
    managed_tensor const rows = std::move(result);
    if (rows) {
      guarded([&] { result = copy_of(rows.view(), layout::column_major); });
    }
  }
  return result;
}

template <class P, class... Kinds>
inline bool other_parameter<P, std::tuple<Kinds...>>::is_other(PyObject* object) noexcept {
  return type_cache::get(Py_TYPE(object)).dlpack == nullptr &&
         (other_kind<P, Kinds>::accepts(object) || ...);
}

template <class P, class... Kinds>
inline managed_tensor other_parameter<P, std::tuple<Kinds...>>::import_other(
    PyObject* object) noexcept {
  managed_tensor result;
  static_cast<void>(((other_kind<P, Kinds>::accepts(object) &&
                      (result = other_kind<P, Kinds>::read(object), true)) ||
                     ...));
  return result;
}
}  // namespace python::detail

namespace python {
template <class P>
struct parameter<row_major_of<P>> : parameter<P> {
  static constexpr requirement required() noexcept {
    requirement need = parameter<P>::required();
    need.order = layout::row_major;
    need.converts = true;
    need.keeps_dtype = true;
    return need;
  }
  static managed_tensor convert(tensor_view const& source, report&) {
    // Not in row_major_of: Clang would print further errors, as for other_kind<P, numbers>::read.
    static_assert(detail::is_copied_row_major<P>(),
                  "dlbridge: row_major_of is of any_tensor, any_argument or managed_tensor. Write "
                  "any_tensor_of<types<float const, double const>, shape<...>> as P for several "
                  "dtypes, and convert<T, shape<...>, row_major> for one");
    return copy_of(source);
  }
  static row_major_of<P> make(imported_tensor& from, PyObject* object) noexcept {
    return parameter<P>::make(from, object);
  }
};
template <class P>
struct detail::result_kind<row_major_of<P>> : detail::result_kind<P> {};
}  // namespace python
DLBRIDGE_END_NAMESPACE
