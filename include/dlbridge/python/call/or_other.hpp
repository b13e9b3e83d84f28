// or_other<P>, row_major_of<P>: tensor parameters that also accept numbers, lists, buffers and
// arrays of libraries without DLPack; and tensors of another layout.
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
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// A tag of or_other: a Python number, and lists, tuples and ranges of numbers at any depth. Their
/// values are copied to a new tensor with the dtype of the parameter. For elements `T const`, of
/// bool, an integer, float, double, or a complex number of these.
struct numbers {};
/// A tag of or_other: an object with the buffer protocol: bytes, bytearray, memoryview,
/// array.array, mmap.mmap, an array of ctypes. The memory is not copied; that of bytes is
/// read-only. The buffer stays exported as long as the tensor exists, so that a bytearray cannot be
/// resized.
struct buffers {};
/// A tag of or_other: an object with `__array__` or `__array_interface__`, such as one of pandas,
/// xarray, h5py, zarr, or an image of Pillow. The tensor is that of the ndarray which `__array__`
/// returns, a view or a copy, as the library decides. For elements `T const`, and read-only.
struct arrays {};
/// A tag of or_other: an object with Arrow's PyCapsule interface, such as one of pyarrow, polars,
/// DuckDB: integers or floats, one column in one chunk, without nulls. The memory is not copied,
/// and belongs to the tensor. For elements `T const`, and read-only.
struct arrow {};

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

/// A parameter of type P that accepts a DLPack producer as P does, and also other objects. The
/// function uses it as a P.
/// @tparam P a tensor parameter type: tensor_span, tensor, argument, convert, any_tensor,
///   any_argument, managed_tensor
/// @tparam Kinds the tags `numbers`, `buffers`, `arrays` and `arrow`, in the order in which an
/// object
///   is tried: the first that an object has decides. None stands for all that P can take, in the
///   order above
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

/// A parameter of type P whose tensor is compact, with the last dimension fastest: one in another
/// layout is copied to a new row-major host tensor, with flag_is_copied, if the CPU can access its
/// memory. The function uses it as a P. What it writes to a copy is lost.
/// @tparam P any_tensor, any_argument or managed_tensor
/// @par Lifetime
/// As P.
template <class P>
class row_major_of : public P {
  static_assert(std::is_base_of_v<python::detail::untyped_parameter, python::parameter<P>> &&
                    !python::parameter<P>::optional,
                "dlbridge: row_major_of is of any_tensor, any_argument or managed_tensor. Write "
                "convert<T, shape<...>, row_major> for one dtype");

 public:
  row_major_of(P parameter) noexcept : P(std::move(parameter)) {}
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
