// argument<T, shape<...>, ...>: a tensor parameter together with the library that its Python object
// belongs to, which allocates and receives results.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/detail/empty_like.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// An owning tensor parameter with its origin: the library of the Python object that the caller
/// passed. Move-only; the object that an argument is moved from may be destroyed or assigned to.
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
  using owner_type = tensor<T, Shape, Constraints...>;  ///< The owner of the tensor.
  using span_type = typename owner_type::span_type;     ///< Its view.
  using element_type = T;  ///< The element type, const for a parameter that is only read.
  /// The type of a tensor that empty_like allocates.
  template <class U, class S>
  using like = typename detail::like<U, S, detail::device_filter_type<Constraints...>()>::type;

  /// What the parameter requires of a tensor.
  static constexpr requirement required() noexcept { return span_type::required(); }

  /// For code that creates arguments: casters, def, empty_like.
  /// @param tensor the tensor
  /// @param from the library that the tensor came from
  /// @param object the tensor's Python object, if one exists already
  argument(owner_type tensor, python::origin from, python::ref object = python::ref()) noexcept
      : tensor_(std::move(tensor)), origin_(std::move(from)), object_(std::move(object)) {}
  /// Takes the tensor and the origin of an argument whose dtype is known at run time.
  /// @throws error as check_view, when the tensor does not meet required(); other is then empty
  argument(any_argument&& other)
      : tensor_(std::move(other.tensor_)),
        origin_(std::move(other.origin_)),
        object_(std::move(other.object_)) {}
  /// Takes and checks an argument that is spelled with another shape or other constraints.
  template <class U, class S, class... Others,
            class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  argument(argument<U, S, Others...>&& other) : argument(any_argument(std::move(other))) {}
  /// Moves all parts to an any_argument.
  operator any_argument() && noexcept {
    return any_argument(std::move(tensor_).release(), std::move(origin_), std::move(object_));
  }

  T* data() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.data(); }  ///< As tensor::data.
  T* data() const&& = delete;                           ///< dangles: keep it in a variable
  int rank() const noexcept { return tensor_.rank(); }  ///< The number of dimensions.
  std::int64_t extent(int i) const noexcept { return tensor_.extent(i); }  ///< The i-th extent.
  /// The stride of dimension i, in elements.
  std::int64_t stride(int i) const noexcept { return tensor_.stride(i); }
  /// The number of elements.
  std::int64_t count() const noexcept { return tensor_.count(); }
  dlbridge::device device() const noexcept { return tensor_.device(); }  ///< The device.
  /// The span of the tensor, valid as long as this object owns it; so is view().
  span_type const& span() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.span(); }
  /// Its view.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.view(); }
  /// As view(). @throws error null_data, when this object was released or moved from
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND { return tensor_; }
  span_type const& span() const&& = delete;  ///< dangles: keep it in a variable
  tensor_view view() const&& = delete;       ///< dangles: keep it in a variable
  operator tensor_view() const&& = delete;   ///< dangles: keep it in a variable
  /// The element at the indices, one for each dimension, as tensor_span::operator().
  template <class... Index>
  T& operator()(Index... index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_(index...);
  }
  /// x[i] is x(i), of rank 1.
  template <class Index>
  T& operator[](Index index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_[index];
  }
  /// The element at the indices, which are checked. @throws std::out_of_range as tensor_span::at
  template <class... Index>
  T& at(Index... index) const DLBRIDGE_LIFETIMEBOUND {
    return tensor_.at(index...);
  }

  /// The stream that the origin's library currently uses on the tensor's device. Enqueue
  /// work on the tensor there.
  /// @pre The caller holds the GIL.
  /// @throws python_error after an exception such as KeyboardInterrupt
  stream_ref stream() const { return origin_.stream(device()); }
  python::origin const& origin() const noexcept { return origin_; }  ///< The library.

  /// Allocates a row-major tensor of the same library on the same device, such as
  /// in.empty_like<float>({rows, columns}). Its elements are uninitialized.
  /// @tparam U the element type
  /// @param extents the extents, outermost first: integers of any types
  /// @return the new tensor, with the same origin: an argument<U, shape<...>>, or on a device an
  /// argument<U, shape<...>, on<...>>
  /// @throws python_error with the exception of the library, when its allocator fails; with
  /// ValueError, when no tensor has the extents; with BufferError, when this object was moved from
  /// @throws error as the constructor of tensor, when the new tensor does not meet the constraints
  template <class U = std::remove_const_t<T>, std::size_t Rank>
  like<U, detail::dynamic_shape_of<Rank>> empty_like(
      detail::any_integer const (&extents)[Rank]) const {
    return allocate<U, detail::dynamic_shape_of<Rank>>(dims::from(extents, Rank));
  }
  /// Allocates one with a shape that states more: in.empty_like<float, shape<n, 3>>({rows, 3}).
  template <class U, class S, std::size_t Rank>
  like<U, S> empty_like(detail::any_integer const (&extents)[Rank]) const {
    return allocate<U, S>(dims::from(extents, Rank));
  }
  /// Allocates a tensor with the extents of this tensor, in the same way.
  template <class U = std::remove_const_t<T>>
  like<U, Shape> empty_like() const {
    auto const rank = static_cast<std::size_t>(this->rank());
    return allocate<U, Shape>(dims::from(view().shape(), rank));
  }
  /// Allocates a tensor with extents whose number is known at run time, such as
  /// in.empty_like<float, shape<dynamic_extent, 3>>(extents).
  /// @tparam S the shape of the new tensor, which its extents must meet
  /// @param extents dims, or a container of integers, such as a vector or a span
  template <class U = std::remove_const_t<T>, class S = dynamic_rank, class Extents,
            class = decltype(detail::dims_of(std::declval<Extents const&>()))>
  like<U, S> empty_like(Extents const& extents) const {
    return allocate<U, S>(detail::dims_of(extents));
  }
  /// Does not compile: extents without braces.
  template <class U = std::remove_const_t<T>, class... Integer,
            class = detail::if_bare_extents<Integer...>>
  like<U, dynamic_rank> empty_like(Integer... extents) const {
    return detail::refuse_bare_extents<U>(), empty_like<U>({extents...});
  }
  /// Allocates a tensor with a dtype that is known at run time, in the same way.
  /// @param type the dtype of the elements
  /// @param extents the extents
  any_argument empty_like(dtype type, dims const& extents) const {
    return any_argument::allocate(origin_, type, extents, device());
  }
  /// Allocates a tensor of a dtype with the extents of this tensor, in the same way.
  template <class Dtype,  // a list in braces is a list of extents
            std::enable_if_t<std::is_convertible_v<Dtype const&, dtype>, int> = 0>
  any_argument empty_like(Dtype const& type) const {
    return empty_like(type, dims::from(view().shape(), static_cast<std::size_t>(rank())));
  }

  /// Releases the tensor to the caller without freeing it. The origin is dropped.
  /// @return the tensor
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(tensor_).release(); }

  /// Converts the tensor to a Python object of the origin's library: for a parameter the object
  /// that the caller passed, so that f(x, out=y) is y for a function that returns its argument
  /// `out`. A copy that was made for the parameter, a capsule, numbers and a buffer become a new
  /// object.
  /// @param as as of give_result
  /// @return the object, or an empty ref with a Python exception set
  /// @par Ownership
  /// The object owns the memory afterwards; on failure the tensor is freed.
  /// @pre The caller holds the GIL.
  [[nodiscard]] python::ref give(result_choice as = {}) && noexcept {
    return origin_.give_back(std::move(tensor_).release(), object_.release(), as);
  }

 private:
  template <class U, class S, class... Others>
  friend class argument;

  template <class U, class S>
  like<U, S> allocate(dims const& shape) const {
    return like<U, S>(any_argument::allocate(origin_, dtype_of<U>(), shape, device()));
  }

  owner_type tensor_;
  python::origin origin_;
  python::object_owner object_;
};

/// A parameter that accepts other dtypes by a copy, as converts_to or by_value states:
/// convert<float>, convert<double, shape<dynamic_extent, 3>>. The origin is the library of the
/// object that the caller passed.
template <class T, class Shape = dynamic_rank, class... Constraints>
using convert = argument<T const, Shape, converted, Constraints...>;

DLBRIDGE_END_NAMESPACE
