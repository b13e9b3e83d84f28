// SPDX-License-Identifier: BSD-3-Clause
// The Python module of the library, for the tests. It uses pybind11 only.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "dlpack.hpp"

namespace py = pybind11;

namespace {

constexpr char const* fresh = "dltensor_versioned";

py::capsule to_capsule(nd::array const& a, bool after) {
  auto* const exported = after ? nd::after::to_dlpack(a) : nd::before::to_dlpack(a);
  return py::capsule(exported, fresh, [](PyObject* self) {
    if (PyCapsule_IsValid(self, fresh) != 0) {  // not consumed
      auto* const tensor =
          static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(self, fresh));
      tensor->deleter(tensor);
    }
  });
}

template <class Managed>
nd::array taken(Managed* tensor, py::capsule const& capsule, char const* used, bool after) {
  PyCapsule_SetName(capsule.ptr(), used);
  return after ? nd::after::from_dlpack(tensor) : nd::before::from_dlpack(tensor);
}

nd::array from_capsule(py::capsule const& capsule, bool after) {
  if (std::strcmp(capsule.name(), fresh) == 0) {
    return taken(capsule.get_pointer<DLManagedTensorVersioned>(), capsule,
                 "used_dltensor_versioned", after);
  }
  return taken(capsule.get_pointer<DLManagedTensor>(), capsule, "used_dltensor", after);
}

}  // namespace

PYBIND11_MODULE(library, m) {
  py::class_<nd::array>(m, "Array")
      .def_property_readonly("writable", &nd::array::writable)
      .def_property_readonly("owners", [](nd::array& a) { return a.memory().use_count(); })
      .def_property_readonly(
          "address", [](nd::array& a) { return reinterpret_cast<std::uintptr_t>(a.data()); })
      .def("transposed", &nd::array::transposed)
      .def("reversed", &nd::array::reversed)
      .def("read_only", &nd::array::read_only);
  m.def("zeros", [](nd::sizes shape, int type) {
    return nd::array::zeros(std::move(shape), static_cast<nd::dtype>(type));
  });
  m.def("field_of_records", nd::array::field_of_records);
  m.def("to_capsule", to_capsule);
  m.def("from_capsule", from_capsule);
}
