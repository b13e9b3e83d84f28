// or_numbers<P>: a tensor parameter that also accepts a number, and lists of numbers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/copy.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/detail/number_lists.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/requirement.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace python {
namespace detail {
// The element type of a parameter type, or void const.
template <class P, class = void>
struct element_of {
  using type = void const;
};
template <class P>
struct element_of<P, std::void_t<typename P::element_type>> {
  using type = typename P::element_type;
};
template <class P>
using number_of = std::remove_const_t<typename element_of<P>::type>;
// The same; another type after a failed assertion of or_numbers, so that no further error follows.
template <class P>
using readable_number = std::conditional_t<is_scalar<number_of<P>>, number_of<P>, float>;
}  // namespace detail
}  // namespace python

/// A parameter of type P that accepts a DLPack producer as P does, and also a Python number, and
/// lists, tuples and ranges of numbers, at any depth. Their values are copied to a new tensor with
/// the dtype of P. The function uses it as a P.
/// @tparam P a tensor parameter type of elements `T const`: tensor_span, tensor, argument, convert,
///   or an or_buffer of one
template <class P>
class or_numbers : public P {
  static_assert(python::is_tensor_parameter<P> && !python::parameter<P>::optional,
                "dlbridge: or_numbers<P> extends a tensor parameter. Write "
                "std::optional<or_numbers<P>> to accept None");
  static_assert(std::is_const_v<typename python::detail::element_of<P>::type>,
                "dlbridge: or_numbers<P> reads its elements, as what a function wrote to the copy "
                "of a list would be lost. Write T const");
  static_assert(std::is_void_v<python::detail::number_of<P>> ||
                    python::is_scalar<python::detail::number_of<P>>,
                "dlbridge: or_numbers<P> has elements of bool, an integer, float or double");

 public:
  or_numbers(P parameter) noexcept(std::is_nothrow_move_constructible_v<P>)
      : P(std::move(parameter)) {}
};

namespace python {

template <class P>
struct parameter<or_numbers<P>> : parameter<P> {
  static constexpr bool takes_others = true;
  static constexpr bool takes_numbers = true;

  static or_numbers<P> make(imported_tensor& from, PyObject* object) noexcept {
    return or_numbers<P>(parameter<P>::make(from, object));
  }

  static bool is_other(PyObject* object) noexcept {
    if (detail::is_list(object) || detail::is_number(object)) {
      return type_cache::get(Py_TYPE(object)).dlpack == nullptr;
    }
    if constexpr (parameter<P>::takes_others) {
      return parameter<P>::is_other(object);
    } else {
      return false;
    }
  }
  static managed_tensor import_other(PyObject* object) noexcept {
    if constexpr (parameter<P>::takes_others) {
      if (parameter<P>::is_other(object)) {
        return parameter<P>::import_other(object);
      }
    }
    // Not in or_numbers: Clang prints further errors for a function with an invalid parameter type.
    static_assert(!std::is_void_v<detail::number_of<P>>,
                  "dlbridge: or_numbers<P> copies numbers to elements of P. Write a P with an "
                  "element type");
    constexpr detail::number_type type = detail::number_type_of<detail::readable_number<P>>();
    managed_tensor numbers = detail::number_reader(type).read(object);
    if constexpr (parameter<P>::required().order == layout::column_major) {
      managed_tensor const rows = std::move(numbers);
      if (rows) {
        guarded([&] { numbers = copy_of(rows.view(), layout::column_major); });
      }
    }
    return numbers;
  }
};

namespace detail {
template <class P>
struct result_kind<or_numbers<P>> : result_kind<P> {};
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
