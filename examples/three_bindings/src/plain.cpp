// The extension with Python's C API alone.
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

PyMethodDef methods[] = {{"luma", &luma, METH_O, "Brightness of an 8-bit image."}, {}};

// [plain_module]
int add_functions(PyObject* m) noexcept {
  try {
    // Without a binding library, def_fast writes all of the above.
    dp::def_fast<&filters::scale>(m, "scale", {"image", "factor"});
    return 0;
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
