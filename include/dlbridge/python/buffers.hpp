// Python's buffers and array interfaces: a tensor out of one, and a buffer out of a tensor.
// floor 7 · side road: producers that speak no DLPack
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/formats.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/owner.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// Byte strides as strides in elements; false when one is no multiple of an element. Where there is
// no second element to step to, the stride does not matter.
inline bool to_element_strides(int rank, std::int64_t const* shape, std::int64_t const* bytes,
                               std::int64_t item_bytes, std::int64_t* out) noexcept {
  bool const empty = count_of(rank, shape) == 0;
  for (int i = 0; i < rank; ++i) {
    bool const steps = !empty && shape[i] > 1;
    if (steps && bytes[i] % item_bytes != 0) {
      return false;
    }
    out[i] = steps ? bytes[i] / item_bytes : 1;
  }
  return true;
}

DLBRIDGE_COLD inline void refuse_strides(std::int64_t item_bytes) noexcept {
  report r = refusal(errc::layout_mismatch, "strides that are multiples of the item size of ",
                     "others", "Copy it to a compact array first");
  r.expected.append(item_bytes).append(" bytes");
  set_error(r);
}

DLBRIDGE_COLD inline void refuse_format(char const* what, char const* format) noexcept {
  report r = refusal(errc::dtype_mismatch, what, "", "View it as a type that DLPack has");
  r.got.append("'").append(format != nullptr ? format : "B").append("'");
  set_error(r);
}

inline managed_tensor build_on_object(ref owner, description const& d) noexcept {
  managed_tensor made;
  guarded([&] { made = build_on(object_owner(std::move(owner)), d); });
  return made;
}

// At most 64 integers of a sequence; false, perhaps with an exception set. A copy of the sequence
// is read, since the __index__ of an item may change a list.
inline bool read_integers(PyObject* sequence, std::int64_t* out, int& count) noexcept {
  ref const items = ref::steal(PySequence_Tuple(sequence));
  if (!items || PyTuple_GET_SIZE(items.get()) > max_rank) {
    return false;
  }
  count = static_cast<int>(PyTuple_GET_SIZE(items.get()));
  for (int i = 0; i < count; ++i) {
    ref const number = ref::steal(PyNumber_Index(PyTuple_GET_ITEM(items.get(), i)));
    out[i] = number ? PyLong_AsLongLong(number.get()) : -1;
    if (out[i] == -1 && PyErr_Occurred() != nullptr) {
      return false;
    }
  }
  return true;
}

DLBRIDGE_COLD inline managed_tensor refuse_interface(char const* expected) noexcept {
  PyErr_Clear();
  set_error(refusal(errc::malformed, expected, "another array interface",
                    "The producer is broken; it should follow version 3 of the interface"));
  return managed_tensor();
}
}  // namespace detail

/// A tensor on the memory of an object with the buffer protocol; read-only where the buffer is.
/// owns: a memoryview that keeps the buffer exported. GIL: held.
/// fails: empty, with the exporter's exception, or of dtype_mismatch (structures, foreign byte
/// order), layout_mismatch (strides inside elements, indirect buffers), or as build.
inline managed_tensor from_buffer(PyObject* exporter) noexcept {
  ref memory = ref::steal(PyMemoryView_FromObject(exporter));
  if (!memory) {
    return managed_tensor();
  }
  Py_buffer const& buffer = *PyMemoryView_GET_BUFFER(memory.get());
  description d;
  if (!try_read_format(buffer.format, buffer.itemsize, d.type)) {
    detail::refuse_format("a buffer of one native number per item", buffer.format);
    return managed_tensor();
  }
  std::int64_t shape[max_rank];
  std::int64_t byte_strides[max_rank];
  std::int64_t strides[max_rank];
  for (int i = 0; i < buffer.ndim; ++i) {
    shape[i] = buffer.shape[i];
    byte_strides[i] = buffer.strides[i];
    if (buffer.suboffsets != nullptr && buffer.suboffsets[i] >= 0) {
      set_error(refusal(errc::layout_mismatch, "a buffer without indirections", "suboffsets",
                        "Copy it to a compact array first"));
      return managed_tensor();
    }
  }
  if (!detail::to_element_strides(buffer.ndim, shape, byte_strides, buffer.itemsize, strides)) {
    detail::refuse_strides(buffer.itemsize);
    return managed_tensor();
  }
  auto const rank = static_cast<std::size_t>(buffer.ndim);
  d.data = buffer.buf;
  d.shape = dims::from(shape, rank);
  d.strides = dims::from(strides, rank);
  d.flags = buffer.readonly != 0 ? flag_read_only : 0;
  return detail::build_on_object(std::move(memory), d);
}

/// A tensor on the memory of a device that obj.__array_interface__, or __cuda_array_interface__
/// (version 3), describes by address.
/// owns: the object. GIL: held. fails: as from_buffer, and malformed.
inline managed_tensor from_array_interface(PyObject* object, PyObject* interface,
                                           device where) noexcept {
  auto const item = [interface](char const* key) {  // held, since reading runs Python code
    PyObject* const found =
        PyDict_Check(interface) ? PyDict_GetItemString(interface, key) : nullptr;
    return ref::borrow(found == Py_None ? nullptr : found);
  };
  ref const shape_item = item("shape");
  ref const typestr_item = item("typestr");
  ref const data_item = item("data");
  ref const strides_item = item("strides");
  char const* const typestr = typestr_item && PyUnicode_Check(typestr_item.get())
                                  ? PyUnicode_AsUTF8(typestr_item.get())
                                  : nullptr;
  if (!shape_item || typestr == nullptr || !data_item || !PyTuple_Check(data_item.get()) ||
      PyTuple_GET_SIZE(data_item.get()) != 2) {
    return detail::refuse_interface("a dict with shape, typestr, and data as (address, read-only)");
  }
  if (item("mask")) {
    return detail::refuse_interface("an array without a mask, which DLPack cannot carry");
  }
  description d;
  d.device = where;
  std::int64_t item_bytes = 0;
  if (!try_read_typestr(typestr, item_bytes, d.type)) {
    detail::refuse_format("a typestr of one native number", typestr);
    return managed_tensor();
  }
  int rank = 0;
  int steps = 0;
  std::int64_t shape[max_rank];
  std::int64_t byte_strides[max_rank];
  std::int64_t strides[max_rank];
  if (!detail::read_integers(shape_item.get(), shape, rank) ||
      (strides_item && !detail::read_integers(strides_item.get(), byte_strides, steps)) ||
      (strides_item && steps != rank)) {
    return detail::refuse_interface("up to 64 integers in shape, and as many in strides");
  }
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      return detail::refuse_interface("extents of 0 and above");
    }
  }
  if (strides_item && !detail::to_element_strides(rank, shape, byte_strides, item_bytes, strides)) {
    detail::refuse_strides(item_bytes);
    return managed_tensor();
  }
  ref const address = ref::steal(PyNumber_Index(PyTuple_GET_ITEM(data_item.get(), 0)));
  d.data = address ? PyLong_AsVoidPtr(address.get()) : nullptr;
  int const read_only =
      PyErr_Occurred() == nullptr ? PyObject_IsTrue(PyTuple_GET_ITEM(data_item.get(), 1)) : -1;
  if (read_only < 0) {
    return detail::refuse_interface("data as (address, read-only)");
  }
  d.shape = dims::from(shape, static_cast<std::size_t>(rank));
  d.strides = dims::from(strides, strides_item ? static_cast<std::size_t>(rank) : 0);
  d.flags = read_only != 0 ? flag_read_only : 0;
  return detail::build_on_object(ref::borrow(object), d);
}

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
