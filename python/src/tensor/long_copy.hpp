// long_copy, copy_without_gil: let other Python threads run while many bytes are copied on the
// host.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Whether a copy of a tensor takes so long that other threads should run meanwhile. A shorter one
/// takes less time than this thread may have to wait for the GIL afterwards.
inline bool is_long_copy(tensor_view const& source) noexcept {
  constexpr std::int64_t bytes_with_gil = std::int64_t{1} << 20;
  return source.count() * element_bytes(source.dtype()) > bytes_with_gil;
}

/// Releases the GIL for its lifetime, if a copy of the tensor takes long.
/// @pre the caller holds the GIL, and keeps the memory of the tensor alive.
class long_copy {
 public:
  explicit long_copy(tensor_view const& source) noexcept
      : source_(source.with_dims(shape_, source.strides() != nullptr ? strides_ : nullptr)) {
    for (int i = 0; i < source.rank(); ++i) {
      shape_[i] = source.extent(i);
      strides_[i] = source.strides() != nullptr ? source.strides()[i] : 0;
    }
    if (is_long_copy(source)) {
      released_.emplace();
    }
  }

  /// The tensor, with a copy of its shape and strides: its library may change its own meanwhile.
  tensor_view const& source() const noexcept { return source_; }

 private:
  std::int64_t shape_[max_rank];
  std::int64_t strides_[max_rank];
  tensor_view source_;
  std::optional<gil_release> released_{};
};

DLBRIDGE_COLD inline managed_tensor make_long_copy(tensor_view const& source, layout order,
                                                   struct_kind kind) {
  return copy_of(long_copy(source).source(), order, kind);
}
/// As copy_of. Releases the GIL if the copy takes long.
inline managed_tensor copy_without_gil(tensor_view const& source, layout order = layout::row_major,
                                       struct_kind kind = struct_kind::versioned) {
  return is_long_copy(source) ? make_long_copy(source, order, kind) : copy_of(source, order, kind);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
