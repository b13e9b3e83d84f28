// An array of an inference library in Python, by NumPy's array interface.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "../storage.hpp"

namespace py = pybind11;
using inference::element;
using inference::storage;

namespace {

struct entry {
  element type;
  char const* text;
};
constexpr entry table[] = {{element::float32, "<f4"},
                           {element::float16, "<f2"},
                           {element::int8, "|i1"},
                           {element::int16, "<i2"},
                           {element::int32, "<i4"}};

storage from_array(py::object const& array) {
  if (!py::hasattr(array, "__array_interface__")) {
    throw std::invalid_argument("the object has no array interface");
  }
  py::dict const interface = array.attr("__array_interface__");
  if (interface.contains("strides") && !py::object(interface["strides"]).is_none()) {
    throw std::invalid_argument("the array is not contiguous");
  }
  auto const data = interface["data"].cast<py::tuple>();
  if (data[1].cast<bool>()) {
    throw std::invalid_argument("the array is read-only");
  }
  auto const text = interface["typestr"].cast<std::string>();
  for (entry const& each : table) {
    if (text == each.text) {
      return {each.type, interface["shape"].cast<std::vector<std::int64_t>>(),
              reinterpret_cast<void*>(data[0].cast<std::uintptr_t>()), nullptr};
    }
  }
  throw std::invalid_argument("unsupported dtype: " + text);
}

py::dict array_interface(storage const& s) {
  for (entry const& each : table) {
    if (s.type == each.type) {
      py::dict result;
      result["version"] = 3;
      result["shape"] = py::tuple(py::cast(s.shape));
      result["typestr"] = each.text;
      result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(s.data), false);
      return result;
    }
  }
  throw std::runtime_error("the array interface has no such dtype: convert to float32");
}

}  // namespace

PYBIND11_MODULE(storage_before, m) {
  py::enum_<element>(m, "DataType", py::module_local())
      .value("float32", element::float32)
      .value("float16", element::float16)
      .value("bfloat16", element::bfloat16)
      .value("int8", element::int8)
      .value("int16", element::int16)
      .value("int32", element::int32);
  py::class_<storage>(m, "StorageView", py::module_local())
      .def_static("from_array", &from_array, py::arg("array"), py::keep_alive<0, 1>())
      .def_property_readonly("dtype", [](storage const& s) { return s.type; })
      .def_property_readonly("shape", [](storage const& s) { return s.shape; })
      .def_property_readonly("__array_interface__", &array_interface)
      .def("to", &storage::to, py::arg("dtype"), py::call_guard<py::gil_scoped_release>());
}
