// array_traits<T>: defines how dlbridge exports an array of type T, and how it constructs a T from
// a tensor.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_NAMESPACE

class managed_tensor;

namespace detail {
// Extents that are passed without braces: as several integers.
template <class... Integer>
using if_bare_extents =
    std::enable_if_t<(std::is_integral_v<Integer> && ...) && (sizeof...(Integer) > 1)>;
template <class T>
constexpr void refuse_bare_extents() noexcept {
  static_assert(sizeof(T) == 0,
                "dlbridge: extents are one list. Write {rows, columns}; strides are a second list");
}
}  // namespace detail

/// A list of up to 64 extents or strides, without heap memory.
class dims {
 public:
  dims() noexcept : size_(0) {}  ///< The empty list.
  /// The list {rows, columns, ...} of any integer types.
  template <class... Integer, class = std::enable_if_t<(std::is_integral_v<Integer> && ...) &&
                                                       (sizeof...(Integer) > 0)>>
  dims(Integer... values) noexcept;
  /// Does not compile: a container is copied by from.
  template <class Container, class = decltype(std::declval<Container const&>().size()),
            class = std::enable_if_t<!std::is_same_v<Container, dims>>>
  dims(Container const&) noexcept;
  /// Copies an array of integers.
  /// @param values The integers.
  /// @param count Their number. If it is above 64, the size becomes 65, which build refuses.
  template <class Integer>
  static dims from(Integer const* values, std::size_t count) noexcept;
  dims(dims const& other) noexcept : size_(other.size_) { copy_from(other); }  ///< Copies the list.
  /// Copies the list.
  dims& operator=(dims const& other) noexcept;

  int size() const noexcept { return size_; }                          ///< The number of values.
  std::int64_t operator[](int i) const noexcept { return value_[i]; }  ///< The value i, from 0.
  std::int64_t const* data() const noexcept { return value_; }         ///< The values.

 private:
  int count() const noexcept { return size_ < max_rank ? size_ : max_rank; }
  void copy_from(dims const& other) noexcept {  // copies only the values in use
    detail::copy_extents(other.value_, count(), value_);
  }

  int size_;
  std::int64_t value_[max_rank];
};

/// The properties of an array that dlbridge needs to export it.
/// @par Lifetime
/// The description points to the elements of the array, and copies everything else.
struct description {
  void* data = nullptr;           ///< The address or the handle of the elements.
  dtype type{};                   ///< The dtype of the elements.
  dims shape{};                   ///< The extents.
  dims strides{};                 ///< In elements; empty for row-major.
  dlbridge::device device = cpu;  ///< The device of the memory.
  std::uint64_t byte_offset = 0;  ///< Offset of the first element from data, in bytes.
  std::uint64_t flags = 0;        ///< flag_read_only, flag_padded, flag_is_copied.

  /// Describes elements of a C++ type in host memory.
  /// @tparam T The element type. T const makes the tensor read-only.
  /// @param data The first element.
  /// @param shape The extents.
  /// @param strides The strides in elements; empty for row-major.
  template <class T>
  static description of(T* data, dims const& shape, dims const& strides = dims()) noexcept;
  /// Does not compile: extents without braces would be one extent and one stride.
  template <class T, class... Integer, class = detail::if_bare_extents<Integer...>>
  static description of(T*, Integer...) noexcept {
    return detail::refuse_bare_extents<T>(), description();
  }
  /// The description of an owner without an array, as a null pointer, which build refuses.
  static description of_nothing() noexcept { return of<std::byte>(nullptr, dims()); }
};

