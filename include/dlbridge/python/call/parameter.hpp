// parameter<P>: defines how a Python argument becomes a C++ parameter of type P.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The properties of a parameter type. The primary template describes the types that are not
/// tensors. Each tensor type has a specialization with these members:
/// - is_tensor: true
/// - optional: whether the parameter accepts None, which means no tensor
/// - borrows: whether the parameter is valid only as long as the call holds the GIL
/// - mode: the import_mode of the tensor
/// - required(): the requirement that the tensor must meet
/// - make(from, object): returns the parameter for an object, from its checked imported_tensor
/// - convert(view, why): returns a converted copy, if required().converts; or an empty tensor with
///   a report of the value that the copy would change
/// - takes_others: whether it accepts objects other than producers; then also is_other(object);
///   import_other(object), which returns the tensor, or an empty one with an exception set; and
///   other_names, which refusals add to what they expected
/// - append_other_types(text): appends the types of these objects to an annotation
template <class P>
struct parameter {
  static constexpr bool is_tensor = false;  ///< true for a tensor type
  static constexpr bool optional = false;   ///< true if None is accepted
  static constexpr bool borrows = false;    ///< true if valid for the call alone
};

namespace detail {
struct owning_parameter {
  static constexpr bool is_tensor = true;
  static constexpr bool takes_others = false;
  static constexpr bool optional = false;
  static constexpr bool borrows = false;
  static constexpr import_mode mode = import_mode::own;
  template <class Text>
  static constexpr void append_other_types(Text&) noexcept {}
};
// The parts that parameters of element type T have in common.
template <class Type, class T, class Shape, class... Constraints>
struct typed_parameter : owning_parameter {
  using type = Type;
  static constexpr requirement required() noexcept {
    requirement need = type::required();
    need.converts = dlbridge::detail::is_converted<Constraints...>;
    need.by_value = dlbridge::detail::is_by_value<Constraints...>;
    return need;
  }
  static managed_tensor convert(tensor_view const& source, report& why) {
    constexpr requirement need = required();
    static_assert(need.alignment <= host_alignment,
                  "dlbridge: a converted copy is aligned to 64 bytes. Require no more of it");
    return dlbridge::detail::convert_tensor<T, need.by_value>(
        source, need, need.order == layout::column_major ? layout::column_major : layout::row_major,
        struct_kind::versioned, default_allocator(), why);
  }
};
struct untyped_parameter : owning_parameter {
  static constexpr requirement required() noexcept {
    requirement need;
    need.where.type = device_filter::anywhere;
    return need;
  }
};
}  // namespace detail

/// @cond
template <class T, class Shape, class... Constraints>
struct parameter<tensor_span<T, Shape, Constraints...>>
    : detail::typed_parameter<tensor_span<T, Shape, Constraints...>, T, Shape, Constraints...> {
  static constexpr bool borrows = true;
  static constexpr import_mode mode =
      std::is_const_v<T> ? import_mode::borrow_to_read : import_mode::borrow_to_write;
  using type = tensor_span<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject*) noexcept {
    return type::trust(from.tensor(), from.flags());
  }
};
template <class First, class... Rest, class... More>
struct parameter<any_of<types<First, Rest...>, More...>> : parameter<tensor_span<First, More...>> {
  using type = any_of<types<First, Rest...>, More...>;
  static constexpr requirement required() noexcept { return type::required(); }
  static type make(imported_tensor& from, PyObject*) noexcept {
    return type::trust(tensor_view(from.tensor(), from.flags()));
  }
};
template <class List, class... More>
struct parameter<any_tensor_of<List, More...>> : detail::untyped_parameter {
  using type = any_tensor_of<List, More...>;
  static constexpr requirement required() noexcept { return type::required(); }
  static type make(imported_tensor& from, PyObject* object) {
    return type(from.take_to_keep(object));
  }
};
template <class T, class Shape, class... Constraints>
struct parameter<tensor<T, Shape, Constraints...>>
    : detail::typed_parameter<tensor<T, Shape, Constraints...>, T, Shape, Constraints...> {
  using type = tensor<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject* object) noexcept {
    return type::trust(from.take_to_keep(object));
  }
};
template <class T, class Shape, class... Constraints>
struct parameter<argument<T, Shape, Constraints...>>
    : detail::typed_parameter<argument<T, Shape, Constraints...>, T, Shape, Constraints...> {
  using type = argument<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject* object) noexcept {
    return type(type::owner_type::trust(from.take_to_keep(object)),
                origin(object, !std::is_const_v<T>));
  }
};
template <>
struct parameter<any_tensor> : detail::untyped_parameter {
  static any_tensor make(imported_tensor& from, PyObject* object) noexcept;
};
template <>
struct parameter<managed_tensor> : detail::untyped_parameter {
  static managed_tensor make(imported_tensor& from, PyObject*) noexcept;
};
template <>
struct parameter<any_argument> : detail::untyped_parameter {
  static any_argument make(imported_tensor& from, PyObject* object) noexcept;
};
template <class P>
struct parameter<std::optional<P>> : parameter<P> {
  static constexpr bool optional = true;
};
/// @endcond

/// Whether P is a tensor type that a function may take.
template <class P>
constexpr bool is_tensor_parameter = parameter<P>::is_tensor;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/parameter.ipp>
#endif
