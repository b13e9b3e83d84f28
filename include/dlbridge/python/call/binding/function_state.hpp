// function_state: the object that is the self of a Python function owns what the function calls
// with, and is pickled as the module of the function.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// What a Python function calls with: the base of overload sets and of the records of def_fast.
/// Python pickles a function as the attribute of its name of its self. The self of these functions
/// is pickled as their module, so that another process imports the module and finds the function.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class function_state {
 public:
  function_state() noexcept = default;
  function_state(function_state const&) = delete;
  function_state& operator=(function_state const&) = delete;

  /// @return the state that an object of make() owns
  static function_state* of(PyObject* self) noexcept { return in(self).state; }

  /// @param state the state, of a class derived from this one
  /// @param module_name the name of the module that has the function as an attribute, a str; null
  /// for a function of a class, which is not pickled
  /// @return the self of a function, which owns the state; or an empty ref with a Python exception
  /// set, which destroys the state
  template <class State>
  static ref make(std::unique_ptr<State> state, PyObject* module_name) {
    ref self = make_self(state.get(), &delete_state<State>, module_name);
    if (self) {
      static_cast<void>(state.release());
    }
    return self;
  }

 protected:
  ~function_state() = default;

 private:
  struct object {
    PyObject head;
    function_state* state;
    void (*delete_state)(function_state*) noexcept;
    PyObject* module_name;
  };
  static object& in(PyObject* self) noexcept { return *reinterpret_cast<object*>(self); }

  template <class State>
  static void delete_state(function_state* state) noexcept {
    delete static_cast<State*>(state);
  }

  DLBRIDGE_LOCAL DLBRIDGE_COLD static ref make_self(function_state* state,
                                                    void (*delete_state)(function_state*) noexcept,
                                                    PyObject* module_name) noexcept {
    static lazy_object type;
    PyObject* const known = type.get([]() noexcept { return make_type(); });
    object* const self =
        known != nullptr ? PyObject_New(object, reinterpret_cast<PyTypeObject*>(known)) : nullptr;
    if (self == nullptr) {
      return ref();
    }
    Py_XINCREF(module_name);
    self->state = state;
    self->delete_state = delete_state;
    self->module_name = module_name;
    return ref::steal(&self->head);
  }

  DLBRIDGE_LOCAL static ref make_type() noexcept {
    static PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)}, {Py_tp_methods, methods}, {0, nullptr}};
    PyType_Spec spec{"dlbridge.function_state", static_cast<int>(sizeof(object)), 0, immutable_type,
                     slots};
    ref type = ref::steal(api<PyType_FromSpec>(&spec));
    if (type) {
      reinterpret_cast<PyTypeObject*>(type.get())->tp_new = nullptr;  // no calls of the type
    }
    return type;
  }

  static void destroy(PyObject* self) noexcept {
    PyTypeObject* const type = Py_TYPE(self);
    in(self).delete_state(in(self).state);
    xdecref(in(self).module_name);
    PyObject_Free(self);
    decref(reinterpret_cast<PyObject*>(type));
  }

  // importlib.import_module(module_name)
  static PyObject* reduce(PyObject* self, PyObject*) noexcept {
    PyObject* const module_name = in(self).module_name;
    if (module_name == nullptr) {
      set_error_text(PyExc_TypeError,
                     "an overloaded function of a class cannot be pickled; pickle the class, "
                     "or a bound method");
      return nullptr;
    }
    ref const importlib = ref::steal(api<PyImport_ImportModule>("importlib"));
    return importlib ? api<Py_BuildValue>(
                           "N(O)", api<PyObject_GetAttrString>(importlib.get(), "import_module"),
                           module_name)
                     : nullptr;
  }
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
