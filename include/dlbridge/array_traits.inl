// The inline bodies of array_traits.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>

#include <dlbridge/array_traits.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class... Integer, class>
inline dims::dims(Integer... values) noexcept : size_(sizeof...(Integer)) {
  static_assert(sizeof...(Integer) <= max_rank, "dlbridge: a tensor has at most 64 dimensions");
  int i = 0;
  ((value_[i++] = static_cast<std::int64_t>(values)), ...);
}

template <class Container, class, class>
inline dims::dims(Container const&) noexcept : size_(0) {
  static_assert(
      sizeof(Container) == 0,
      "dlbridge: extents and strides are not a container. Write dims::from(c.data(), c.size()); of "
      "a std::initializer_list, dims::from(c.begin(), c.size())");
}

template <class Integer>
inline dims dims::from(Integer const* values, std::size_t count) noexcept {
  static_assert(!std::is_floating_point_v<Integer>, "dlbridge: extents and strides are integers");
  dims copy;
  copy.size_ = static_cast<int>(count <= max_rank ? count : max_rank + 1);
  detail::copy_extents(values, copy.count(), copy.value_);
  return copy;
}

inline dims& dims::operator=(dims const& other) noexcept {
  size_ = other.size_;
  copy_from(other);
  return *this;
}

template <class T>
inline description description::of(T* data, dims const& shape, dims const& strides) noexcept {
  static_assert(!std::is_void_v<T>,
                "dlbridge: a pointer to void states no element type. Cast it to a pointer to the "
                "elements; or, where their dtype is known at run time, assign data and type of a "
                "description");
  description d;
  d.data = const_cast<std::remove_const_t<T>*>(data);
  d.type = dtype_of<std::conditional_t<std::is_void_v<T>, std::byte, T>>();
  d.shape = shape;
  d.strides = strides;
  d.flags = std::is_const_v<T> ? flag_read_only : 0;
  return d;
}

namespace detail {
// Whether array_traits of the type has a describe that accepts a T.
template <class T, class = void>
constexpr bool can_describe = false;
template <class T>
constexpr bool can_describe<
    T, std::void_t<decltype(array_traits<std::remove_cv_t<T>>::describe(std::declval<T&>()))>> =
    true;

DLBRIDGE_COLD report empty_owner() noexcept;  // managed_tensor.hpp

// Why adopt_as<T> refuses a tensor.
template <class T, class Owner>
report check_adoption(Owner const& tensor) noexcept {
  static_assert(detail::can_adopt<T>,
                "dlbridge: array_traits of this type has no adopt, which imports a tensor. Add "
                "static T adopt(managed_tensor&&)");
  if (!tensor) {
    return empty_owner();
  }
  if constexpr (has_check<T>) {
    return array_traits<T>::check(tensor.view());
  } else {
    return check_view(tensor.view(), requirement());
  }
}
}  // namespace detail

template <class T>
description describe(T& array) noexcept {
  using traits = array_traits<std::remove_cv_t<T>>;
  // Instantiates it here: clang++ takes an assertion that fails in can_describe for a missing
  // describe.
  static_assert(sizeof(traits) != 0);
  constexpr bool of_mutable = detail::can_describe<std::remove_const_t<T>>;
  static_assert(of_mutable,
                "dlbridge: array_traits of this type has no describe for it, which exports an "
                "array. Add static description describe(T&) noexcept");
  static_assert(detail::can_describe<T> || !of_mutable,
                "dlbridge: array_traits of this type has no describe for a const array. Add static "
                "description describe(T const&) noexcept, or make describe a template");
  if constexpr (detail::can_describe<T>) {
    static_assert(
        noexcept(traits::describe(array)),
        "dlbridge: array_traits<T>::describe must be noexcept, and take T& or T const&, as "
        "a copy may throw; it runs while ownership of the array is transferred");
    return traits::describe(array);
  } else {
    return description::of_nothing();  // only the assertion is printed
  }
}

template <class T>
void prepare([[maybe_unused]] T& array) {
  if constexpr (detail::has_prepare<T>) {
    array_traits<std::remove_cv_t<T>>::prepare(array);
  }
}

template <class T>
stream_ref ready_on(T& array, device where) noexcept {
  using array_type = std::remove_const_t<T>;
  if constexpr (detail::has_stream<array_type>) {  // it may take a T& only, as describe
    return array_traits<array_type>::stream(const_cast<array_type&>(array));
  } else {
    return stream_ref::default_of(where);
  }
}

template <class T>
T adopt_as(managed_tensor&& tensor) {
  report const why = detail::check_adoption<T>(tensor);
  if constexpr (detail::can_adopt<T>) {  // otherwise only the assertion is printed
    if (why.ok()) {
      return array_traits<T>::adopt(std::move(tensor));
    }
  }
  raise(why);
}

template <class T>
std::optional<T> try_adopt_as(managed_tensor&& tensor, report& why) {
  report refused = detail::check_adoption<T>(tensor);
  if constexpr (detail::can_adopt<T>) {  // otherwise only the assertion is printed
    if (refused.ok()) {
#if DLBRIDGE_EXCEPTIONS
      try {
        return array_traits<T>::adopt(std::move(tensor));
      } catch (error const& e) {
        refused = e.why();
      }
#else
      return array_traits<T>::adopt(std::move(tensor));
#endif
    }
  }
  why = refused;
  return std::nullopt;
}

template <class T, class Owner, class>
T adopt_as(Owner&&) {
  static_assert(sizeof(Owner) == 0,
                "dlbridge: adopt_as takes a managed_tensor, by move. Write std::move(m); of a "
                "tensor, an argument or an any_tensor x, std::move(x).release(); of a raw pointer, "
                "managed_tensor::steal(p)");
  std::abort();
}

DLBRIDGE_END_NAMESPACE
