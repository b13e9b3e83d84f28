// The inline bodies of annotation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/annotation.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Appends the class of the arrays of the library of a place. type: their dtype; by default, any
template <class Text>
constexpr void append_array_class(Text& text, place where, dtype type) noexcept {
  constexpr char const* classes[] = {
      "dlbridge.Tensor",          "numpy.typing.NDArray[", "torch.Tensor",   "jax.Array",
      "tensorflow.Tensor",        "cupy.ndarray",          "tvm_ffi.Tensor", "dpnp.ndarray",
      "dpctl.tensor.usm_ndarray", "paddle.Tensor",         "mlx.core.array"};
  auto const id = static_cast<std::size_t>(where) - static_cast<std::size_t>(place::result_in);
  text.append(classes[id]);
  if (id == static_cast<std::size_t>(library_id::numpy)) {
    bool const is_known =
        type.lanes == 1 && type.bits >= 8 &&
        (type.code <= kDLFloat || type.code == kDLComplex || type.code == kDLBool);
    is_known ? static_cast<void>(append_name(text.append("numpy."), type))
             : static_cast<void>(text.append("typing.Any"));
    text.append(type.code == kDLBool ? "_]" : "]");  // NumPy 1 has no numpy.bool
  }
}

template <class T>
constexpr dtype dtype_of_result() noexcept {
  if constexpr (is_tensor_parameter<T>) {
    return parameter<T>::required().type;
  } else {
    return dtype();
  }
}
}  // namespace detail

template <class T, place Place>
template <class Text>
constexpr void type_composer<T, Place>::append_to(Text& text) noexcept {
  constexpr element_kind kind = kind_of<T>;
  constexpr bool is_parameter = Place == place::parameter;
  if constexpr (kind == element_kind::tensor && is_parameter) {
    text.append("typing.Annotated[SupportsDLPack");
    parameter<T>::append_other_types(text);
    append_requirement(text.append(", \""), parameter<T>::required(), true).append("\"]");
  } else if constexpr (kind == element_kind::scalar) {
    text.append(scalar<T>::name);
  } else if constexpr (std::is_void_v<T>) {
    text.append("None");
  } else if constexpr (kind == element_kind::optional || kind == element_kind::variant) {
    join<type_composer>(text, " | ", elements_of<T>());
  } else if constexpr (kind == element_kind::tuple && !detail::is_array<T>) {
    join<annotation_composer>(text.append("tuple["), ", ", elements_of<T>());
    text.append("]");
  } else if constexpr (kind >= element_kind::tuple) {
    text.append(detail::is_mapping<T>
                    ? (is_parameter ? "collections.abc.Mapping[str, " : "dict[str, ")
                    : (is_parameter ? "collections.abc.Iterable[" : "list["));
    join<annotation_composer>(text, "", elements_of<T>());
    text.append("]");
  } else if constexpr (Place >= place::result_in &&
                       (kind == element_kind::tensor || kind == element_kind::view)) {
    detail::append_array_class(text, Place, detail::dtype_of_result<T>());
  } else {  // the type of a tensor result depends on the types of the arguments
    text.append("typing.Any");
  }
}

template <class T, place Place>
template <class Composer, class Element, class Text>
constexpr void type_composer<T, Place>::append_one(Text& text, char const*& next,
                                                   char const* separator) noexcept {
  if (kind_of<T> != element_kind::variant || !is_monostate<Element>) {
    Composer::append_to(text.append(next));
    next = separator;
  }
}

template <class T, place Place>
template <class Text>
constexpr void annotation_composer<T, Place>::append_to(Text& text) noexcept {
  type_composer<T, Place>::append_to(text);
  if (accepts_none<T> && !is_monostate<T> && (!is_tensor_parameter<T> || Place != place::result)) {
    text.append(" | None");
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
