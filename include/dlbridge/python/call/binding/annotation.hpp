// annotation: writes the Python annotation of a container of tensors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

// Whether an annotation is that of a parameter or of a result.
enum class place { parameter, result };

template <class Text, std::size_t N, class First>
constexpr auto joined(char const (&)[N], First const& first) {
  return first;
}
template <class Text, std::size_t N, class First, class... Rest>
constexpr auto joined(char const (&separator)[N], First const& first, Rest const&... rest) {
  return first + Text::literal(separator) + joined<Text>(separator, rest...);
}

template <class Text, place Place, class T>
constexpr auto annotation();
template <class Text, place Place, std::size_t N, class... Elements>
constexpr auto annotations(char const (&separator)[N], element_list<Elements...>) {
  return joined<Text>(separator, annotation<Text, Place, Elements>()...);
}

/// The annotation of a container, an element of one, or a tensor.
/// @tparam Text the compile-time strings of the binding library: literal(characters); tensor<P>()
/// is the annotation of a tensor parameter, and converted<T>() that of a type that the library
/// converts
template <class Text, place Place, class T>
constexpr auto annotation() {
  constexpr element_kind kind = kind_of<T>;
  constexpr bool is_parameter = Place == place::parameter;
  if constexpr (kind == element_kind::tensor) {
    if constexpr (is_parameter) {
      return Text::template tensor<T>();
    } else {
      return Text::literal("typing.Any");
    }
  } else if constexpr (kind == element_kind::optional) {
    return annotation<Text, Place, typename T::value_type>() + Text::literal(" | None");
  } else if constexpr (kind == element_kind::sequence || kind == element_kind::array) {
    auto const element = annotation<Text, Place, typename T::value_type>() + Text::literal("]");
    if constexpr (is_parameter) {
      return Text::literal("collections.abc.Iterable[") + element;
    } else {
      return Text::literal("list[") + element;
    }
  } else if constexpr (kind == element_kind::mapping) {
    auto const items = annotation<Text, Place, typename T::key_type>() + Text::literal(", ") +
                       annotation<Text, Place, typename T::mapped_type>() + Text::literal("]");
    if constexpr (is_parameter) {
      return Text::literal("collections.abc.Mapping[") + items;
    } else {
      return Text::literal("dict[") + items;
    }
  } else if constexpr (kind == element_kind::tuple) {
    return Text::literal("tuple[") + annotations<Text, Place>(", ", elements_of<T>()) +
           Text::literal("]");
  } else if constexpr (kind == element_kind::variant) {
    return annotations<Text, Place>(" | ", elements_of<T>());
  } else if constexpr (kind == element_kind::nothing) {
    return Text::literal("None");
  } else if constexpr (kind == element_kind::text) {
    return Text::literal("str");
  } else {
    return Text::template converted<T>();
  }
}

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
