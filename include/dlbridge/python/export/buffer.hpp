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
// What a buffer of a tensor needs and does not find; ok when there is nothing.
inline report check_buffer(tensor_view const& view, int flags) noexcept {
  auto const asks = [flags](int bits) { return (flags & bits) == bits; };
  auto const refuse = [&view](errc code, char const* expected) {
    return refusal(code, expected, name_of(view).c_str());
  };
  if (!is_host_accessible(view.device())) {
    return refuse(errc::device_mismatch, "memory that the CPU can read");
  }
  if (find_format(view.dtype()) == nullptr) {
    return refuse(errc::dtype_mismatch, "a dtype that buffers can name");
  }
  if (asks(PyBUF_WRITABLE) && view.read_only()) {
    return refuse(errc::read_only, "writable memory");
  }
  if ((asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES)) && !view.is_row_major()) {
    return refuse(errc::layout_mismatch, "a row-major tensor");
  }
  if (asks(PyBUF_F_CONTIGUOUS) && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a column-major tensor");
  }
  if (asks(PyBUF_ANY_CONTIGUOUS) && !view.is_row_major() && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a row-major or column-major tensor");
  }
  return report{};
}
}  // namespace detail

/// Answers bf_getbuffer for the tensor of an object. owns: the buffer holds a reference to object.
/// fails: -1 with BufferError when the CPU cannot read the tensor, buffers have no name for its
/// dtype, or it does not lie as the flags ask.
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
    PyErr_NoMemory();
    return -1;
  }
  std::int64_t const bytes = element_bytes(view.dtype());
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    dims[i] = static_cast<Py_ssize_t>(view.extent(i));
    // It may wrap where the stride leads nowhere: in an extent of 1, in an empty tensor.
    dims[view.rank() + i] = static_cast<Py_ssize_t>(static_cast<std::uint64_t>(strides[i]) *
                                                    static_cast<std::uint64_t>(bytes));
  }
  static char nothing = 0;  // an empty tensor has no address, a buffer must have one
  out->buf = view.data() != nullptr ? const_cast<void*>(view.data()) : &nothing;
  out->len = static_cast<Py_ssize_t>(view.count() * bytes);
  out->itemsize = static_cast<Py_ssize_t>(bytes);
  out->readonly = view.read_only() ? 1 : 0;
  bool const shaped = (flags & PyBUF_ND) != 0;  // else the bytes of a flat block are asked for
  bool const stepped = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  char const* const format = find_format(view.dtype())->format;
  out->ndim = shaped ? view.rank() : 1;
  out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  out->shape = shaped && view.rank() > 0 ? dims : nullptr;
  out->strides = stepped && view.rank() > 0 ? dims + view.rank() : nullptr;
  out->suboffsets = nullptr;
  out->internal = dims;  // freed with the buffer
  Py_INCREF(object);
  out->obj = object;
  return 0;
}

inline void release_buffer(Py_buffer* buffer) noexcept {
  delete[] static_cast<Py_ssize_t*>(buffer->internal);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
