// element_kind: finds out how a C++ type that may contain tensors corresponds to Python objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>

// Containers are recognized by their members, so that this header, which every extension includes,
// includes no header of a container, and so that containers of other libraries are recognized too.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
class member_view;

namespace python {
/// The Python types that correspond to a C++ type.
enum class element_kind : std::uint8_t {
  other,      ///< what only a binding library converts, such as a class that it binds
  tensor,     ///< an array
  scalar,     ///< a number, a str, or None alone
  view,       ///< an array on memory of an object: a member_view, which only results have
  optional,   ///< an element, or None
  variant,    ///< an object of one of several types
  tuple,      ///< a sequence of a fixed length; as a result a tuple, or a list of a std::array
  collection  ///< an iterable, a list as a result; or a dict with keys of str
};

/// A list of types.
template <class... T>
struct element_list {
  static constexpr std::size_t size = sizeof...(T);
};

namespace detail {
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_array = false;
template <class Element, std::size_t Size>
constexpr bool is_array<std::array<Element, Size>> = true;
template <class T>
constexpr bool is_tuple = is_array<T>;
template <class... Elements>
constexpr bool is_tuple<std::tuple<Elements...>> = true;
template <class First, class Second>
constexpr bool is_tuple<std::pair<First, Second>> = true;

template <class T, class = void>
constexpr bool is_mapping = false;
template <class T>
constexpr bool is_mapping<
    T, std::void_t<decltype(std::declval<T&>().at(std::declval<std::string>())),
                   decltype(std::declval<T&>().emplace(std::declval<std::string>(),
                                                       std::declval<typename T::mapped_type>()))>> =
    std::is_same_v<typename T::key_type, std::string>;  // std::multimap has no at()
template <class T, class = void>
constexpr bool is_sequence = false;
template <class T>
constexpr bool is_sequence<
    T,
    std::void_t<typename T::value_type, decltype(std::declval<T&>().begin()),
                decltype(std::declval<T&>().size()),
                decltype(std::declval<T&>().push_back(std::declval<typename T::value_type>()))>> =
    !std::is_same_v<typename T::value_type, T>;  // as that of a class of JSON values

// Whether binding libraries convert T as text of one character.
template <class T>
constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                              std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
#ifdef __cpp_char8_t
template <>
inline constexpr bool is_character<char8_t> = true;
#endif

template <class T>
constexpr element_kind find_kind() noexcept;

// Whether a test is true of a type, or of one of those that its template arguments hold.
template <template <class> class Test, class T>
constexpr bool holds = Test<T>::value;
template <template <class> class Test, template <class...> class Container, class... Elements>
constexpr bool holds<Test, Container<Elements...>> =
    Test<Container<Elements...>>::value || (holds<Test, std::decay_t<Elements>> || ...);
template <template <class> class Test, class Element, std::size_t Size>
constexpr bool holds<Test, std::array<Element, Size>> = holds<Test, Element>;

template <class T>
using is_any_tensor = std::bool_constant<is_tensor_parameter<T>>;
template <class T>
using is_view = std::is_same<T, member_view>;
template <class T>
using is_borrowed = std::bool_constant<parameter<T>::borrows>;

template <class T>
constexpr bool is_view_or_holds_one = holds<is_view, T>;
// Whether a type is a tensor, a view, or a container of such.
template <class T>
constexpr bool holds_tensor = holds<is_any_tensor, T> || is_view_or_holds_one<T>;
// Whether a type is a borrowed tensor or a container of such.
template <class T>
using holds_span = std::bool_constant<holds<is_borrowed, T>>;

// std::is_copy_constructible, which is also true of a vector whose elements cannot be copied.
template <class T>
constexpr bool is_copyable = std::is_copy_constructible_v<T>;
template <template <class...> class Container, class... Elements>
constexpr bool is_copyable<Container<Elements...>> =
    std::is_copy_constructible_v<Container<Elements...>> && (is_copyable<Elements> && ...);
}  // namespace detail

template <class T>
constexpr element_kind kind_of = detail::find_kind<T>();

namespace detail {
template <template <class...> class Container, class... Elements>
element_list<Elements...> list_arguments(Container<Elements...> const*);

template <class T>
constexpr auto list_elements() noexcept {
  constexpr element_kind kind = kind_of<T>;
  if constexpr (kind < element_kind::optional) {
    return element_list<>();
  } else if constexpr (kind == element_kind::variant ||
                       (kind == element_kind::tuple && !is_array<T>)) {
    return decltype(list_arguments(static_cast<T*>(nullptr)))();
  } else if constexpr (is_mapping<T>) {
    return element_list<typename T::mapped_type>();
  } else {
    return element_list<typename T::value_type>();
  }
}
}  // namespace detail

/// The types of the elements of a container, of an optional or of a variant.
template <class T>
using elements_of = decltype(detail::list_elements<T>());

namespace detail {
// How many containers T has within each other; at least 3 if it holds what these headers do not
// convert, also a container of numbers within another one, which an author may have bound as a
// class. A choice, which is an optional or a variant, counts as its alternatives do.
template <class T>
constexpr int find_depth() noexcept;
template <class T>
constexpr int find_depth_within() noexcept {
  int const depth = find_depth<T>();
  return depth > 0 && !holds_tensor<T> ? 3 : depth;
}
template <class... Elements>
constexpr int find_depth(element_list<Elements...>, [[maybe_unused]] bool within) noexcept {
  int depth = 0;
  for (int const each : {0, within ? find_depth_within<Elements>() : find_depth<Elements>()...}) {
    depth = each > depth ? each : depth;
  }
  return depth;
}
template <class T>
constexpr int find_depth() noexcept {
  constexpr bool is_container = kind_of<T> >= element_kind::tuple;
  return (kind_of<T> == element_kind::other ? 3 : 0) + (is_container ? 1 : 0) +
         find_depth(elements_of<T>(), is_container);
}

template <class... Alternatives>
constexpr bool any_accepts_none(element_list<Alternatives...>) noexcept;
}  // namespace detail

/// Whether None is a value of T: of an optional, or of a variant with std::monostate.
template <class T>
constexpr bool accepts_none =
    is_monostate<T> || parameter<T>::optional || kind_of<T> == element_kind::optional ||
    (kind_of<T> == element_kind::variant && detail::any_accepts_none(elements_of<T>()));

template <class... Alternatives>
constexpr bool detail::any_accepts_none(element_list<Alternatives...>) noexcept {
  return (accepts_none<Alternatives> || ...);
}

/// Whether T is a container of tensors that a result may be: a sequence, an array, a tuple, a pair
/// or a mapping with keys of std::string; an optional or a variant of a container, a tensor, a
/// number or text. Its elements are tensors, views, numbers, text, an optional or a variant of
/// such, or containers of tensors: a function that returns a list for each chunk has two levels.
template <class T>
constexpr bool is_container_result =
    kind_of<T> != element_kind::tensor && kind_of<T> != element_kind::view &&
    detail::holds_tensor<T> && detail::find_depth<T>() <= 2;
/// The same for a parameter, which holds no member_view, and has one level.
template <class T>
constexpr bool is_container =
    is_container_result<T> && !detail::is_view_or_holds_one<T> && detail::find_depth<T>() <= 1;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/element_kinds.inl>
