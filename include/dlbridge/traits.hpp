// array_traits<T>: the one hook by which any C++ array type is described to, and adopted from,
// DLPack; and the description it gives.
// layer: tensors · OUT: from an array of yours to words
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

class managed_tensor;

/// Up to 64 extents or strides, held in place: {rows, columns} of any integer type, or copied from
/// an array.
class dims {
 public:
  dims() noexcept : size_(0) {}
  template <class... Integer, class = std::enable_if_t<(std::is_integral_v<Integer> && ...) &&
                                                       (sizeof...(Integer) > 0)>>
  dims(Integer... values) noexcept : size_(sizeof...(Integer)) {
    static_assert(sizeof...(Integer) <= max_rank, "dlbridge: a tensor has at most 64 dimensions");
    int i = 0;
    ((value_[i++] = static_cast<std::int64_t>(values)), ...);
  }
  /// Copies count integers. More than 64 are not held: the size is then 65, which build refuses.
  template <class Integer>
  static dims from(Integer const* values, std::size_t count) noexcept {
    dims copy;
    copy.size_ = static_cast<int>(count <= max_rank ? count : max_rank + 1);
    for (int i = 0; i < copy.held(); ++i) {
      copy.value_[i] = static_cast<std::int64_t>(values[i]);
    }
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
  int held() const noexcept { return size_ < max_rank ? size_ : max_rank; }
  void copy_from(dims const& other) noexcept {  // only what is used
    for (int i = 0; i < held(); ++i) {
      value_[i] = other.value_[i];
    }
  }

  int size_;
  std::int64_t value_[max_rank];
};

/// How an array looks to DLPack. Points to the array's elements and copies everything else.
struct description {
  void* data = nullptr;
  dtype type;
  dims shape;
  dims strides;  // in elements; empty for row-major
  dlbridge::device device = cpu;
  std::uint64_t byte_offset = 0;  // only from a handle; add to data where data is an address
  std::uint64_t flags = 0;        // flag_read_only, flag_padded, flag_is_copied

  /// Elements of type T in host memory. A const T makes the tensor read-only.
  template <class T>
  static description of(T* data, dims const& shape, dims const& strides = dims()) noexcept {
    description d;
    d.data = const_cast<std::remove_cv_t<T>*>(data);
    d.type = dtype_of<T>();
    d.shape = shape;
    d.strides = strides;
    d.flags = std::is_const_v<T> ? flag_read_only : 0;
    return d;
  }
  /// What an owner says that has nothing, such as a null pointer: build refuses it (null_data).
  static description of_nothing() noexcept { return of<std::byte>(nullptr, dims()); }
};

/// Makes T speak DLPack. Specialise it for your array:
///
///   template <> struct dlbridge::array_traits<my_array> {
///     static description describe(my_array& a) noexcept {
///       return description::of(a.data(), {a.rows(), a.columns()});
///     }
///     static my_array adopt(managed_tensor&& m);   // optional: takes a tensor in
///     static stream_ref stream(my_array& a) noexcept;  // optional: where its work is enqueued
///   };
///
/// describe is called when the array has reached its final place, so small buffers may be inside
/// it. It may be called twice, and must give the same rank each time.
template <class T>
struct array_traits {
  static_assert(sizeof(T) == 0,
                "dlbridge: this type is not described to DLPack. Specialise "
                "dlbridge::array_traits<T> with describe(T&), or include the header of "
                "<dlbridge/bridges/> that has it");
};

/// The description of an array, where it lies now.
template <class T>
description describe(T& array) noexcept {
  static_assert(noexcept(array_traits<std::remove_cv_t<T>>::describe(array)),
                "dlbridge: array_traits<T>::describe must be noexcept; it runs between two owners");
  return array_traits<std::remove_cv_t<T>>::describe(array);
}

namespace detail {
template <class T, class = void>
constexpr bool has_stream = false;
template <class T>
constexpr bool has_stream<T, std::void_t<decltype(array_traits<T>::stream(std::declval<T&>()))>> =
    true;
}  // namespace detail

/// The stream on which the elements of an array are ready: by array_traits<T>::stream, or the
/// default one of its device.
template <class T>
stream_ref ready_on(T& array, device where) noexcept {
  if constexpr (detail::has_stream<T>) {
    return array_traits<T>::stream(array);
  } else {
    return stream_ref::default_of(where);
  }
}

/// A T made from a tensor, by array_traits<T>::adopt. owns: what adopt moves from; a tensor that it
/// refuses without is still the caller's.
template <class T>
T adopt_as(managed_tensor&& tensor) {
  return array_traits<T>::adopt(std::move(tensor));
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
