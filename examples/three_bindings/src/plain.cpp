// SPDX-License-Identifier: BSD-3-Clause
// The extension with Python's C API alone.
#include <new>
#include <utility>

#include "filters.hpp"

namespace {

namespace dp = dlbridge::python;

// [plain]
// One function of one tensor, as a PyMethodDef holds it.
PyObject* luma(PyObject*, PyObject* object) noexcept {
  dp::tensor_argument<filters::image> image;
  if (image.load(object) == dp::load_result::refused) {
    dp::refusals reasons;
    reasons.add_if_refused(image, "image", 1);
    reasons.set_error("luma");
    return nullptr;
  }
  try {
    return filters::luma(image.extract()).give().release();
  } catch (...) {
    dp::set_error_thrown("luma");
    return nullptr;
  }
}
// [/plain]

// [plain_class]
struct canvas_object {
  PyObject_HEAD filters::canvas value;
};

filters::canvas& canvas_of(PyObject* self) { return reinterpret_cast<canvas_object*>(self)->value; }

PyObject* new_canvas(PyTypeObject* type, PyObject* args, PyObject*) noexcept {
  Py_ssize_t rows = 0;
  Py_ssize_t columns = 0;
  if (PyArg_ParseTuple(args, "nn", &rows, &columns) == 0) {
    return nullptr;
  }
  try {
    filters::canvas value(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    PyObject* const self = type->tp_alloc(type, 0);
    if (self != nullptr) {
      new (&canvas_of(self)) filters::canvas(std::move(value));
    }
    return self;
  } catch (...) {
    dp::set_standard_error_thrown();
    return nullptr;
  }
}

void free_canvas(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  canvas_of(self).~canvas();
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot canvas_slots[] = {{Py_tp_new, reinterpret_cast<void*>(&new_canvas)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(&free_canvas)},
                              {0, nullptr}};
PyType_Spec canvas_spec = {"three_bindings.plain.Canvas", sizeof(canvas_object), 0,
                           Py_TPFLAGS_DEFAULT, canvas_slots};

int add_canvas(PyObject* m) {
  dp::ref const type = dp::ref::steal(PyType_FromSpec(&canvas_spec));
  if (!type) {
    return -1;
  }
  dp::def_dlpack<&canvas_of>(reinterpret_cast<PyTypeObject*>(type.get()));
  return PyObject_SetAttrString(m, "Canvas", type.get());
}
// [/plain_class]

PyMethodDef methods[] = {{"luma", &luma, METH_O, "Brightness of an 8-bit image."}, {}};

// [plain_module]
int add_functions(PyObject* m) noexcept {
  try {
    // def_fast loads the arguments, calls the function and reports refusals.
    dp::def_fast<&filters::scale>(m, "scale", {"image", "factor"});
    return add_canvas(m);
  } catch (...) {
    dp::set_error_thrown();
    return -1;
  }
}
// [/plain_module]

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&add_functions)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "plain", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_plain() { return PyModuleDef_Init(&definition); }
