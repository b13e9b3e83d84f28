// dlbridge::def_dlpack: makes a class that pybind11 binds a DLPack producer, by means of its
// array_traits.
// layer: bindings · from a C++ array to every consumer
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/export/exchange_table.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/thread_exit.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/validate.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
template <class T, class = void>
constexpr bool can_adopt = false;
template <class T>
constexpr bool
    can_adopt<T, std::void_t<decltype(array_traits<T>::adopt(std::declval<managed_tensor>()))>> =
        true;

// The Operations of type_exchange_table, and the methods, of a class that pybind11 binds.
template <class T>
struct class_operations {
  static description describe_object(PyObject* self) {
    return dlbridge::describe(py::cast<T&>(py::handle(self)));
  }
  static stream_ref ready_on(PyObject* self, device where) {
    return dlbridge::ready_on(py::cast<T&>(py::handle(self)), where);
  }
  static managed_tensor own(PyObject* self, description const& d) {
    return build_on(object_owner(ref::borrow(self)), d, struct_kind::versioned);
  }
  static managed_tensor export_tensor(PyObject* self) {
    return own(self, describe_for_table(self));
  }

  static void lend(PyObject* self, DLTensor& out) {
    description const d = describe_for_table(self);
    if ((d.flags & flag_read_only) != 0) {
      refuse_lending_read_only();
    }
    lent_dims& extents = lent_dims::next();
    dlbridge::detail::write_tensor(d, extents.shape, extents.strides, out);
    report const why = check_tensor(out);
    if (!why.ok()) {
      raise(why);
    }
    dlbridge::detail::canonicalize_data(out);
  }

  static PyObject* import_tensor(managed_tensor& m) {
    if constexpr (can_adopt<T>) {
      // If this function throws, its caller still owns m; but adopt may have freed its tensor by
      // then. adopt therefore receives a second tensor that shares the ownership of m.
      auto const original = std::make_shared<managed_tensor>(std::move(m));
      try {
        return dlbridge::detail::call_guarded([&] {
          auto owner = original;
          return py::cast(adopt_as<T>(build_on(std::move(owner), dlbridge::describe(*original))))
              .release()
              .ptr();
        });
      } catch (...) {
        m = std::move(*original);
        throw;
      }
    } else {
      raise(refusal(errc::bad_argument, "a class that can adopt a tensor",
                    "one without array_traits<T>::adopt"));
    }
  }

  static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* keywords) noexcept {
    ref capsule;
    translated([&] {
      description const d = describe_object(self);
      stream_ref const ready = ready_on(self, d.device);
      export_request request;
      if (!read_export_request(args, count, keywords, d.device, request)) {
        return;
      }
      bool const can_share = request.copy != copy_policy::always && request.target == d.device;
      if (can_share) {
        order_export(request, ready);
        capsule = wrap_capsule(
            build_on(object_owner(ref::borrow(self)), d, request.kind, request.read_only));
      } else {
        shared_tensor const shared(own(self, d));
        capsule = produce(shared, shared.get().view(), ready, request);
      }
    });
    return capsule.release();
  }

  static PyObject* dlpack_device(PyObject* self, PyObject*) noexcept {
    ref pair;
    translated([&] { pair = device_pair(describe_object(self).device); });
    return pair.release();
  }

 private:
  // The table's caller orders its work after the stream that current_work_stream returns, the
  // default stream here; that stream must therefore wait for the array's (spec 5.3).
  static description describe_for_table(PyObject* self) {
    description const d = describe_object(self);
    python::order_after(stream_ref::default_of(d.device), ready_on(self, d.device));
    return d;
  }

  template <class F>
  static void translated(F&& f) noexcept {
    try {
      dlbridge::detail::call_guarded(f);
    } catch (...) {
      pybind11_translator::translate();
    }
  }
};
}  // namespace detail
}  // namespace python

/// Makes a class with array_traits a DLPack producer: adds __dlpack__, __dlpack_device__ and the
/// exchange table.
/// @param bound_class the class
/// @throws pybind11::error_already_set when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists.
template <class T, class... Options>
DLBRIDGE_LOCAL void def_dlpack(pybind11::class_<T, Options...>& bound_class) {
  using operations = python::detail::class_operations<T>;
  static PyMethodDef methods[] = {
      // the docstrings have pybind11's form, which stub generators read
      {"__dlpack__",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&operations::dlpack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, "
       "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any\n\n"
       "A capsule with the array's memory, which keeps the array alive."},
      {"__dlpack_device__", &operations::dlpack_device, METH_NOARGS,
       "__dlpack_device__(self) -> tuple[int, int]\n\nThe device of the memory, (type, id)."}};
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  for (PyMethodDef& each : methods) {
    bound_class.attr(each.ml_name) =
        python::detail::checked(python::ref::steal(python::api<PyDescr_NewMethod>(type, &each)));
  }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  if (!python::add_exchange_table<operations>(type)) {
    throw pybind11::error_already_set();
  }
#endif
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
