// argument<T, shape<...>, ...>: a tensor together with the library it came from, in whose own type
// results go back.
// layer: call · IN and OUT: what a function takes, and what it returns
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
constexpr std::int64_t any_extent = dynamic_extent;

template <class Indices>
struct free_shape;
template <std::size_t... I>
struct free_shape<std::index_sequence<I...>> {
  using type = shape<any_extent<I>...>;
};
template <std::size_t Rank>
using free_shape_of = typename free_shape<std::make_index_sequence<Rank>>::type;
}  // namespace detail

/// An owned tensor with its origin. Move-only.
/// lives: it may outlive the call. thread and GIL: it may be used and dropped without the GIL;
/// empty_like takes it.
template <class T, class Shape = dynamic_rank, class... Constraints>
class argument {
 public:
  using owner_type = tensor<T, Shape, Constraints...>;
  using span_type = typename owner_type::span_type;
  using element_type = T;

  static constexpr requirement required() noexcept { return span_type::required(); }

  /// For who makes arguments: casters, def, empty_like. born: the Python object of the tensor, if
  /// there is one already.
  argument(owner_type tensor, python::origin from, python::ref born = python::ref()) noexcept
      : tensor_(std::move(tensor)), origin_(std::move(from)), born_(std::move(born)) {}

  T* data() const noexcept { return tensor_.data(); }
  int rank() const noexcept { return tensor_.rank(); }
  std::int64_t extent(int i) const noexcept { return tensor_.extent(i); }
  /// In elements.
  std::int64_t stride(int i) const noexcept { return tensor_.stride(i); }
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

  /// The stream on which its library works now on its device: work on the argument belongs there.
  /// GIL: held.
  stream_ref stream() const noexcept { return origin_.stream(device()); }
  python::origin const& origin() const noexcept { return origin_; }

  /// A new row-major tensor of the same library, on the same device, its elements not set:
  /// in.empty_like<float>({rows, columns}).
  /// fails: python_error, with the library's exception pending; or as tensor of what it gave.
  template <class U = std::remove_const_t<T>, std::size_t Rank>
  argument<U, detail::free_shape_of<Rank>, on<detail::device_filter_type<Constraints...>()>>
  empty_like(std::int64_t const (&extents)[Rank]) const {
    return allocate<U, detail::free_shape_of<Rank>>(dims::from(extents, Rank));
  }
  /// The same with the extents of this one.
  template <class U = std::remove_const_t<T>>
  argument<U, Shape, on<detail::device_filter_type<Constraints...>()>> empty_like() const {
    auto const rank = static_cast<std::size_t>(this->rank());
    return allocate<U, Shape>(dims::from(view().shape(), rank));
  }

  /// Gives the tensor up without freeing it; its origin is forgotten.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(tensor_).release(); }

  /// Its object, of the origin's own type. owns: the tensor is given away. GIL: held.
  /// fails: none, with a Python exception set.
  [[nodiscard]] python::ref give() && noexcept {
    python::ref born = born_.release();
    return born ? std::move(born) : origin_.give(std::move(tensor_).release());
  }

 private:
  template <class U, class S>
  argument<U, S, on<detail::device_filter_type<Constraints...>()>> allocate(
      dims const& shape) const {
    python::gil_hold const gil;
    python::ref born;
    managed_tensor made = origin_.allocate(dtype_of<U>(), shape, device(), born);
    if (!made) {
      throw python::python_error();
    }
    using result = argument<U, S, on<detail::device_filter_type<Constraints...>()>>;
    return result(typename result::owner_type(std::move(made)), origin_, std::move(born));
  }

  owner_type tensor_;
  python::origin origin_;
  python::object_owner born_;
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
