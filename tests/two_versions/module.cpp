// One extension module; built from two versions of the headers, under two visibilities.
#include <dlbridge/python.hpp>

#include <pybind11/pybind11.h>

#include <vector>

namespace py = pybind11;

PYBIND11_MODULE(MODULE_NAME, m) {
  namespace dp = dlbridge::python;
  if (PyModule_AddFunctions(m.ptr(), dp::module_functions()) != 0) {
    throw py::error_already_set();
  }
  m.attr("Tensor") =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(dp::tensor_type()));
  m.attr("minor") = DLBRIDGE_VERSION_MINOR;
  m.def("vector", [](std::vector<float>::size_type size) {
    return py::reinterpret_steal<py::object>(
        dp::wrap_tensor(dlbridge::build(std::vector<float>(size, 1.0F))).release());
  });
  m.def("refuse", [] {
    try {
      dlbridge::raise(dlbridge::refusal(dlbridge::errc::overflow, "less", "more"));
    } catch (dlbridge::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  });
}
