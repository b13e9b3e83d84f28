// SPDX-License-Identifier: BSD-3-Clause
// The extension with Python's C API alone.
#include <new>
#include <utility>

#include "signal.hpp"

namespace {

namespace dp = dlbridge::python;

struct track_object {
  PyObject_HEAD signal_core::track value;
};

signal_core::track& track_of(PyObject* self) {
  return reinterpret_cast<track_object*>(self)->value;
}

PyObject* new_track(PyTypeObject* type, PyObject* args, PyObject*) noexcept {
  Py_ssize_t count = 0;
  if (PyArg_ParseTuple(args, "n", &count) == 0) {
    return nullptr;
  }
  try {
    signal_core::track value(static_cast<std::size_t>(count));
    PyObject* const self = PyType_GenericAlloc(type, 0);
    if (self != nullptr) {
      new (&track_of(self)) signal_core::track(std::move(value));
    }
    return self;
  } catch (...) {
    dp::set_standard_error_thrown();
    return nullptr;
  }
}

// [type]
void free_track(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  track_of(self).~track();
  PyObject_Free(self);  // as the type has neither subclasses nor a garbage collector
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

int add_track(PyObject* m) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&new_track)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&free_track)},
                         dp::buffer_slot(),  // memoryview(track)
                         {0, nullptr}};
  PyType_Spec spec = {"one_binary.plain.Track", sizeof(track_object), 0, Py_TPFLAGS_DEFAULT, slots};
  dp::ref const type = dp::ref::steal(PyType_FromSpec(&spec));
  if (!type) {
    return -1;
  }
  dp::def_dlpack<&track_of>(reinterpret_cast<PyTypeObject*>(type.get()));
  return PyObject_SetAttrString(m, "Track", type.get());
}
// [/type]

int add_all(PyObject* m) noexcept {
  try {
    dp::def_fast<&signal_core::smooth>(m, "smooth", {"x"});
    dp::def_fast<&signal_core::scale>(m, "scale", {"x", "factor"});
    return add_track(m);
  } catch (...) {
    dp::set_error_thrown();
    return -1;
  }
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&add_all)},
#if defined(Py_GIL_DISABLED)
                            {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                            {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "plain", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_plain() { return PyModuleDef_Init(&definition); }
