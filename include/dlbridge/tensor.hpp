// Typed faces of a tensor: owning tensor<T, shape<...>>, borrowed tensor_span<T, shape<...>> with
// operator(), run-time typed any_tensor and visit.
// layer: arrays · IN: what a function of yours takes
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// The extents a tensor must have, outermost first; any where they are free: shape<any, any, 3>.
template <std::int64_t... Extents>
struct shape {
  static_assert(sizeof...(Extents) <= max_rank, "dlbridge: a tensor has at most 64 dimensions");
  static_assert(((Extents >= dynamic_extent) && ...),
                "dlbridge: an extent is dynamic_extent, 0 or above");
};
/// Any number of dimensions.
struct dynamic_rank {};

// What else may be asked of a tensor, as further template arguments.
struct row_major {};
struct column_major {};
struct compact {};
template <std::int32_t DeviceType>
struct on {};
using on_host = on<device_filter::host>;  // the default: memory that the CPU may read
using on_cuda = on<kDLCUDA>;
using on_rocm = on<kDLROCM>;
using anywhere = on<device_filter::anywhere>;
template <std::size_t Bytes>
struct aligned {
  static_assert(Bytes != 0 && (Bytes & (Bytes - 1)) == 0, "dlbridge: a power of two");
};

namespace detail {
template <class Shape>
struct shape_facts {
  static_assert(sizeof(Shape) == 0, "dlbridge: the second argument is shape<...> or dynamic_rank");
};
template <std::int64_t... Extents>
struct shape_facts<shape<Extents...>> {
  static constexpr int rank = sizeof...(Extents);
  DLBRIDGE_LOCAL static constexpr std::int64_t values[] = {Extents..., dynamic_extent};
  static constexpr std::int64_t const* extents() noexcept { return values; }
};
template <>
struct shape_facts<dynamic_rank> {
  static constexpr int rank = requirement::any_rank;
  static constexpr std::int64_t const* extents() noexcept { return nullptr; }
};

template <class Other>
constexpr void apply_device_filter(std::int32_t&, Other) noexcept {}
template <std::int32_t DeviceType>
constexpr void apply_device_filter(std::int32_t& type, on<DeviceType>) noexcept {
  type = DeviceType;
}
/// The device type, or the place, that these constraints ask for.
template <class... Constraints>
constexpr std::int32_t device_filter_type() noexcept {
  std::int32_t type = device_filter::host;
  (apply_device_filter(type, Constraints{}), ...);
  return type;
}

constexpr void apply(requirement& need, row_major) noexcept { need.order = layout::row_major; }
constexpr void apply(requirement& need, column_major) noexcept {
  need.order = layout::column_major;
}
constexpr void apply(requirement& need, compact) noexcept { need.order = layout::compact; }
template <std::int32_t DeviceType>
constexpr void apply(requirement& need, on<DeviceType>) noexcept {
  need.where.type = DeviceType;
}
template <std::size_t Bytes>
constexpr void apply(requirement& need, aligned<Bytes>) noexcept {
  need.alignment = Bytes > need.alignment ? Bytes : need.alignment;
}
}  // namespace detail

/// A borrowed tensor whose element type, shape and constraints are known to be kept.
/// T const takes read-only memory too; T refuses it.
/// lives: as long as the tensor it was made from.
template <class T, class Shape = dynamic_rank, class... Constraints>
class tensor_span {
  using facts = detail::shape_facts<Shape>;

 public:
  using element_type = T;
  static constexpr bool has_static_rank = facts::rank != requirement::any_rank;

  /// What this type asks of a tensor.
  static constexpr requirement required() noexcept {
    requirement need;
    need.type = dtype_of<T>();
    need.rank = facts::rank;
    need.extents = facts::extents();
    need.writable = !std::is_const_v<T>;
    need.alignment = alignof(T);
    (detail::apply(need, Constraints{}), ...);
    return need;
  }

