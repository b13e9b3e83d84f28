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

#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/traits.hpp>

// Containers are recognized by their members, so that this header, which every extension includes,
// includes no header of a container, and so that containers of other libraries are recognized too.
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
class member_view;

namespace python {

/// The Python types that correspond to a C++ type.
enum class element_kind : std::uint8_t {
  other,     ///< what only a binding library converts, such as a class that it binds
  tensor,    ///< an array
  scalar,    ///< a number
  text,      ///< str
  nothing,   ///< None
  optional,  ///< an element, or None
  sequence,  ///< an iterable; a list as a result
  array,     ///< a sequence of a fixed length; a list as a result
  mapping,   ///< a dict
  tuple,     ///< a sequence of a fixed length; a tuple as a result
  variant    ///< an object of one of several types
};

/// A list of types.
template <class... T>
struct element_list {};

namespace detail {
template <class T>
struct parts_of {
  using type = element_list<>;
};
template <template <class...> class Container, class... Elements>
struct parts_of<Container<Elements...>> {
  using type = element_list<Elements...>;
};
template <class Element, std::size_t Size>
struct parts_of<std::array<Element, Size>> {
  using type = element_list<Element>;
};

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_array = false;
template <class Element, std::size_t Size>
constexpr bool is_array<std::array<Element, Size>> = true;
template <class T>
constexpr bool is_tuple = false;
template <class... Elements>
constexpr bool is_tuple<std::tuple<Elements...>> = true;
template <class First, class Second>
constexpr bool is_tuple<std::pair<First, Second>> = true;

template <class T, class = void>
constexpr bool is_mapping = false;
template <class T>
constexpr bool is_mapping<
    T, std::void_t<typename T::key_type, typename T::mapped_type,
                   decltype(std::declval<T&>().at(std::declval<typename T::key_type>())),
                   decltype(std::declval<T&>().emplace(std::declval<typename T::key_type>(),
                                                       std::declval<typename T::mapped_type>()))>> =
    true;  // not std::multimap, to which no dict corresponds
template <class T, class = void>
constexpr bool is_sequence = false;
template <class T>
constexpr bool is_sequence<
    T,
    std::void_t<typename T::value_type, decltype(std::declval<T&>().begin()),
                decltype(std::declval<T&>().size()),
                decltype(std::declval<T&>().push_back(std::declval<typename T::value_type>()))>> =
    !std::is_same_v<typename T::value_type, T>;  // as that of a class of JSON values
// A string, of any characters.
template <class T, class = void>
constexpr bool is_string = false;
template <class T>
constexpr bool is_string<T, std::void_t<typename T::traits_type>> = true;
// std::monostate, without the header that declares it: an empty type whose objects are equal.
template <class T, class = void>
constexpr bool is_monostate = false;
template <class T>
constexpr bool is_monostate<
    T, std::enable_if_t<std::is_empty_v<T> && std::is_trivially_copyable_v<T> &&
                            std::is_trivially_default_constructible_v<T>,
                        std::void_t<decltype(std::declval<T>() <= std::declval<T>())>>> = true;

// Whether binding libraries convert T as text of one character.
template <class T>
constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                              std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
#ifdef __cpp_char8_t
template <>
inline constexpr bool is_character<char8_t> = true;
#endif

template <class T>
constexpr element_kind find_kind() noexcept {
  if constexpr (is_tensor_parameter<T>) {
    return element_kind::tensor;
  } else if constexpr (is_scalar<T> && !is_character<T>) {
    return element_kind::scalar;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return element_kind::text;
  } else if constexpr (is_optional<T>) {
    return element_kind::optional;
  } else if constexpr (is_array<T>) {
    return element_kind::array;
  } else if constexpr (is_tuple<T>) {
    return element_kind::tuple;
  } else if constexpr (dlbridge::detail::is_variant<T>) {
    return element_kind::variant;
  } else if constexpr (is_mapping<T>) {
    return element_kind::mapping;
  } else if constexpr (is_sequence<T> && !is_string<T>) {
    return element_kind::sequence;
  } else if constexpr (is_monostate<T>) {
    return element_kind::nothing;
  } else {
    return element_kind::other;
  }
}

template <class T>
constexpr bool is_tensor_or_holds_one = is_tensor_parameter<T>;
template <template <class...> class Container, class... Elements>
constexpr bool is_tensor_or_holds_one<Container<Elements...>> =
    is_tensor_parameter<Container<Elements...>> || (is_tensor_or_holds_one<Elements> || ...);
template <class Element, std::size_t Size>
constexpr bool is_tensor_or_holds_one<std::array<Element, Size>> = is_tensor_or_holds_one<Element>;
template <class T>
constexpr bool is_view_or_holds_one = std::is_same_v<T, member_view>;
template <template <class...> class Container, class... Elements>
constexpr bool is_view_or_holds_one<Container<Elements...>> =
    (is_view_or_holds_one<Elements> || ...);
template <class Element, std::size_t Size>
constexpr bool is_view_or_holds_one<std::array<Element, Size>> = is_view_or_holds_one<Element>;
// Whether a type is a borrowed tensor or a container of such.
template <class T>
struct holds_span : std::bool_constant<parameter<T>::borrows> {};
template <template <class...> class Container, class... Elements>
struct holds_span<Container<Elements...>>
    : std::bool_constant<parameter<Container<Elements...>>::borrows ||
                         (holds_span<std::decay_t<Elements>>::value || ...)> {};
template <class Element, std::size_t Size>
struct holds_span<std::array<Element, Size>> : holds_span<Element> {};
}  // namespace detail

template <class T>
constexpr element_kind kind_of = detail::find_kind<T>();

/// The types of which an optional, an array, a tuple, a pair or a variant consists.
template <class T>
using elements_of = typename detail::parts_of<T>::type;

namespace detail {
template <class T>
struct one_beside_none {
  using type = T;
  static constexpr bool accepts_none = kind_of<T> == element_kind::nothing;
};
template <class T>
struct beside_none : one_beside_none<T> {};
template <class T>
struct beside_none<std::optional<T>> : beside_none<T> {
  static constexpr bool accepts_none = true;
};
// The alternatives of a variant, without those that stand for None alone.
template <class Variant, class... Alternatives>
struct joined_alternatives {
  using type = Variant;
};
template <template <class...> class Variant, class... Kept, class First, class... Rest>
struct joined_alternatives<Variant<Kept...>, First, Rest...>
    : joined_alternatives<
          std::conditional_t<kind_of<First> == element_kind::nothing, Variant<Kept...>,
                             Variant<Kept..., typename beside_none<First>::type>>,
          Rest...> {};
template <template <class...> class Container, class... Elements>
struct alternatives_beside_none {
  using type = typename joined_alternatives<Container<>, Elements...>::type;
  static constexpr bool accepts_none = (beside_none<Elements>::accepts_none || ...);
};
template <template <class...> class Container, class... Elements>
struct beside_none<Container<Elements...>>
    : std::conditional_t<kind_of<Container<Elements...>> == element_kind::variant,
                         alternatives_beside_none<Container, Elements...>,
                         one_beside_none<Container<Elements...>>> {};
}  // namespace detail

/// Whether None is a value of T: of an optional, or of a variant with std::monostate.
template <class T>
constexpr bool accepts_none = detail::beside_none<T>::accepts_none;
/// T without that value, for annotations that end in "| None".
template <class T>
using type_beside_none = typename detail::beside_none<T>::type;

namespace detail {
// Whether each element of T is of a kind that these headers convert, or that `Others` converts.
template <class T, class Others>
constexpr bool is_convertible_element() noexcept;
template <class Others, class... Elements>
constexpr bool are_convertible_elements(element_list<Elements...>) noexcept {
  return (is_convertible_element<Elements, Others>() && ...);
}
template <class T, class Others>
constexpr bool is_convertible_element() noexcept {
  constexpr element_kind kind = kind_of<T>;
  if constexpr (std::is_reference_v<T> || std::is_const_v<T>) {
    return false;
  } else if constexpr (kind == element_kind::other) {
    return Others::template converts<T>;
  } else if constexpr (kind == element_kind::sequence) {
    return is_convertible_element<typename T::value_type, Others>();
  } else if constexpr (kind == element_kind::mapping) {
    return is_convertible_element<typename T::key_type, Others>() &&
           is_convertible_element<typename T::mapped_type, Others>();
  } else if constexpr (kind == element_kind::optional || kind == element_kind::array ||
                       kind == element_kind::tuple || kind == element_kind::variant) {
    return are_convertible_elements<Others>(elements_of<T>());
  } else {
    return true;
  }
}

// Whether T is, or holds, a number or an element that a binding library converts: it then accepts
// some objects as they are, and others by a conversion.
template <class T>
constexpr bool converts_elements() noexcept;
template <class... Elements>
constexpr bool any_converts_elements(element_list<Elements...>) noexcept {
  return (converts_elements<Elements>() || ...);
}
template <class T>
constexpr bool converts_elements() noexcept {
  constexpr element_kind kind = kind_of<T>;
  if constexpr (kind == element_kind::scalar || kind == element_kind::other) {
    return true;
  } else if constexpr (kind == element_kind::sequence) {
    return converts_elements<typename T::value_type>();
  } else if constexpr (kind == element_kind::mapping) {
    return converts_elements<typename T::key_type>() ||
           converts_elements<typename T::mapped_type>();
  } else {
    return any_converts_elements(elements_of<T>());
  }
}

template <class T, class Others>
constexpr bool is_container_with(bool has_tensors) noexcept {
  if constexpr (kind_of<T> != element_kind::tensor && kind_of<T> != element_kind::other) {
    return has_tensors && is_convertible_element<T, Others>();
  } else {
    return false;
  }
}
}  // namespace detail

/// The conversions of elements that are neither tensors, numbers nor text: none.
struct no_other_elements {
  template <class T>
  static constexpr bool converts = false;
  static constexpr bool has_classes = false;
  static constexpr bool accepts_bytes = false;  // as text
};

/// Whether the caster of a binding library for T may read an iterator to its end: T is a container,
/// such as a std::set, and no Python object.
template <class T, class = void>
constexpr bool reads_elements = false;
template <class T>
constexpr bool reads_elements<
    T, std::void_t<typename T::value_type, decltype(std::declval<T&>().size()),
                   decltype(std::declval<T&>().begin() == std::declval<T&>().end())>> = true;

namespace detail {
// std::is_copy_constructible, which is also true of a vector whose elements cannot be copied.
template <class T>
constexpr bool is_copyable = std::is_copy_constructible_v<T>;
template <template <class...> class Container, class... Elements>
constexpr bool is_copyable<Container<Elements...>> =
    std::is_copy_constructible_v<Container<Elements...>> && (is_copyable<Elements> && ...);
}  // namespace detail

/// Whether an author may have bound T, a sequence or a mapping without tensors, as a class. An
/// object of that class then stands for T, as well as an iterable or a dict.
template <class T, class Others>
constexpr bool may_be_bound =
    Others::has_classes && !detail::is_tensor_or_holds_one<T> && detail::is_copyable<T>;

/// Whether T is a container of tensors that corresponds to Python objects: a vector, an array, a
/// map, a tuple, a pair, an optional, a variant, at any depth.
/// @tparam Others the conversions of other elements, of the binding library
template <class T, class Others = no_other_elements>
constexpr bool is_container =
    detail::is_container_with<T, Others>(detail::is_tensor_or_holds_one<T>);
/// The same for a result, whose elements may also be a member_view.
template <class T, class Others = no_other_elements>
constexpr bool is_container_result = detail::is_container_with<T, Others>(
    detail::is_tensor_or_holds_one<T> || detail::is_view_or_holds_one<T>);

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
