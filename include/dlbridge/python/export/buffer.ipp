// The bodies of buffer.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <new>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Sets a BufferError, and returns false.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool refuse_buffer(tensor_view const& view, errc code,
                                                          char const* expected,
                                                          char const* advice) noexcept {
  set_error(refusal(code, expected, name_of(view).c_str(), advice));
  return false;
}

// Whether a tensor, whose dtype has the row or null, can be exported as a buffer with these flags.
// If not, sets a BufferError.
inline bool can_be_buffer(tensor_view const& view, format_row const* format, int flags) noexcept {
  auto const requests = [flags](int bits) { return (flags & bits) == bits; };
  auto const refuse = [&view](errc code, char const* expected, char const* advice) {
    return refuse_buffer(view, code, expected, advice);
  };
  constexpr char const* other_layout = "Request a buffer with strides, or pass a compact copy";
  if (!is_host_accessible(view.device())) {
    return refuse(errc::device_mismatch, "memory that the CPU can read",
                  "Copy it to the host first");
  }
  if (format == nullptr) {
    return refuse(errc::dtype_mismatch, "a dtype that buffers can name",
                  "View it as another dtype such as uint8, packed elements after reshape(-1)");
  }
  if (requests(PyBUF_WRITABLE) && view.read_only()) {
    return refuse(errc::read_only, "writable memory",
                  "Request a read-only buffer, or pass a writable copy");
  }
  if ((requests(PyBUF_C_CONTIGUOUS) || !requests(PyBUF_STRIDES)) && !view.is_row_major()) {
    return refuse(errc::layout_mismatch, "a row-major tensor", other_layout);
  }
  if (requests(PyBUF_F_CONTIGUOUS) && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a column-major tensor", other_layout);
  }
  if (requests(PyBUF_ANY_CONTIGUOUS) && !view.is_row_major() && !view.is_column_major()) {
    return refuse(errc::layout_mismatch, "a row-major or column-major tensor", other_layout);
  }
  return true;
}
}  // namespace detail

DLBRIDGE_API int fill_buffer(PyObject* object, tensor_view const& view, buffer_dims* dims,
                             Py_buffer* out, int flags) noexcept {
  out->obj = nullptr;
  format_row const* const format = find_format(view.dtype());
  if (!detail::can_be_buffer(view, format, flags)) {
    return -1;
  }
  int const rank = view.rank();
  bool const is_stored = dims != nullptr && rank <= buffer_dims::room;
  Py_ssize_t* const shape =
      is_stored ? dims->shape : new (std::nothrow) Py_ssize_t[2 * static_cast<std::size_t>(rank)];
  if (shape == nullptr) {
    api<PyErr_NoMemory>();
    return -1;
  }
  Py_ssize_t* const strides = is_stored ? dims->strides : shape + rank;
  auto const bytes = static_cast<Py_ssize_t>(format->bits / 8);
  // Python compares the strides of an empty buffer of one dimension, which have no meaning.
  std::int64_t const* const own = rank != 1 || view.extent(0) != 0 ? view.strides() : nullptr;
  std::uint64_t compact = 1;  // the stride of a row-major tensor; wraps only if it is empty
  for (int i = rank - 1; i >= 0; --i) {
    // A product may wrap where the stride leads to no element: an extent of 1, an empty tensor.
    std::int64_t const extent = view.extent(i);
    std::uint64_t const stride = own != nullptr ? static_cast<std::uint64_t>(own[i]) : compact;
    shape[i] = static_cast<Py_ssize_t>(extent);
    strides[i] = static_cast<Py_ssize_t>(stride * static_cast<std::uint64_t>(bytes));
    compact *= static_cast<std::uint64_t>(extent);
  }
  out->buf = detail::nonnull_address(view);
  out->len = static_cast<Py_ssize_t>(compact) * bytes;
  out->itemsize = bytes;
  out->readonly = view.read_only() ? 1 : 0;
  bool const has_shape = (flags & PyBUF_ND) != 0;  // else the request is for one block of bytes
  bool const has_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  out->ndim = has_shape ? rank : 1;
  out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format->format) : nullptr;
  out->shape = has_shape && rank > 0 ? shape : nullptr;
  out->strides = has_strides && rank > 0 ? strides : nullptr;
  out->suboffsets = nullptr;
  out->internal = is_stored ? nullptr : shape;  // release_buffer deletes it
  Py_INCREF(object);
  out->obj = object;
  return 0;
}

DLBRIDGE_API void release_buffer(Py_buffer* buffer) noexcept {
  delete[] static_cast<Py_ssize_t*>(buffer->internal);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