/// Defines how arrays of type T are exported to DLPack. Specialise it for your own array type:
///
/// @code
/// template <> struct dlbridge::array_traits<my_array> {
///   static description describe(my_array& a) noexcept {
///     return description::of(a.data(), {a.rows(), a.columns()});
///   }
///   static void prepare(my_array& a);                // optional: may refuse an export
///   static my_array adopt(managed_tensor&& m);       // optional: constructs T from a tensor
///   static report check(tensor_view const& v) noexcept;  // optional: see below
///   static stream_ref stream(my_array& a) noexcept;  // optional: orders work on T
///   static constexpr bool borrows = true;            // only of a view: see below
/// };
/// @endcode
///
/// build moves the array into the allocation of the tensor, and reads the address of the elements
/// afterwards. So T may store its elements inside the object. build calls describe twice; both
/// calls must return the same rank.
///
/// build refuses a T that frees nothing and has its elements elsewhere: a view, whose tensor would
/// dangle. borrows = true states that the caller of build keeps the memory of the view valid.
///
/// check reports why adopt does not take a tensor. Without it, adopt takes those that the CPU can
/// access. One that returns report() permits every device.
///
/// prepare is called before each export, and may throw, such as raise(refusal(...)) for an array
/// that DLPack cannot describe. It may evaluate an array whose elements are computed when they are
/// needed. It is not called for `__dlpack_device__`.
/// @tparam T The array type, without const.
template <class T>
struct array_traits {
  static_assert(sizeof(T) == 0,
                "dlbridge: this type is not described to DLPack. Specialise "
                "dlbridge::array_traits<T> with describe(T&), or include the header of "
                "<dlbridge/bridges/> that defines it");
  static description describe(T&) noexcept;  ///< So that no further error follows.
};

/// The description of an array, by array_traits<T>::describe.
/// @param array The array.
/// @par Lifetime
/// Valid until the array moves its elements or frees them.
template <class T>
description describe(T& array) noexcept;

/// Prepares an array for an export, by array_traits<T>::prepare if it exists.
/// @param array The array.
/// @throws as array_traits<T>::prepare.
template <class T>
void prepare([[maybe_unused]] T& array);

/// The stream that orders work on the elements of an array.
/// @param array The array.
/// @param where The device of its elements.
/// @return array_traits<T>::stream(array) if it exists, otherwise the default stream of the device.
template <class T>
stream_ref ready_on(T& array, device where) noexcept;

/// Constructs a T from a tensor, by array_traits<T>::adopt.
/// @param tensor The managed_tensor, by move.
/// @throws error null_data, when the managed_tensor is empty; the report of array_traits<T>::check,
///   without which device_mismatch states that the CPU cannot access the memory; and as
///   array_traits<T>::adopt.
/// @par Ownership
/// The T owns the tensor. If adopt throws before it moves from the tensor, the caller still owns
/// it.
template <class T>
T adopt_as(managed_tensor&& tensor);
/// Constructs a T from a tensor, as adopt_as, but reports the errors in why, unchanged on success.
/// Without exceptions, what adopt itself refuses ends the program: check reports it.
/// @return The T; nothing after a refusal.
template <class T>
std::optional<T> try_adopt_as(managed_tensor&& tensor, report& why);
/// Does not compile: adopt_as takes a managed_tensor.
template <class T, class Owner,
          class = std::enable_if_t<!std::is_same_v<std::remove_const_t<Owner>, managed_tensor>>>
T adopt_as(Owner&&);

namespace detail {
template <class T, class = void>
constexpr bool has_prepare = false;
template <class T>
constexpr bool has_prepare<
    T, std::void_t<decltype(array_traits<std::remove_cv_t<T>>::prepare(std::declval<T&>()))>> =
    true;

template <class T, class = void>
constexpr bool has_check = false;
template <class T>
constexpr bool has_check<
    T, std::void_t<decltype(array_traits<T>::check(std::declval<tensor_view const&>()))>> = true;

template <class T, class = void>
constexpr bool borrows = false;
template <class T>
constexpr bool borrows<T, std::void_t<decltype(array_traits<T>::borrows)>> =
    array_traits<T>::borrows;

template <class T, class = void>
constexpr bool has_stream = false;
template <class T>
constexpr bool has_stream<
    T, std::void_t<decltype(array_traits<std::remove_cv_t<T>>::stream(std::declval<T&>()))>> = true;

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
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/array_traits.inl>