  tensor_span() = delete;
  /// fails: as check_view, every broken rule in one message.
  explicit tensor_span(tensor_view const& view)
      : tensor_span((require_view(view, required()), view), trusted()) {}
  tensor_span(managed_tensor const&&) = delete;  // it would dangle
  /// Trusts that the view keeps every rule of required().
  static tensor_span trust(tensor_view const& view) noexcept {
    return tensor_span(view, trusted());
  }

  T* data() const noexcept { return static_cast<T*>(const_cast<void*>(view_.data())); }
  int rank() const noexcept { return view_.rank(); }
  std::int64_t extent(int i) const noexcept { return view_.extent(i); }
  /// In elements.
  std::int64_t stride(int i) const noexcept {
    if constexpr (has_static_rank) {
      return strides_[i];
    } else {
      return view_.stride(i);
    }
  }
  std::int64_t count() const noexcept { return view_.count(); }
  dlbridge::device device() const noexcept { return view_.device(); }
  tensor_view const& view() const noexcept DLBRIDGE_LIFETIMEBOUND { return view_; }

  /// The element at these indices, which are not checked. For tensors that the CPU may read.
  template <class... Index>
  T& operator()(Index... index) const noexcept {
    static_assert(has_static_rank, "dlbridge: indexing needs a static rank, shape<...>");
    static_assert(sizeof...(Index) == facts::rank, "dlbridge: one index for each dimension");
    static_assert((!std::is_floating_point_v<Index> && ...), "dlbridge: an index is an integer");
    static_assert(is_indexable(), "dlbridge: the CPU cannot index device memory");
    int i = 0;
    std::int64_t offset = 0;
    ((offset += static_cast<std::int64_t>(index) * strides_[i++]), ...);
    return data()[offset];
  }

 private:
  // Not by find_row: under gcc's sanitizers no pointer that it gives is a constant.
  static constexpr bool is_indexable() noexcept {
    constexpr std::int32_t type = detail::device_filter_type<Constraints...>();
    bool found = type == device_filter::host;
    for (device_row const& each : device_rows) {
      found = found || (each.type == type && each.host_accessible());
    }
    return found;
  }
  struct trusted {};
  tensor_span(tensor_view const& view, trusted) noexcept : view_(view) {
    if constexpr (facts::rank > 0) {
      view.copy_strides(strides_);
    } else {
      strides_[0] = 0;  // not used, but copied
    }
  }

  tensor_view view_;
  std::int64_t strides_[has_static_rank && facts::rank > 0 ? facts::rank : 1];
};

/// The same, owning its tensor. Move-only; moved-from it may only be destroyed or assigned.
template <class T, class Shape = dynamic_rank, class... Constraints>
class tensor {
 public:
  using span_type = tensor_span<T, Shape, Constraints...>;
  using element_type = T;

  static constexpr requirement required() noexcept { return span_type::required(); }

  /// owns: the tensor, from here on, also when it is refused and thereby freed.
  /// fails: as check_view.
  explicit tensor(managed_tensor owned) : span_(owned.view()), owned_(std::move(owned)) {}
  /// owns: the tensor, of which it trusts that it keeps every rule of required().
  static tensor trust(managed_tensor owned) noexcept {
    tensor_view const view = owned.view();
    return tensor(span_type::trust(view), std::move(owned));
  }

  T* data() const noexcept { return span_.data(); }
  int rank() const noexcept { return span_.rank(); }
  std::int64_t extent(int i) const noexcept { return span_.extent(i); }
  std::int64_t stride(int i) const noexcept { return span_.stride(i); }
  std::int64_t count() const noexcept { return span_.count(); }
  dlbridge::device device() const noexcept { return span_.device(); }

