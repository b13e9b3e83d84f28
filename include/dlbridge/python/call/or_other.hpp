// or_other<P>: a tensor parameter that also accepts numbers, lists of numbers and Python buffers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/literal_text.hpp>
#include <dlbridge/python/call/detail/number_reader.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// A tag of or_other: a Python number, and lists, tuples and ranges of numbers at any depth. Their
/// values are copied to a new tensor with the dtype of the parameter. For elements `T const`, of
/// bool, an integer, float or double.
struct numbers {};
/// A tag of or_other: an object with the buffer protocol: bytes, bytearray, memoryview,
/// array.array, mmap.mmap, an array of ctypes. The memory is not copied; that of bytes is
/// read-only. The buffer stays exported as long as the tensor exists, so that a bytearray cannot be
/// resized.
struct buffers {};

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
template <class P, class Kind>
struct other_kind;

template <class P>
struct other_kind<P, numbers> {
  static constexpr bool fits =
      std::is_const_v<typename element_of<P>::type> && is_scalar<number_of<P>>;
  static constexpr char const* type = 
      " | typing.SupportsFloat | typing.SupportsIndex | list[typing.Any] | "
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

// The kinds that or_other<P, Kinds...> accepts: without tags, all that fit.
template <class P, class... Kinds>
struct kinds_of {
  using type = std::tuple<Kinds...>;
};
template <class P>
struct kinds_of<P> {
  using type = std::conditional_t<other_kind<P, numbers>::fits, std::tuple<numbers, buffers>,
                                  std::tuple<buffers>>;
};
}  // namespace python::detail

/// A parameter of type P that accepts a DLPack producer as P does, and also other objects. The
/// function uses it as a P.
/// @tparam P a tensor parameter type: tensor_span, tensor, argument, convert, any_tensor,
///   any_argument, managed_tensor
/// @tparam Kinds the tags `numbers` and `buffers`, in the order in which an object is tried; none
///   stands for all that P can take
/// @par Lifetime
/// As P.
template <class P, class... Kinds>
class or_other : public P {
  static_assert(python::is_tensor_parameter<P> && !python::parameter<P>::optional,
                "dlbridge: or_other<P> extends a tensor parameter. Write "
                "std::optional<or_other<P>> to accept None");
  static_assert(!python::parameter<P>::takes_others,
                "dlbridge: an or_other extends no other one. Write all tags in one: "
                "or_other<P, numbers, buffers>");
  static_assert((python::detail::other_kind<P, Kinds>::require_elements() && ...));

 public:
  or_other(P parameter) noexcept(std::is_nothrow_move_constructible_v<P>)
      : P(std::move(parameter)) {}
};

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
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/or_other.inl>
