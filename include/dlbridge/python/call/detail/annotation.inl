// The inline bodies of annotation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/annotation.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class T, place Place>
template <class Text>
constexpr void type_composer<T, Place>::append_to(Text& text) noexcept {
  constexpr element_kind kind = kind_of<T>;
  constexpr bool is_parameter = Place == place::parameter;
  if constexpr (kind == element_kind::tensor && is_parameter) {
    text.append("typing.Annotated[dlbridge.typing.SupportsDLPack");
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
  if (accepts_none<T> && !is_monostate<T> &&
      (!is_tensor_parameter<T> || Place == place::parameter)) {
    text.append(" | None");
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