  span_type const& span() const& noexcept DLBRIDGE_LIFETIMEBOUND { return span_; }
  tensor_view const& view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return span_.view(); }
  span_type const& span() const&& = delete;
  tensor_view const& view() const&& = delete;

  template <class... Index>
  T& operator()(Index... index) const noexcept {
    return span_(index...);
  }

  /// Gives the tensor up without freeing it.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(owned_); }

 private:
  tensor(span_type const& span, managed_tensor&& owned) noexcept
      : span_(span), owned_(std::move(owned)) {}

  span_type span_;
  managed_tensor owned_;
};

/// An owned tensor of any dtype, any rank, on any device; visit finds the dtype.
class any_tensor {
 public:
  any_tensor() noexcept = default;
  explicit any_tensor(managed_tensor owned) noexcept : owned_(std::move(owned)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(owned_); }
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return owned_.view(); }
  tensor_view view() const&& = delete;
  dlbridge::dtype dtype() const noexcept { return owned_.view().dtype(); }

  /// The typed face of it. fails: as check_view.
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const& DLBRIDGE_LIFETIMEBOUND {
    return tensor_span<T, Shape, Constraints...>(owned_.view());
  }
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const&& = delete;

  [[nodiscard]] managed_tensor release() && noexcept { return std::move(owned_); }

 private:
  managed_tensor owned_;
};

/// A list of element types to try.
template <class... T>
struct types {};
using arithmetic_types =
    types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
          std::uint32_t, std::uint64_t, float, double>;

namespace detail {
[[noreturn]] DLBRIDGE_COLD inline void raise_unvisited(tensor_view const& view, dtype const* tried,
                                                       std::size_t count) {
  report r = refusal(errc::dtype_mismatch, "", name_of(view).c_str());
  for (std::size_t i = 0; i < count; ++i) {
    r.expected.append(i == 0           ? ""
                      : i + 1 == count ? " or "
                                       : ", ")
        .append(name_of(tried[i]).c_str());
  }
  raise(r);
}

// The span that a visitor receives: read-only elements for Access = void const, writable ones for
// Access = void.
template <class Access, class T>
using visited = tensor_span<std::conditional_t<std::is_const_v<Access>, T const, T>>;

// One type of the list has been found to be the right one: the last, if none of the others is.
template <class Access, class Visitor, class First, class... Rest>
decltype(auto) visit_found(tensor_view const& view, Visitor& visitor, types<First, Rest...>) {
  if constexpr (sizeof...(Rest) > 0) {
    if (view.dtype() != dtype_of<First>()) {
      return visit_found<Access>(view, visitor, types<Rest...>{});
    }
  }
  return visitor(visited<Access, First>(view));
}

template <class Access, class Visitor, class First, class... Rest>
decltype(auto) visit_any(tensor_view const& view, Visitor& visitor, types<First, Rest...> list) {
  using result = std::invoke_result_t<Visitor&, visited<Access, First>>;
  static_assert(
      (std::is_same_v<result, std::invoke_result_t<Visitor&, visited<Access, Rest>>> && ...),
      "dlbridge: a visitor gives the same type for every element type");
  constexpr dtype tried[] = {dtype_of<First>(), dtype_of<Rest>()...};
  bool found = false;
  for (dtype const each : tried) {
    found = found || each == view.dtype();
  }
  if (!found) {
    raise_unvisited(view, tried, sizeof...(Rest) + 1);
  }
  return visit_found<Access>(view, visitor, list);
}
}  // namespace detail

/// Calls visitor(tensor_span<T const>) with the T of the list that the tensor has; every call must
/// give the same type. fails: dtype_mismatch naming the list, device_mismatch, misaligned.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(tensor_view const& view, Visitor&& visitor) {
  return detail::visit_any<void const>(view, visitor, List{});
}
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor const& tensor, Visitor&& visitor) {
  return detail::visit_any<void const>(tensor.view(), visitor, List{});
}
/// The same with tensor_span<T>, for writing. fails: also read_only.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor& tensor, Visitor&& visitor) {
  return detail::visit_any<void>(tensor.view(), visitor, List{});
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
