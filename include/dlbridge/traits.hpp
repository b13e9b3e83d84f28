// array_traits<T>: defines how dlbridge exports an array of type T, and how it constructs a T from
// a tensor.
// layer: tensors
#pragma once

#include <cstdlib>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/description.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

class managed_tensor;

/// Defines how arrays of type T are exported to DLPack. Specialise it for your own array type:
///
/// @code
/// template <> struct dlbridge::array_traits<my_array> {
///   static description describe(my_array& a) noexcept {
///     return description::of(a.data(), {a.rows(), a.columns()});
///   }
///   static my_array adopt(managed_tensor&& m);       // optional: constructs T from a tensor
///   static stream_ref stream(my_array& a) noexcept;  // optional: orders work on T
/// };
/// @endcode
///
/// build moves the array into the allocation of the tensor, and reads the address of the elements
/// afterwards. So T may store its elements inside the object. build calls describe twice; both
/// calls must return the same rank.
///
/// @tparam T The array type, without const.
template <class T>
struct array_traits {
  static_assert(sizeof(T) == 0,
                "dlbridge: this type is not described to DLPack. Specialise "
                "dlbridge::array_traits<T> with describe(T&), or include the header of "
                "<dlbridge/bridges/> that defines it");
  static description describe(T&) noexcept;  // so that no further error follows
};

namespace detail {
// Whether array_traits of the type has a describe that accepts a T.
template <class T, class = void>
constexpr bool can_describe = false;
template <class T>
constexpr bool can_describe<
    T, std::void_t<decltype(array_traits<std::remove_cv_t<T>>::describe(std::declval<T&>()))>> =
    true;
}  // namespace detail

/// The description of an array, by array_traits<T>::describe.
/// @par Lifetime
/// Valid until the array moves its elements or frees them.
template <class T>
description describe(T& array) noexcept {
  using traits = array_traits<std::remove_cv_t<T>>;
  // Instantiates it here: clang++ takes an assertion that fails in can_describe for a missing
  // describe.
  static_assert(sizeof(traits) != 0);
  static_assert(detail::can_describe<T>,
                "dlbridge: array_traits of this type has no describe for it, which exports an "
                "array. Add static description describe(T&) noexcept");
  if constexpr (detail::can_describe<T>) {
    static_assert(noexcept(traits::describe(array)),
                  "dlbridge: array_traits<T>::describe must be noexcept; it runs while ownership "
                  "of the array is transferred");
    return traits::describe(array);
  } else {
    return description::of_nothing();  // only the assertion is printed
  }
}

namespace detail {
template <class T, class = void>
constexpr bool has_stream = false;
template <class T>
constexpr bool has_stream<
    T, std::void_t<decltype(array_traits<std::remove_cv_t<T>>::stream(std::declval<T&>()))>> = true;
}  // namespace detail

/// The stream that orders work on the elements of an array.
///
/// @param array The array.
/// @param where The device of its elements.
/// @return array_traits<T>::stream(array) if it exists, otherwise the default stream of the device.
template <class T>
stream_ref ready_on(T& array, device where) noexcept {
  using array_type = std::remove_const_t<T>;
  if constexpr (detail::has_stream<array_type>) {  // it may take a T& only, as describe
    return array_traits<array_type>::stream(const_cast<array_type&>(array));
  } else {
    return stream_ref::default_of(where);
  }
}

namespace detail {
// A std::variant, without the header that declares it.
template <class T, class = void>
constexpr bool is_variant = false;
template <class T>
constexpr bool
    is_variant<T, std::void_t<decltype(std::declval<T const&>().valueless_by_exception())>> = true;

// Whether array_traits<T> has adopt.
template <class T, class = void>
constexpr bool can_adopt = false;
template <class T>
constexpr bool
    can_adopt<T, std::void_t<decltype(array_traits<T>::adopt(std::declval<managed_tensor>()))>> =
        true;

inline managed_tensor const& require_owner(managed_tensor const& owner);  // managed.hpp
}  // namespace detail

/// Constructs a T from a tensor, by array_traits<T>::adopt.
///
/// @param tensor The managed_tensor, by move.
/// @throws error null_data, when the managed_tensor is empty; and as array_traits<T>::adopt.
///
/// @par Ownership
/// The T owns the tensor. If adopt throws before it moves from the tensor, the caller still owns
/// the tensor.
template <class T>
T adopt_as(managed_tensor&& tensor) {
  static_assert(detail::can_adopt<T>,
                "dlbridge: array_traits of this type has no adopt, which imports a tensor. Add "
                "static T adopt(managed_tensor&&)");
  detail::require_owner(tensor);
  return array_traits<T>::adopt(std::move(tensor));
}
/// Does not compile: adopt_as takes a managed_tensor.
template <class T, class Owner,
          class = std::enable_if_t<!std::is_same_v<std::remove_const_t<Owner>, managed_tensor>>>
T adopt_as(Owner&&) {
  static_assert(sizeof(Owner) == 0,
                "dlbridge: adopt_as takes a managed_tensor, by move. Write std::move(m); of a "
                "tensor, an argument or an any_tensor x, std::move(x).release(); of a raw pointer, "
                "managed_tensor::steal(p)");
  std::abort();
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
