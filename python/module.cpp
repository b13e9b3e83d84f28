// SPDX-License-Identifier: BSD-3-Clause
// dlbridge._core, the module behind the package. Its types and functions are those of the headers,
// which use Python's C API directly.
#include <dlbridge/python.hpp>
#include <dlbridge/python/tensor/full_tensor_type.hpp>
#include <dlbridge/python/tensor/functions.hpp>
#include <dlbridge/python/tensor/text_types.hpp>
#include <dlbridge/runtime.hpp>

#include <cstring>
#include <utility>

#include "demo_functions.hpp"

namespace {
namespace dp = dlbridge::python;

// The names of the devices of a driver, as a list.
template <class Table>
dp::ref device_names(Table const& driver, char const* name_function) {
  using name_of_device = dlbridge::driver_function<char*, int, int>;
  name_of_device const get_name(name_function, reinterpret_cast<name_of_device::pointer>(
                                                   driver.library().try_find(name_function)));
  int count = 0;
  static_cast<void>(try_call(driver, driver.device_get_count, &count));
  dp::ref names = dp::ref::steal(dp::api<PyList_New>(0));
  for (int i = 0; names && i < count; ++i) {
    char text[256] = "";
    static_cast<void>(try_call(driver, get_name, text, 255, i));
    dp::ref const name = dp::ref::steal(
        dp::api<PyUnicode_DecodeUTF8>(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
    if (!name || dp::api<PyList_Append>(names.get(), name.get()) != 0) {
      return dp::ref();
    }
  }
  return names;
}

// Facts of a driver for the doctor tool: the library, its version and the names of its devices; or
// the reason why it cannot be used.
template <class Table>
DLBRIDGE_COLD dp::ref describe_driver(Table const* driver, dlbridge::report const& why,
                                      char const* name_function) {
  if (driver == nullptr) {
    return dp::ref::steal(dp::api<Py_BuildValue>("{ss}", "why", dlbridge::message(why).c_str()));
  }
  int version = 0;
  static_cast<void>(try_call(*driver, driver->driver_get_version, &version));
  dp::ref devices = device_names(*driver, name_function);
  return devices ? dp::ref::steal(dp::api<Py_BuildValue>("{ss,si,sN}", "library",
                                                         driver->library().name(), "version",
                                                         version, "devices", devices.release()))
                 : dp::ref();
}

// _drivers()
PyObject* drivers(PyObject*, PyObject*) noexcept {
  dp::ref result;
  dp::guarded([&] {
    dp::ref cuda = describe_driver(dlbridge::cuda(), dlbridge::cuda_status(), "cuDeviceGetName");
    dp::ref rocm =
        cuda ? describe_driver(dlbridge::hip(), dlbridge::hip_status(), "hipDeviceGetName")
             : dp::ref();
    if (rocm) {
      result = dp::ref::steal(
          dp::api<Py_BuildValue>("{sN,sN}", "cuda", cuda.release(), "rocm", rocm.release()));
    }
  });
  return result.release();
}

PyMethodDef own_functions[] = {
    {"_drivers", &drivers, METH_NOARGS,
     "Return the facts of the CUDA and ROCm drivers, or why each is missing."},
    {"_vector", &demo::make_vector, METH_VARARGS,
     "Return a Tensor on a C++ std::vector<float>; on_free is called when the vector is freed."},
    {nullptr, nullptr, 0, nullptr}};

bool add(PyObject* module, char const* name, dp::ref object) {
  if (!object || PyModule_AddObject(module, name, object.get()) != 0) {
    return false;
  }
  static_cast<void>(object.release());  // the module owns it now
  return true;
}

DLBRIDGE_COLD int fill(PyObject* module) {
  dlbridge::use_devices();
  dp::device_operations::get().copy_host = [](dlbridge::tensor_view const& source,
                                              dlbridge::struct_kind kind) {
    return dp::detail::copy_without_gil(source, dlbridge::layout::row_major, kind);
  };
  dp::ref version = dp::ref::steal(PyUnicode_FromFormat(
      "%d.%d.%d", DLBRIDGE_VERSION_MAJOR, DLBRIDGE_VERSION_MINOR, DLBRIDGE_VERSION_PATCH));
  dp::ref dlpack =
      dp::ref::steal(Py_BuildValue("(II)", dlbridge::stated_major, dlbridge::stated_minor));
  bool const filled =
      PyModule_AddFunctions(module, dp::module_functions()) == 0 &&
      PyModule_AddFunctions(module, own_functions) == 0 &&
      add(module, "Tensor", dp::ref::borrow(reinterpret_cast<PyObject*>(dp::full_tensor_type()))) &&
      add(module, "dtype", dp::ref::borrow(dp::text_types::get().dtype)) &&
      add(module, "device", dp::ref::borrow(dp::text_types::get().device)) &&
      add(module, "CopyForbiddenError", dp::ref::borrow(dp::copy_forbidden_error())) &&
      add(module, "__version__", std::move(version)) &&
      add(module, "DLPACK_VERSION", std::move(dlpack));
  return filled ? 0 : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&fill)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr}};
PyModuleDef definition{PyModuleDef_HEAD_INIT,
                       "_core",
                       "The compiled module of dlbridge.",
                       0,
                       nullptr,
                       slots,
                       nullptr,
                       nullptr,
                       nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&definition); }
