// fill_buffer: exports a tensor through Python's buffer protocol.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Shape and byte strides of a buffer, for the ranks up to room: in an object that exports buffers,
/// as their memory must live as long as they do.
struct buffer_dims {
  static constexpr int room = 8;  ///< The highest rank.
  Py_ssize_t shape[room];         ///< The extents.
  Py_ssize_t strides[room];       ///< The strides in bytes.
};

namespace detail {
// The address of the first element. An empty tensor may have none, where buffers, array interfaces
// and NumPy's functions need one.
DLBRIDGE_LOCAL inline void* nonnull_address(tensor_view const& view) noexcept {
  alignas(std::max_align_t) static char placeholder[sizeof(std::max_align_t)];
  return view.data() != nullptr ? const_cast<void*>(view.data()) : placeholder;
}
}  // namespace detail

/// Implements bf_getbuffer for an object with a tensor.
/// @param object the object, which the buffer keeps alive.
/// @param view the tensor.
/// @param dims memory in the object, which this function overwrites with the same values each time;
///   null to allocate it for each buffer.
/// @param[out] out the buffer.
/// @param flags the flags of the request, PyBUF_*.
/// @return 0; or -1 with BufferError set when the CPU cannot read the tensor, its dtype has no PEP
///   3118 format, it is read-only and flags request a writable buffer, or its layout is not the
///   requested one; or -1 with MemoryError set.
/// @par Ownership
/// The buffer holds a reference to object.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL int fill_buffer(PyObject* object, tensor_view const& view, buffer_dims* dims,
                               Py_buffer* out, int flags) noexcept;

/// Implements bf_releasebuffer for a buffer of fill_buffer.
void release_buffer(Py_buffer* buffer) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/export/buffer.ipp>
#endif
