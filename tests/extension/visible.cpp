// SPDX-License-Identifier: BSD-3-Clause
// The classes of visible.hpp, with buffers and with an __array__ of their author, and one that
// Python's C API defines.
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "library_casters.hpp"
#include "registration.hpp"
#include "visible.hpp"

namespace {
// A class of Python's C API.
struct plain_samples {
  PyObject_HEAD visible::shared_samples value;
};
visible::shared_samples& samples_of(PyObject* self) {
  return reinterpret_cast<plain_samples*>(self)->value;
}
PyObject* make_samples(PyTypeObject* type, PyObject* args, PyObject*) {
  Py_ssize_t count = 0;
  PyObject* const self =
      PyArg_ParseTuple(args, "n", &count) != 0 ? PyType_GenericAlloc(type, 0) : nullptr;
  if (self != nullptr) {
    new (&samples_of(self)) visible::shared_samples(static_cast<std::size_t>(count));
  }
  return self;
}
void free_samples(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  samples_of(self).~shared_samples();
  PyObject_Free(self);
  Py_DECREF(type);
}
PyObject* clear_samples(PyObject* self, PyObject*) {
  samples_of(self).clear();
  Py_RETURN_NONE;
}

py::object make_c_class() {
  static PyMethodDef methods[] = {{"clear", &clear_samples, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_samples)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&free_samples)},
                                {Py_tp_methods, methods},
                                dlbridge::python::buffer_slot(),
                                {0, nullptr}};
  static PyType_Spec spec = {"extension.visible.CSamples", sizeof(plain_samples), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) {
    throw py::error_already_set();
  }
  dlbridge::python::def_dlpack<&samples_of>(reinterpret_cast<PyTypeObject*>(type.ptr()),
                                            dlbridge::shares<&visible::shared_samples::block>());
  return type;
}

template <class T, class... Tags>
py::class_<T> bind(py::module_& m, char const* name, Tags const&... tags) {
  py::class_<T> bound(m, name, tags...);
  bound.def(py::init<std::size_t>(), py::arg("count"));
  visible::add_methods<T>(bound);
  return bound;
}

// What the author of a class adds: a buffer, and __array__.
#if defined(WITH_NANOBIND)
int refuse_buffer(PyObject*, Py_buffer* out, int) {
  out->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, "the author's");
  return -1;
}
nb::type_slots buffer_of_author() {
  static PyType_Slot const slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&refuse_buffer)},
                                      {0, nullptr}};
  return nb::type_slots(slots);
}
template <class Class>
void add_buffer_of_author(Class&) {}
#else
py::buffer_protocol buffer_of_author() { return {}; }
template <class Class>
void add_buffer_of_author(Class& bound) {
  bound.def_buffer([](visible::samples& x) {
    return py::buffer_info(x.values.data(), static_cast<py::ssize_t>(x.values.size()), true);
  });
}
#endif
template <class Class>
void add_array_of_author(Class& bound) {
  bound.def("__array__", [](py::object const&, py::args const&, py::kwargs const&) {
    return py::import_module("numpy").attr("full")(2, "the author's");
  });
}
}  // namespace

void add_visible(py::module_& parent) {
  using namespace visible;
  py::module_ m = parent.def_submodule("visible");
  dlbridge::init(m);
#if defined(WITH_NANOBIND)
  // [buffer]
  static PyType_Slot const slots[] = {dlbridge::python::buffer_slot(), {0, nullptr}};
  nb::type_slots const buffers(slots);
  auto grows = bind<samples>(m, "Samples", buffers);
  dlbridge::def_dlpack(grows);
  // [/buffer]
#else
  auto grows = bind<samples>(m, "Samples", py::buffer_protocol());
  dlbridge::def_dlpack(grows);
#endif
  auto shared = bind<shared_samples>(m, "SharedSamples", py::buffer_protocol());
  dlbridge::def_dlpack(shared, dlbridge::shares<>());
  // [shares]
  auto owned = bind<owned_samples>(m, "OwnedSamples", py::buffer_protocol());
  dlbridge::def_dlpack(owned, dlbridge::shares<&owned_samples::block>());
  // [/shares]
  py::class_<foreign_samples> foreign(m, "ForeignSamples");
  foreign.def(py::init<std::size_t>());
  dlbridge::def_dlpack(foreign, dlbridge::shares<&foreign_samples::owner>());
  auto copied = bind<copied_samples>(m, "CopiedSamples");
  dlbridge::def_dlpack(copied, dlbridge::shares<>());

  py::class_<raw> of_any_dtype(m, "Raw", py::buffer_protocol());
  of_any_dtype.def(py::init<int, int, std::uintptr_t, std::vector<std::int64_t>, int>());
  dlbridge::def_dlpack(of_any_dtype);

  py::class_<operands> mathematics(m, "Operands");
  mathematics.def(py::init<std::vector<double>>());
  add_operators<operands>(mathematics);
  dlbridge::def_dlpack(mathematics);
  py::class_<own_operands> own(m, "OwnOperands");
  own.def(py::init<std::vector<double>>());
  add_operators<own_operands>(own);
  dlbridge::def_dlpack(own, dlbridge::no_ufuncs());

  // What the author adds before and after.
  auto without_tag = bind<other_samples<0>>(m, "WithoutBuffer");
  dlbridge::def_dlpack(without_tag);
  auto before = bind<other_samples<1>>(m, "WithOwnBefore", buffer_of_author());
  add_array_of_author(before);
  add_buffer_of_author(before);
  dlbridge::def_dlpack(before);
  auto after = bind<other_samples<2>>(m, "WithOwnAfter", buffer_of_author());
  dlbridge::def_dlpack(after);
  add_array_of_author(after);
  add_buffer_of_author(after);
  py::class_<other_samples<3>, samples> derived(m, "Derived");
  derived.def(py::init<std::size_t>());
  dlbridge::def_dlpack(derived);
  m.def("c_class", [type = make_c_class()] { return type; });
}
