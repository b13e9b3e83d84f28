// fill_buffer: exports a tensor through Python's buffer protocol.
// layer: export · memoryview(tensor), np.asarray(tensor)
#pragma once

#include <cstdint>
#include <new>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// Whether a tensor can be exported as a buffer with these flags.
inline report check_buffer(tensor_view const& view, int flags) noexcept {
  auto const requests = [flags](int bits) { return (flags & bits) == bits; };
  auto const refuse = [&view](errc code, char const* expected) {
    return refusal(code, expected, name_of(view).c_str());
  };
  if (!is_host_accessible(view.device())) {
    return refuse(errc::device_mismatch, "memory that the CPU can read");
  }
  if (find_format(view.dtype()) == nullptr) {
    return refuse(errc::dtype_mismatch, "a dtype that buffers can name");
  }
  if (requests(PyBUF_WRITABLE) && view.read_only()) {
    return refuse(errc::read_only, "writable memory");
  }
  if ((requests(PyBUF_C_CONTIGUOUS) || !requests(PyBUF_STRIDES)) && !view.is_row_major()) {
    return refuse(errc::layout_mismatch, "a row-major tensor");
  }
  if (requests(PyBUF_F_CONTIGUOUS) && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a column-major tensor");
  }
  if (requests(PyBUF_ANY_CONTIGUOUS) && !view.is_row_major() && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a row-major or column-major tensor");
  }
  return report{};
}
}  // namespace detail

/// Implements bf_getbuffer for an object with a tensor.
/// @return 0; or -1 with BufferError set when the CPU cannot read the tensor, its dtype has no PEP
///   3118 format, it is read-only and flags request a writable buffer, or its layout is not the
///   requested one; or -1 with MemoryError set.
/// @par Ownership
/// The buffer holds a reference to object.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline int fill_buffer(PyObject* object, tensor_view const& view, Py_buffer* out,
                                      int flags) noexcept {
  out->obj = nullptr;
  report const why = detail::check_buffer(view, flags);
  if (!why.ok()) {
    set_error(why);
    return -1;
  }
  auto* const dims = new (std::nothrow) Py_ssize_t[2 * static_cast<std::size_t>(view.rank()) + 1];
  if (dims == nullptr) {
    api<PyErr_NoMemory>();
    return -1;
  }
  std::int64_t const bytes = element_bytes(view.dtype());
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    dims[i] = static_cast<Py_ssize_t>(view.extent(i));
    // The product may wrap where the stride leads to no element: an extent of 1, an empty tensor.
    dims[view.rank() + i] = static_cast<Py_ssize_t>(static_cast<std::uint64_t>(strides[i]) *
                                                    static_cast<std::uint64_t>(bytes));
  }
  static char placeholder = 0;  // a buffer needs an address, an empty tensor may have none
  out->buf = view.data() != nullptr ? const_cast<void*>(view.data()) : &placeholder;
  out->len = static_cast<Py_ssize_t>(view.count() * bytes);
  out->itemsize = static_cast<Py_ssize_t>(bytes);
  out->readonly = view.read_only() ? 1 : 0;
  bool const has_shape = (flags & PyBUF_ND) != 0;  // else the request is for one block of bytes
  bool const has_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  char const* const format = find_format(view.dtype())->format;
  out->ndim = has_shape ? view.rank() : 1;
  out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  out->shape = has_shape && view.rank() > 0 ? dims : nullptr;
  out->strides = has_strides && view.rank() > 0 ? dims + view.rank() : nullptr;
  out->suboffsets = nullptr;
  out->internal = dims;  // release_buffer deletes it
  Py_INCREF(object);
  out->obj = object;
  return 0;
}

/// Implements bf_releasebuffer for a buffer of fill_buffer.
inline void release_buffer(Py_buffer* buffer) noexcept {
  delete[] static_cast<Py_ssize_t*>(buffer->internal);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
