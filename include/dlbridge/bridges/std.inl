// The inline bodies of std.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/std.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class T, class Allocator>
inline description array_traits<std::vector<T, Allocator>>::describe(
    std::vector<T, Allocator>& v) noexcept {
  using scalar = typename detail::nested<T>::scalar;
  return description::of(reinterpret_cast<scalar*>(v.data()), detail::nested<T>::shape(v.size()));
}

template <class T, std::size_t N>
inline description array_traits<std::array<T, N>>::describe(std::array<T, N>& a) noexcept {
  using scalar = typename detail::nested<T>::scalar;
  return description::of(reinterpret_cast<scalar*>(a.data()),
                         detail::nested<std::array<T, N>>::shape());
}

template <class T>
inline description array_traits<std::shared_ptr<T>>::describe(std::shared_ptr<T>& p) noexcept {
  if (p == nullptr) {
    return description::of_nothing();
  }
  description d = dlbridge::describe(const_cast<std::remove_const_t<T>&>(*p));
  d.flags &= ~flag_is_copied;
  d.flags |= std::is_const_v<T> ? flag_read_only : 0;
  return d;
}

template <class T>
template <class U, class>
inline void array_traits<std::shared_ptr<T>>::prepare(std::shared_ptr<T> const& p) {
  if (p != nullptr) {
    array_traits<U>::prepare(const_cast<U&>(*p));  // as describe does
  }
}

template <class Pointer>
inline description detail::refused_pointer::describe(Pointer&) noexcept {
  static_assert(sizeof(Pointer) == 0,
                "dlbridge: a pointer to elements has no shape; with_shape(std::move(p), {2, 3}) "
                "adds it. The array of a std::unique_ptr is shared, "
                "build(std::shared_ptr<T>(std::move(p)))");
  return description::of_nothing();
}

DLBRIDGE_END_NAMESPACE
