// The bodies of buffers.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/block_pool.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_API bool to_elements(byte_layout& from, std::int64_t item_bytes) noexcept {
  bool const empty = count_of(from.rank, from.shape) == 0;
  for (int i = 0; i < from.rank; ++i) {
    bool const matters = !empty && from.shape[i] > 1;
    if (matters && from.strides[i] % item_bytes != 0) {
      report r = refusal(errc::layout_mismatch, "strides that are multiples of the item size of ",
                         "others", "Pass a compact copy, as numpy.array(x) makes it");
      r.expected.append(item_bytes).append(" bytes");
      set_error(r);
      return false;
    }
    from.strides[i] = matters ? from.strides[i] / item_bytes : 1;
  }
  return true;
}

// @param object the array of a typestr; null for the format of a buffer
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void refuse_format(char const* what, char const* format,
                                                          PyObject* object) noexcept {
  bool const is_of_numpy = object != nullptr && optional_attribute(object, "astype");
  char const* text = format;
  bool const is_native = read_byte_order(text, 2);
  report r = refusal(errc::dtype_mismatch, what, "'",
                     is_of_numpy ? remedy_for_typestr(format)
                     : is_native ? "Convert it to a type that DLPack has, or pass its bytes"
                                 : "Convert it to the byte order of this machine");
  r.got.append(format).append("'").append(is_of_numpy ? words_for_typestr(format) : "");
  r.got.append(is_native ? "" : ", in another byte order");
  if (PyErr_Occurred() == nullptr) {
    set_error(r);
  }
}

DLBRIDGE_API managed_tensor build_on_object(ref owner, description const& d) noexcept {
  managed_tensor tensor;
  guarded([&] { tensor = build_on(object_owner(std::move(owner)), d); });
  return tensor;
}

DLBRIDGE_API bool read_integers(PyObject* sequence, std::int64_t* out, int& count) noexcept {
  if (!is_sized_sequence(sequence)) {
    return false;
  }
  ref const items = ref::steal(api<PySequence_Tuple>(sequence));
  if (!items || detail::tuple_size(items.get()) > max_rank) {
    return false;
  }
  count = static_cast<int>(detail::tuple_size(items.get()));
  for (int i = 0; i < count; ++i) {
    ref const number = ref::steal(api<PyNumber_Index>(detail::tuple_item(items.get(), i)));
    out[i] = number ? api<PyLong_AsLongLong>(number.get()) : -1;
    if (out[i] == -1 && PyErr_Occurred() != nullptr) {
      return false;
    }
  }
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor refuse_interface(PyObject* value, char const* name,
                                                               char const* expected) noexcept {
  refuse_value(value, name, expected, errc::malformed,
               "The producer is broken; it should follow version 3 of the array interface");
  return managed_tensor();
}
}  // namespace detail

namespace detail {
// Owns an exported buffer. Any thread may destroy it.
struct buffer_owner {
  Py_buffer view{};

  buffer_owner() noexcept = default;
  // The extents of a plain buffer (PyBuffer_FillInfo) are in the struct itself.
  buffer_owner(buffer_owner&& other) noexcept : view(other.view) {
    view.shape = view.shape == &other.view.len ? &view.len : view.shape;
    view.strides = view.strides == &other.view.itemsize ? &view.itemsize : view.strides;
    other.view.obj = nullptr;
  }
  buffer_owner& operator=(buffer_owner&&) = delete;
  ~buffer_owner() {
    if (view.obj == nullptr || !interpreter_alive()) {
      return;
    }
    gil_hold const gil;
    error_keeper const pending;
    api<PyBuffer_Release>(&view);
  }
};

// Describes a buffer. False, with an exception set, if no tensor can. As memoryview does, it reads
// what exporters leave out: ctypes gives no strides.
inline bool describe_buffer(Py_buffer const& buffer, byte_layout& layout, DLTensor& t) noexcept {
  dtype type;
  if (!try_read_format(buffer.format, buffer.itemsize, type)) {
    refuse_format("a buffer of one native number per item", buffer.format, nullptr);
    return false;
  }
  bool const indirect = buffer.suboffsets != nullptr &&
                        std::any_of(buffer.suboffsets, buffer.suboffsets + buffer.ndim,
                                    [](Py_ssize_t offset) { return offset >= 0; });
  if (indirect || buffer.ndim > max_rank) {
    set_error(refusal(errc::layout_mismatch, "a buffer without indirections",
                      indirect ? "suboffsets" : "more than 64 dimensions",
                      "Copy it to a compact array first"));
    return false;
  }
  layout.rank = buffer.ndim;
  for (int i = 0; i < buffer.ndim; ++i) {
    layout.shape[i] = buffer.shape != nullptr ? buffer.shape[i] : buffer.len / buffer.itemsize;
    layout.strides[i] = buffer.strides != nullptr ? buffer.strides[i] : 0;
  }
  t = {buffer.buf, cpu.abi(), layout.rank, type.abi(), layout.shape, nullptr, 0};
  if (buffer.strides != nullptr) {
    t.strides = layout.strides;
    return to_elements(layout, buffer.itemsize);
  }
  return true;
}
}  // namespace detail

