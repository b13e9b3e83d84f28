// description: the properties of an array that dlbridge needs to export it; dims: its extents or
// its strides.
// layer: tensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

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
  dims() noexcept : size_(0) {}
  /// The list {rows, columns, ...} of any integer types.
  template <class... Integer, class = std::enable_if_t<(std::is_integral_v<Integer> && ...) &&
                                                       (sizeof...(Integer) > 0)>>
  dims(Integer... values) noexcept : size_(sizeof...(Integer)) {
    static_assert(sizeof...(Integer) <= max_rank, "dlbridge: a tensor has at most 64 dimensions");
    int i = 0;
    ((value_[i++] = static_cast<std::int64_t>(values)), ...);
  }
  /// Does not compile: a container is copied by from.
  template <class Container, class = decltype(std::declval<Container const&>().data()),
            class = std::enable_if_t<!std::is_same_v<Container, dims>>>
  dims(Container const&) noexcept : size_(0) {
    static_assert(sizeof(Container) == 0,
                  "dlbridge: a container is no dims. Write dims::from(c.data(), c.size())");
  }
  /// Copies an array of integers.
  ///
  /// @param values The integers.
  /// @param count Their number. If it is above 64, the size becomes 65, which build refuses.
  template <class Integer>
  static dims from(Integer const* values, std::size_t count) noexcept {
    static_assert(!std::is_floating_point_v<Integer>, "dlbridge: extents and strides are integers");
    dims copy;
    copy.size_ = static_cast<int>(count <= max_rank ? count : max_rank + 1);
    detail::copy_extents(values, copy.count(), copy.value_);
    return copy;
  }
  dims(dims const& other) noexcept : size_(other.size_) { copy_from(other); }
  dims& operator=(dims const& other) noexcept {
    size_ = other.size_;
    copy_from(other);
    return *this;
  }

  int size() const noexcept { return size_; }
  std::int64_t operator[](int i) const noexcept { return value_[i]; }
  std::int64_t const* data() const noexcept { return value_; }

 private:
  int count() const noexcept { return size_ < max_rank ? size_ : max_rank; }
  void copy_from(dims const& other) noexcept {  // copies only the values in use
    detail::copy_extents(other.value_, count(), value_);
  }

  int size_;
  std::int64_t value_[max_rank];
};

/// The properties of an array that dlbridge needs to export it.
///
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
  ///
  /// @tparam T The element type. T const makes the tensor read-only.
  /// @param data The first element.
  /// @param shape The extents.
  /// @param strides The strides in elements; empty for row-major.
  template <class T>
  static description of(T* data, dims const& shape, dims const& strides = dims()) noexcept {
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
  /// Does not compile: extents without braces would be one extent and one stride.
  template <class T, class... Integer, class = detail::if_bare_extents<Integer...>>
  static description of(T*, Integer...) noexcept {
    return detail::refuse_bare_extents<T>(), description();
  }
  /// The description of an owner without an array, such as a null pointer. build refuses it with
  /// null_data.
  static description of_nothing() noexcept { return of<std::byte>(nullptr, dims()); }
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
