// from_pointer, empty: create a Tensor on memory whose address the caller has, and on new memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
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
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/pybind11/def.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

#include "core.hpp"
#include "docstrings.hpp"
#include "dtypes.hpp"
#include "tensor/import_functions.hpp"
#include "tensor/tensor_shapes.hpp"

namespace core DLBRIDGE_LOCAL {
namespace py = pybind11;

// Reads an address: an integer, a ctypes.c_void_p, or an object with __int__, such as an allocation
// of PyCUDA. This and the other functions throw, with ValueError set, for any other value.
inline void* pointer_in(PyObject* value) {
  std::int64_t address = 0;
  PyNumberMethods const* const numbers = Py_TYPE(value)->tp_as_number;
  bool const is_number = numbers != nullptr && numbers->nb_float != nullptr &&
                         numbers->nb_index == nullptr;  // such as a numpy.float32 or a Decimal
  bool const is_address = !is_number && !PyBool_Check(value) && read_address(value, address) &&
                          address >= 0 && static_cast<std::uint64_t>(address) <= UINTPTR_MAX;
  require(is_address ||
          refuse_value(value, "ptr",
                       "an address: an integer from 0 to 2**63 - 1, or an object with "
                       "__index__ or __int__",
                       errc::bad_argument,
                       PyObject_CheckBuffer(value)
                           ? "as_tensor() takes a buffer, and ctypes.cast(p, ctypes.c_void_p) "
                             "makes an address of a ctypes pointer"
                           : nullptr));
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// Reads extents: an integer, or a sequence of them.
inline dims shape_in(PyObject* value) {
  std::int64_t shape[max_rank];
  int rank = 1;
  bool const is_number = PyIndex_Check(value) != 0 && !is_sized_sequence(value);
  bool const is_read =
      PyErr_Occurred() == nullptr &&
      (is_number ? read_integer(value, shape[0]) : read_integers(value, shape, rank));
  require((is_read && std::all_of(shape, shape + rank, [](auto each) { return each >= 0; })) ||
          refuse_value(value, "shape",
                       "an integer from 0 to 2**63 - 1, or a sequence of at most 64 of them"));
  return dims::from(shape, static_cast<std::size_t>(rank));
}

// Reads strides, None for row-major.
inline dims strides_in(PyObject* value, int rank) {
  std::int64_t strides[max_rank];
  int count = 0;
  require(value == Py_None || (read_integers(value, strides, count) && count == rank) ||
          refuse_value(value, "strides", "None, or one integer for each dimension, in elements"));
  return dims::from(strides, static_cast<std::size_t>(count));
}

// Reads True or False.
inline bool bool_in(PyObject* value, char const* name) {
  require(PyBool_Check(value) || refuse_value(value, name, "True or False"));
  return value == Py_True;
}

// Reads dtype= into a description.
inline void read_element(PyObject* value, description& d) {
  require(read_dtype(value, d.type));
  d.flags |= has_padded_elements(value, d.type) ? flag_padded : 0;
  require(PyErr_Occurred() == nullptr);
}

[[noreturn]] DLBRIDGE_COLD inline void refuse_memory(report const& why, char const* advice) {
  fail(refusal(errc::bad_argument, why.expected.c_str(), why.got.c_str(), advice), "from_pointer");
}

// Checks what a caller states of memory. Throws, with ValueError set, if the memory cannot be as
// stated: elements at null or beyond the address space, an address that is not aligned for the
// dtype, or memory of another device, as its driver reports.
DLBRIDGE_COLD inline void check_memory(description const& d) {
  std::int64_t shape[max_rank];
  std::int64_t strides[max_rank];
  DLTensor t{};
  dlbridge::detail::write_tensor(d, shape, strides, t);
  report why = check_tensor(t);
  if (!why.ok()) {
    refuse_memory(why, "Correct the pointer, the shape or the strides");
  }
  tensor_view const view(t, d.flags);
  if (!is_aligned(view, d.type)) {
    why = refusal(errc::misaligned, "a multiple of ", name_of(view).c_str());
    why.expected.append_unsigned(scalar_alignment(d.type)).append(" as the address");
    dlbridge::detail::append_alignment(
        why.got, dlbridge::detail::position_of(view) & (0 - dlbridge::detail::position_of(view)));
    refuse_memory(why, "Copy the elements to aligned memory");
  }
  auto* const locate = device_operations::get().located;
  device const where = locate != nullptr ? locate(view) : d.device;
  if (!is_on_device(where, d.device)) {
    why = refusal(errc::device_mismatch, "", "");
    append_name(why.expected.append("memory on "), d.device);
    append_name(why.got.append("memory on "), where);
    refuse_memory(why, "Pass device= as the driver of the memory reports it");
  }
}

// A new object for pybind11.
inline py::object taken(ref created) {
  return py::reinterpret_steal<py::object>(created.release());
}

inline py::object from_pointer(py::handle ptr, py::handle shape, py::handle type,
                               py::handle strides, py::handle where, py::handle stream,
                               py::handle owner, py::handle readonly) {
  import_arguments arguments;
  arguments.request.stream = stream.ptr();
  arguments.producer = Py_None;
  description d;
  if (!where.is_none()) {
    read_target(where.ptr(), d.device);
  }
  d.data = pointer_in(ptr.ptr());
  d.shape = shape_in(shape.ptr());
  read_element(type.ptr(), d);
  d.strides = strides_in(strides.ptr(), d.shape.size());
  d.flags |= bool_in(readonly.ptr(), "readonly") ? flag_read_only : 0;
  check_memory(d);
  PyObject* queue = nullptr;  // wrap_imported keeps it
  require(runtime_of_memory(d.device) == runtime_kind::none
              ? read_queue(stream.ptr(), d.device, queue)
              : stream.is_none() ||
                    choose_stream(stream.ptr(), stream_device(d.device), arguments.ready));
  return taken(wrap_imported(build_on_object(ref::borrow(owner.ptr()), d), arguments));
}

// A tensor in new memory of a device. Throws.
inline managed_tensor allocate_on(description const& d) {
  auto* const allocate = device_operations::get().allocate;
  if (allocate == nullptr) {
    raise(no_device_operations(d.device));
  }
  if (runtime_of_memory(d.device) == runtime_kind::none) {
    raise(refusal(errc::runtime_missing, "a device of CUDA or ROCm", name_of(d.device).c_str(),
                  "Allocate with a library of the device, and pass the array to from_dlpack()"));
  }
  return allocate(d);
}

// A tensor in pinned memory of the first runtime that has a driver. Throws.
inline managed_tensor allocate_pinned(description d) {
  d.device = device(kDLCUDAHost, 0);
  if (check_move(d.device, d.device).has(errc::runtime_missing)) {
    device const of_rocm(kDLROCMHost, 0);
    bool const has_rocm = !check_move(of_rocm, of_rocm).has(errc::runtime_missing);
    d.device = has_rocm ? of_rocm : d.device;
  }
  return allocate_on(d);
}

inline py::object empty(py::handle shape, py::handle type, py::handle where, py::handle pinned) {
  description d;
  if (!where.is_none()) {
    read_target(where.ptr(), d.device);
  }
  d.shape = shape_in(shape.ptr());
  read_element(type.ptr(), d);
  bool const is_pinned = bool_in(pinned.ptr(), "pinned");
  std::int64_t count = 0;
  std::int64_t bits = 0;
  require((try_count(d.shape.size(), d.shape.data(), count) &&
           try_multiply(count, element_bytes(d.type) * 8, bits)) ||
          refuse_value(shape.ptr(), "shape", "one whose size in bits fits 64 bits"));
  require(!is_pinned || d.device.type == kDLCPU ||
          refuse_value(where.ptr(), "device",
                       "'cpu' with pinned=True: pinned memory is memory of the host"));
  bool const is_padded = d.flags != 0;
  dtype const element = std::exchange(d.type, is_padded ? dtype_of<std::uint8_t>() : d.type);
  managed_tensor tensor;
  require(guarded(
      [&] {
        tensor = is_pinned                 ? allocate_pinned(d)
                 : d.device.type == kDLCPU ? build_empty(d.type, d.shape)
                                           : allocate_on(d);
      },
      "empty"));
  if (is_padded) {  // the struct is dlbridge's own
    tensor.get_versioned()->dl_tensor.dtype = element.abi();
    tensor.get_versioned()->flags |= flag_padded;
  }
  return taken(wrap_imported(std::move(tensor), import_arguments()));
}

inline void bind_constructors(py::module_& m) {
  dlbridge::def(m, "from_pointer", &from_pointer, py::arg("ptr"), py::arg("shape"),
                py::arg("dtype"), py::kw_only(), py::arg("strides") = py::none(),
                py::arg("device") = py::none(), py::arg("stream") = py::none(),
                py::arg("owner") = py::none(), py::arg("readonly") = false, doc_of("from_pointer"));
  dlbridge::def(m, "empty", &empty, py::arg("shape"), py::arg("dtype"), py::kw_only(),
                py::arg("device") = py::none(), py::arg("pinned") = false, doc_of("empty"));
}
}  // namespace core DLBRIDGE_LOCAL