DLBRIDGE_API managed_tensor from_buffer(PyObject* exporter) noexcept {
  detail::buffer_owner owner;
  detail::byte_layout layout;
  DLTensor t;
  if (api<PyObject_GetBuffer>(exporter, &owner.view, PyBUF_FULL_RO) != 0 ||
      !detail::describe_buffer(owner.view, layout, t)) {
    return managed_tensor();
  }
  dlbridge::detail::flaw const flaw = dlbridge::detail::find_flaw(t);
  if (flaw != dlbridge::detail::flaw::none) {
    set_error(dlbridge::detail::explain(flaw, t));
    return managed_tensor();
  }
  managed_tensor tensor = dlbridge::detail::own_copied<detail::block_pool>(
      std::move(owner), t, owner.view.readonly != 0 ? flag_read_only : 0,
      {stated_major, stated_minor});
  if (!tensor) {
    api<PyErr_NoMemory>();
  }
  return tensor;
}

namespace detail {
// A tensor on the buffer of an array interface without an address: that of the object which `data`
// is, as Pillow's images have it, or that of the producer itself.
// @param offset the bytes from the begin of the buffer to the first element, an int or null.
// @param d the description without data and flags.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline managed_tensor from_interface_buffer(
    PyObject* exporter, PyObject* offset, description d) noexcept {
  std::int64_t start = 0;
  if (offset != nullptr && (!PyIndex_Check(offset) || !read_integer(offset, start) || start < 0)) {
    return refuse_interface(offset, "offset", "an integer of 0 and above");
  }
  buffer_owner memory;
  if (api<PyObject_GetBuffer>(exporter, &memory.view, PyBUF_FULL_RO) != 0) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      api<PyErr_Clear>();
      return refuse_interface(exporter, "data",
                              "(address, read-only), or an object with the buffer protocol");
    }
    return managed_tensor();
  }
  Py_buffer const& buffer = memory.view;
  auto const bytes = std::int64_t{element_bytes(d.type)};
  int const rank = d.shape.size();
  bool is_empty = false;
  for (int i = 0; i < rank; ++i) {
    is_empty = is_empty || d.shape.data()[i] == 0;
  }
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool const fits =
      start <= buffer.len && PyBuffer_IsContiguous(&buffer, 'C') != 0 &&
      (is_empty ||
       (try_reach(rank, d.shape.data(), d.strides.size() != 0 ? d.strides.data() : nullptr, low,
                  high) &&
        try_add(high, 1, high) && try_multiply(low, bytes, low) &&
        try_multiply(high, bytes, high) && low >= -start && high <= buffer.len - start));
  if (!fits) {
    return refuse_interface(exporter, "data", "a contiguous buffer in which all elements lie");
  }
  d.data = static_cast<char*>(buffer.buf) + start;
  d.flags |= buffer.readonly != 0 ? flag_read_only : 0;
  managed_tensor tensor;
  guarded([&] { tensor = build_on(std::move(memory), d); });
  return tensor;
}

// The items of an array interface. They are owned, as Python code runs while they are used. Empty:
// an item that is absent or None.
struct interface_items {
  ref shape, typestr, data, strides, mask, offset;
};

// The items of an interface, all of them empty if it is no dict. An exception may be set.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline interface_items read_interface_items(
    PyObject* described) noexcept {
  auto const item = [described](char const* key) {
    bool const reads = PyDict_Check(described) && PyErr_Occurred() == nullptr;
    ref const name = reads ? ref::steal(api<PyUnicode_FromString>(key)) : ref();
    ref value = name ? dict_item(described, name.get()) : ref();
    return value.get() == Py_None ? ref() : std::move(value);
  };
  return {item("shape"),   item("typestr"), item("data"),
          item("strides"), item("mask"),    item("offset")};
}

// Reads a dtype that ml_dtypes adds to NumPy, by its name: the typestr states its bytes alone. Its
// elements below 8 bits have a byte each.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool read_added_dtype(PyObject* array, char const* typestr,
                                                             std::int64_t bytes,
                                                             dtype& type) noexcept {
  ref const descr = optional_attribute(array, names::get().dtype);
  ref const name = descr ? optional_attribute(descr.get(), "name") : ref();
  char const* const text = name ? text_in(name.get()) : nullptr;
  return text != nullptr && read_byte_order(typestr, 2) && try_parse_dtype(text, type) &&
         bytes <= 4 && element_bytes(type) == bytes && find_format(type) == nullptr;
}

