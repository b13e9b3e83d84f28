// class_operations, shares: the methods and the exchange table that make a class of a binding
// library a DLPack producer, by means of its array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Option of def_dlpack for a class with operators of its own: sets `__array_ufunc__` to None. The
/// arrays and scalars of NumPy then leave `a + x` and `a == x` to the class; ufuncs refuse x.
struct no_ufuncs {};

namespace python::detail {
// The TypeError of an object of a bound class whose __init__ was not called.
constexpr char const* not_initialized =
    "expected an initialized object; __init__ of its class was not called";

template <class... Options>
struct export_options : Options... {
  static constexpr bool refuses_ufuncs = (std::is_same_v<Options, no_ufuncs> || ...);
};

// The Operations of type_exchange_table, and the methods, of a class.
// Library: get<T>(object) returns the T of an object; make<T>(value), if makes_objects, an object
// with a T; and translate() sets the Python exception of the C++ exception of the current catch
// block
// Options: export_options
template <class Library, class T, class Options>
struct class_operations {
  static constexpr bool refuses_ufuncs = Options::refuses_ufuncs;

  static description describe_object(PyObject* self) {
    return dlbridge::describe(Library::template get<T>(self));
  }
  static stream_ref ready_on(PyObject* self, device where);
  static managed_tensor own(PyObject* self, description const& d,
                            struct_kind kind = struct_kind::versioned,
                            read_only_policy policy = read_only_policy::refuse);
  static managed_tensor export_tensor(PyObject* self) {
    return own(self, describe_for_table(self));
  }

  static PyObject* give_tensor(managed_tensor& m);
  // An object of the class; as init states, or a Tensor, where nothing makes one of an array.
  static PyObject* make_object(managed_tensor m);

  static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* keywords) noexcept;

  static PyObject* dlpack_device(PyObject* self, PyObject*) noexcept;

 private:
  static void prepare(PyObject* self) { dlbridge::prepare(Library::template get<T>(self)); }

  // The table's caller orders its work after the stream that current_work_stream returns, the
  // default stream here; that stream must therefore wait for the array's (spec 5.3).
  static description describe_for_table(PyObject* self);

  // Describes an array for its export, on the device for which the request was read and the streams
  // were ordered. Python code may have run since the array was first described, in the arguments or
  // in a thread that received the GIL, and may have moved the elements.
  static description describe_again(PyObject* self, device where);

  template <class F>
  static void translated(F&& f) noexcept;
};
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/class_operations.inl>
