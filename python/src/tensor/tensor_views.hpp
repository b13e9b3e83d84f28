// make_view: creates a Tensor on the memory of another one, under another description.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"

namespace core DLBRIDGE_LOCAL {
// The owner that a view holds: that of the Tensor or, if the Tensor is itself a view, that of the
// first one. Views of views thereby form no chain. Throws.
inline shared_tensor first_owner(tensor_object& self) {
  shared_tensor const& own = share(self);
  shared_tensor const* const first = dlbridge::detail::find_owner<shared_tensor>(own.get());
  return first != nullptr ? *first : own;
}

// Another Tensor on the same memory under another description. The elements are ready on the same
// stream if the device is the same. Throws.
DLBRIDGE_COLD inline ref retyped(PyObject* object, description const& d) {
  tensor_object& self = tensor_in(object);
  ref result = checked(new_tensor(Py_TYPE(object), build_on(first_owner(self), d)));
  if (d.device == self.view.device()) {
    tensor_object& view = tensor_in(result.get());
    view.stream = self.stream;
    Py_XINCREF(self.stream_object);
    view.stream_object = self.stream_object;
  }
  return result;
}

// The layout of a view: extents, strides and the offset of its first element, in elements.
struct view_layout {
  int rank = 0;
  std::int64_t shape[max_rank];
  std::int64_t strides[max_rank];
  std::int64_t offset = 0;

  view_layout() noexcept {}  // user-provided: value-initialization does not zero the arrays
  void add(std::int64_t extent, std::int64_t stride) noexcept {
    shape[rank] = extent;
    strides[rank++] = stride;
  }
};

inline void describe_layout(description& d, view_layout const& layout) {
  auto const rank = static_cast<std::size_t>(layout.rank);
  d.shape = dims::from(layout.shape, rank);
  d.strides = dims::from(layout.strides, rank);
}
inline view_layout layout_of(tensor_view const& view) noexcept {
  view_layout layout;
  layout.rank = view.rank();
  dlbridge::detail::copy_extents(view.shape(), view.rank(), layout.shape);
  view.copy_strides(layout.strides);
  return layout;
}

// Multiplies strides, which may be any number where the extent is 1, so that the product may wrap.
inline std::int64_t wrapping_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// The bits from one element to the next.
inline std::int64_t bits_per_element(tensor_view const& view) noexcept {
  return view.is_padded()            ? element_bytes(view.dtype()) * 8
         : is_sub_byte(view.dtype()) ? element_bits(view.dtype())
                                     : element_bytes(view.dtype()) * 8;
}

// The size of one number, if an address can be a multiple of it; else 1.
inline std::size_t scalar_alignment(dtype type) noexcept {
  int const bytes = type.bits / (is_complex(type) ? 16 : 8);
  return bytes > 0 && (bytes & (bytes - 1)) == 0 ? static_cast<std::size_t>(bytes) : 1;
}

// Whether the address of a tensor is a multiple of the size of a number of a dtype.
inline bool is_aligned(tensor_view const& view, dtype type) noexcept {
  requirement aligned;
  aligned.where.type = device_filter::anywhere;
  aligned.alignment = scalar_alignment(type);
  return meets(view, aligned);
}

// Moves the first element of a description by bytes.
inline void move_first(description& d, std::int64_t bytes) noexcept {
  if (has_address(d.device) && !keeps_data(d.device)) {
    d.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(d.data) +
                                     static_cast<std::uintptr_t>(bytes));
  } else {
    d.byte_offset += static_cast<std::uint64_t>(bytes);
  }
}

// A view of a Tensor with another layout. It keeps the memory, the stream and the flags, except
// that which marks a copy, as the view is not the only owner. Throws, also for a packed element
// that begins inside a byte.
inline ref make_view(PyObject* object, view_layout const& layout) {
  tensor_view const& view = tensor_in(object).view;
  description d = describe_view(view);
  describe_layout(d, layout);
  d.flags &= ~flag_is_copied;
  bool const is_empty = count_of(layout.rank, layout.shape) == 0;
  std::int64_t const bits = is_empty ? 0 : wrapping_product(layout.offset, bits_per_element(view));
  if (bits % 8 != 0) {
    report r = refusal(errc::layout_mismatch, "a view that begins at a byte", "element ",
                       "Packed elements share bytes; unpack them with their library first");
    r.got.append(layout.offset).append(" of ").append(name_of(view).c_str()).append(", packed");
    fail(r);
  }
  move_first(d, bits / 8);
  return retyped(object, d);
}
}  // namespace core DLBRIDGE_LOCAL