// Reads the dtype, the shape and the strides. False with an exception set on failure.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool describe_interface(PyObject* object,
                                                               interface_items const& items,
                                                               char const* typestr,
                                                               description& d) noexcept {
  std::int64_t item_bytes = 0;
  if (!try_read_typestr(typestr, item_bytes, d.type) &&
      !read_added_dtype(object, typestr, item_bytes, d.type)) {
    if (PyErr_Occurred() == nullptr) {
      refuse_format("a dtype of numbers in native byte order", typestr, object);
    }
    return false;
  }
  d.flags = is_sub_byte(d.type) ? flag_padded : 0;
  byte_layout layout;
  int stride_count = 0;
  bool is_shape = read_integers(items.shape.get(), layout.shape, layout.rank);
  for (int i = 0; is_shape && i < layout.rank; ++i) {
    is_shape = layout.shape[i] >= 0;
  }
  if (!is_shape) {
    refuse_interface(items.shape.get(), "shape", "up to 64 integers of 0 and above");
    return false;
  }
  if (!items.strides) {
    d.shape = dims::from(layout.shape, static_cast<std::size_t>(layout.rank));
    return true;
  }
  if (!read_integers(items.strides.get(), layout.strides, stride_count) ||
      stride_count != layout.rank) {
    refuse_interface(items.strides.get(), "strides", "as many integers of 64 bits as shape");
    return false;
  }
  if (!to_elements(layout, item_bytes)) {
    return false;
  }
  d.shape = dims::from(layout.shape, static_cast<std::size_t>(layout.rank));
  d.strides = dims::from(layout.strides, static_cast<std::size_t>(layout.rank));
  return true;
}

// A tensor on the address of an array interface.
// @param data the pair (address, read-only)
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline managed_tensor from_interface_address(
    PyObject* object, PyObject* data, description& d) noexcept {
  ref const address = ref::steal(api<PyNumber_Index>(detail::tuple_item(data, 0)));
  d.data = address ? api<PyLong_AsVoidPtr>(address.get()) : nullptr;
  int const read_only =
      PyErr_Occurred() == nullptr ? api<PyObject_IsTrue>(detail::tuple_item(data, 1)) : -1;
  if (read_only < 0) {
    return refuse_interface(data, "data", "(address, read-only)");
  }
  d.flags |= read_only != 0 ? flag_read_only : 0;
  return build_on_object(ref::borrow(object), d);
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor from_array_interface(PyObject* object,
                                                                   PyObject* described,
                                                                   device where) noexcept {
  detail::interface_items const items = detail::read_interface_items(described);
  if (PyErr_Occurred() != nullptr) {
    return managed_tensor();
  }
  char const* const typestr = items.typestr ? detail::text_in(items.typestr.get()) : nullptr;
  bool const has_address = items.data && PyTuple_Check(items.data.get());
  if (!items.shape || typestr == nullptr ||
      (has_address ? detail::tuple_size(items.data.get()) != 2 : where != cpu)) {
    return detail::refuse_interface(described, "the array interface",
                                    "a dict with shape, typestr, and data as (address, read-only)");
  }
  if (items.mask) {
    detail::refuse_value(items.mask.get(), "mask", "None, as DLPack carries no mask",
                         errc::layout_mismatch, "Fill the masked elements, and pass the result");
    return managed_tensor();
  }
  description d;
  d.device = where;
  if (!detail::describe_interface(object, items, typestr, d)) {
    return managed_tensor();
  }
  return has_address ? detail::from_interface_address(object, items.data.get(), d)
                     : detail::from_interface_buffer(items.data ? items.data.get() : object,
                                                     items.offset.get(), d);
}

namespace detail {
DLBRIDGE_API bool may_read_buffer(PyObject* object) noexcept {
  if (!type_attribute(Py_TYPE(object), names::get().array_interface)) {
    return true;
  }
  if (refuse_mask(type_cache::get(Py_TYPE(object)).known(), object)) {
    return false;
  }
  ref const described = optional_attribute(object, names::get().array_interface);
  ref const typestr = described ? read_interface_items(described.get()).typestr : ref();
  char const* const text = typestr ? text_in(typestr.get()) : nullptr;
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  bool const is_date = text != nullptr && text[0] != '\0' && (text[1] == 'M' || text[1] == 'm');
  if (is_date) {
    refuse_format("a dtype of numbers in native byte order", text, object);
  }
  return !is_date;
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor own_refused_ndarray(type_entry const& type,
                                                                  PyObject* object,
                                                                  bool copies) noexcept {
  ref refused = take_exception();
  if (!is_suppressible(refused.get()) || !exports_fields(type, object)) {
    set_exception(std::move(refused));
    return managed_tensor();
  }
  ref const array =
      copies ? ref::steal(api<PyObject_CallMethod>(object, "copy", nullptr)) : ref::borrow(object);
  ref const described =
      array ? optional_attribute(array.get(), names::get().array_interface) : ref();
  managed_tensor tensor =
      described ? from_array_interface(array.get(), described.get(), cpu) : managed_tensor();
  if (!tensor) {
    set_cause(refused.get());
  } else if (copies) {
    tensor.get_versioned()->flags |= flag_is_copied;
  }
  return tensor;
}
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE
