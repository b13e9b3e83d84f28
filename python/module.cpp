// dlbridge._core, the module behind the package: pybind11 creates it; the types and functions of
// the headers use Python's C API directly.
#include <dlbridge/python.hpp>
#include <dlbridge/runtime.hpp>

#include <pybind11/pybind11.h>

#include "demo_functions.hpp"

namespace py = pybind11;

namespace {

// Facts of a driver for the doctor tool: the library, its version and the names of its devices; or
// the reason why it cannot be used.
template <class Table>
py::dict describe_driver(Table const& driver, char const* name_function) {
  using name_of_device = dlbridge::driver_function<char*, int, int>;
  name_of_device const get_name(name_function, reinterpret_cast<name_of_device::pointer>(
                                                   driver.library().try_find(name_function)));
  int version = 0;
  int count = 0;
  static_cast<void>(try_call(driver, driver.driver_get_version, &version));
  static_cast<void>(try_call(driver, driver.device_get_count, &count));
  py::list devices;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    static_cast<void>(try_call(driver, get_name, name, 255, i));
    devices.append(name);
  }
  py::dict facts;
  facts["library"] = driver.library().name();
  facts["version"] = version;
  facts["devices"] = devices;
  return facts;
}
py::dict describe_driver(dlbridge::report const& why) {
  py::dict facts;
  facts["why"] = dlbridge::message(why).c_str();
  return facts;
}
py::dict drivers() {
  dlbridge::cuda_table const* const cuda = dlbridge::cuda();
  dlbridge::hip_table const* const hip = dlbridge::hip();
  py::dict result;
  result["cuda"] =
      cuda ? describe_driver(*cuda, "cuDeviceGetName") : describe_driver(dlbridge::cuda_status());
  result["rocm"] =
      hip ? describe_driver(*hip, "hipDeviceGetName") : describe_driver(dlbridge::hip_status());
  return result;
}

void add(char const* name, PyObject* object, py::module_& m) {
  if (object == nullptr) {
    throw py::error_already_set();
  }
  m.attr(name) = py::reinterpret_borrow<py::object>(object);
}

}  // namespace

// In the other order pybind11 3.1 does not compile with CPython 3.12 and later.
PYBIND11_MODULE(_core, m, py::mod_gil_not_used(), py::multiple_interpreters::not_supported()) {
  namespace dp = dlbridge::python;
  dlbridge::use_devices();
  m.doc() = "The compiled part of dlbridge.";
  if (PyModule_AddFunctions(m.ptr(), dp::module_functions()) != 0) {
    throw py::error_already_set();
  }
  add("Tensor", reinterpret_cast<PyObject*>(dp::full_tensor_type()), m);
  add("dtype", dp::text_types::get().dtype, m);
  add("device", dp::text_types::get().device, m);
  add("CopyForbiddenError", dp::copy_forbidden_error(), m);
  m.attr("__version__") =
      py::str("{}.{}.{}")
          .format(DLBRIDGE_VERSION_MAJOR, DLBRIDGE_VERSION_MINOR, DLBRIDGE_VERSION_PATCH);
  m.attr("DLPACK_VERSION") = py::make_tuple(dlbridge::stated_major, dlbridge::stated_minor);
  m.def("_drivers", &drivers,
        "Return the facts of the CUDA and ROCm drivers, or why each is missing.");
  demo::add_demo_functions(m);
}
