// argument<T, shape<...>, ...>: a tensor parameter together with the library that its Python object
// belongs to, which allocates and receives results.
// layer: call · from a Python argument to a C++ parameter and back
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
template <std::size_t>
constexpr std::int64_t dynamic_extent_at = dynamic_extent;

template <class Indices>
struct dynamic_shape;
template <std::size_t... I>
struct dynamic_shape<std::index_sequence<I...>> {
  using type = shape<dynamic_extent_at<I>...>;
};
template <std::size_t Rank>
using dynamic_shape_of = typename dynamic_shape<std::make_index_sequence<Rank>>::type;
}  // namespace detail

/// An owning tensor parameter with its origin: the library of the Python object that the caller
/// passed. Move-only.
///
/// A result of this type returns to Python as an object of the origin's library.
/// @tparam T the element type; const for a parameter that is only read
/// @tparam Shape shape<...> or dynamic_rank
/// @tparam Constraints as of tensor: row_major, on<...>, aligned<...>, ...
/// @par Lifetime
/// An argument may outlive the call. It keeps the memory and the Python object alive.
/// @par Thread and GIL
/// Every thread may use and destroy an argument without the GIL. empty_like() acquires the GIL;
/// stream() and give() require it.
template <class T, class Shape = dynamic_rank, class... Constraints>
class argument {
 public:
  using owner_type = tensor<T, Shape, Constraints...>;
  using span_type = typename owner_type::span_type;
  using element_type = T;

  /// @return what the parameter requires of a tensor
  static constexpr requirement required() noexcept { return span_type::required(); }

  /// For code that creates arguments: casters, def, empty_like.
  /// @param tensor the tensor
  /// @param from the library that the tensor came from
  /// @param object the tensor's Python object, if one exists already
  argument(owner_type tensor, python::origin from, python::ref object = python::ref()) noexcept
      : tensor_(std::move(tensor)), origin_(std::move(from)), object_(std::move(object)) {}

  T* data() const noexcept { return tensor_.data(); }
  int rank() const noexcept { return tensor_.rank(); }
  std::int64_t extent(int i) const noexcept { return tensor_.extent(i); }
  /// @return the stride of dimension i, in elements
  std::int64_t stride(int i) const noexcept { return tensor_.stride(i); }
  /// @return the number of elements
  std::int64_t count() const noexcept { return tensor_.count(); }
  dlbridge::device device() const noexcept { return tensor_.device(); }
  span_type const& span() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.span(); }
  tensor_view const& view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.view(); }
  span_type const& span() const&& = delete;
  tensor_view const& view() const&& = delete;
  template <class... Index>
  T& operator()(Index... index) const noexcept {
    return tensor_(index...);
  }

  /// @return the stream that the origin's library currently uses on the tensor's device. Enqueue
  /// work on the tensor there.
  /// @par Thread and GIL
  /// The caller holds the GIL.
  /// @throws python_error after an exception such as KeyboardInterrupt
  stream_ref stream() const { return origin_.stream(device()); }
  python::origin const& origin() const noexcept { return origin_; }

  /// Allocates a row-major tensor of the same library on the same device, such as
  /// in.empty_like<float>({rows, columns}). Its elements are uninitialized.
  /// @tparam U the element type
  /// @param extents the extents, outermost first
  /// @return the new tensor, with the same origin
  /// @throws python_error with the Python exception pending, when the library's allocator fails
  /// @throws error as the constructor of tensor, when the new tensor does not meet the constraints
  template <class U = std::remove_const_t<T>, std::size_t Rank>
  argument<U, detail::dynamic_shape_of<Rank>, on<detail::device_filter_type<Constraints...>()>>
  empty_like(std::int64_t const (&extents)[Rank]) const {
    return allocate<U, detail::dynamic_shape_of<Rank>>(dims::from(extents, Rank));
  }
  /// The same, with the extents of this tensor.
  template <class U = std::remove_const_t<T>>
  argument<U, Shape, on<detail::device_filter_type<Constraints...>()>> empty_like() const {
    auto const rank = static_cast<std::size_t>(this->rank());
    return allocate<U, Shape>(dims::from(view().shape(), rank));
  }

  /// Releases the tensor to the caller without freeing it. The origin is dropped.
  /// @return the tensor
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(tensor_).release(); }

  /// Converts the tensor to a Python object of the origin's library.
  /// @return the object, or an empty ref with a Python exception set
  /// @par Ownership
  /// The object owns the memory afterwards; on failure the tensor is freed.
  /// @par Thread and GIL
  /// The caller holds the GIL.
  [[nodiscard]] python::ref give() && noexcept {
    python::ref object = object_.release();
    return object ? std::move(object) : origin_.give(std::move(tensor_).release());
  }

 private:
  template <class U, class S>
  argument<U, S, on<detail::device_filter_type<Constraints...>()>> allocate(
      dims const& shape) const {
    python::gil_hold const gil;
    python::ref object;
    managed_tensor memory = origin_.allocate(dtype_of<U>(), shape, device(), object);
    if (!memory) {
      throw python::python_error();
    }
    using result = argument<U, S, on<detail::device_filter_type<Constraints...>()>>;
    return result(typename result::owner_type(std::move(memory)), origin_, std::move(object));
  }

  owner_type tensor_;
  python::origin origin_;
  python::object_owner object_;
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
