// long_copy, copy_without_gil: let other Python threads run while many bytes are copied on the
// host.
// layer: tensor · the GIL during copies
#pragma once

#include <cstdint>
#include <optional>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
/// Releases the GIL for its lifetime, if the tensor has many bytes. A copy of few takes less time
/// than this thread may have to wait for the GIL afterwards.
/// @pre the caller holds the GIL, and keeps the memory of the tensor alive.
class long_copy {
 public:
  explicit long_copy(tensor_view const& source) noexcept
      : source_(source.with_dims(shape_, source.strides() != nullptr ? strides_ : nullptr)) {
    for (int i = 0; i < source.rank(); ++i) {
      shape_[i] = source.extent(i);
      strides_[i] = source.strides() != nullptr ? source.strides()[i] : 0;
    }
    if (bytes_for(source.count(), source.dtype(), source.is_padded()) > bytes_with_gil) {
      released_.emplace();
    }
  }

  /// The tensor, with a copy of its shape and strides: its library may change its own meanwhile.
  tensor_view const& source() const noexcept { return source_; }

 private:
  static constexpr std::int64_t bytes_with_gil = std::int64_t{1} << 20;

  std::int64_t shape_[max_rank];
  std::int64_t strides_[max_rank];
  tensor_view source_;
  std::optional<gil_release> released_;
};

/// As copy_of, in a long_copy. Throws as copy_of.
DLBRIDGE_NOINLINE inline managed_tensor copy_without_gil(
    tensor_view const& source, layout order = layout::row_major,
    struct_kind kind = struct_kind::versioned) {
  return copy_of(long_copy(source).source(), order, kind);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
