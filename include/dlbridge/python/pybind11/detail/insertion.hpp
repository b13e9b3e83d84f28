// insert_function: adds a Python function to its module or class, as the first of its name or as a
// further overload.
// layer: bindings · from a C++ function to a Python function, when a module is initialized
#pragma once

#include <utility>

#include <dlbridge/python/call/detail/overload_set.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// The record of the last function that def inserted, which links to those of earlier ones. An
// attribute of the module could hold them, but generated stubs would list it.
DLBRIDGE_LOCAL inline function_record*& last_record() noexcept {
  static function_record* last = nullptr;
  return last;
}
// The record of a Python function, or null if def did not bind it.
inline function_record* find_record(PyObject* function) noexcept {
  function_record* each = last_record();
  while (each != nullptr && each->function != function) {
    each = each->previous;
  }
  return each;
}

// The attribute that a module or class itself has, not one of its bases; or an empty reference. An
// exception other than that of a missing attribute stays pending.
inline ref own_attribute(PyObject* scope, char const* name) noexcept {
  ref const attributes = ref::steal(api<PyObject_GetAttrString>(scope, "__dict__"));
  ref value = attributes ? ref::steal(api<PyMapping_GetItemString>(attributes.get(), name)) : ref();
  if (!value &&
      (PyErr_ExceptionMatches(PyExc_KeyError) || PyErr_ExceptionMatches(PyExc_AttributeError))) {
    api<PyErr_Clear>();
  }
  return value;
}

// Replaces a function of def by an overload set with that function as its first candidate. Null
// with an exception set on failure.
DLBRIDGE_COLD inline overload_set* replace_by_set(PyObject* scope, char const* name,
                                                  PyObject* existing) {
  function_record* const first = find_record(existing);
  if (first == nullptr) {
    api<PyErr_Format>(
        PyExc_TypeError,
        "%s exists already and was not bound by dlbridge::def, which adds overloads only to "
        "functions that it bound",
        name);
    return nullptr;
  }
  bool const is_method = PyType_Check(scope) != 0;
  ref const module_name =
      ref::steal(api<PyObject_GetAttrString>(scope, is_method ? "__module__" : "__name__"));
  ref const function = module_name ? overload_set::make(name, module_name.get()) : ref();
  ref const attribute = !function   ? ref()
                        : is_method ? ref::steal(api<PyInstanceMethod_New>(function.get()))
                                    : ref::borrow(function.get());
  overload_set* const set = attribute ? overload_set::of(function.get()) : nullptr;
  bool const done = set != nullptr && set->add(ref::borrow(first->function), *first) &&
                    api<PyObject_SetAttrString>(scope, name, attribute.get()) == 0;
  return done ? set : nullptr;
}
}  // namespace detail

/// Adds a function to a module or class: as an attribute, or as a further candidate of the overload
/// set of its name.
/// @param scope the module or class
/// @param name the name in Python
/// @param function the Python function
/// @param record its record; function and record exist until the process ends
/// @return false with a Python exception set on failure: TypeError, when scope has an attribute of
/// that name that def did not bind
DLBRIDGE_COLD inline bool insert_function(PyObject* scope, char const* name, ref function,
                                          function_record& record) {
  ref const existing = detail::own_attribute(scope, name);
  if (!existing) {
    if (PyErr_Occurred() != nullptr ||
        api<PyObject_SetAttrString>(scope, name, function.get()) != 0) {
      return false;
    }
    record.function = function.release();
    record.previous = std::exchange(detail::last_record(), &record);
    return true;
  }
  overload_set* set = overload_set::of(PyInstanceMethod_Check(existing.get()) != 0
                                           ? PyInstanceMethod_Function(existing.get())
                                           : existing.get());
  set = set != nullptr ? set : detail::replace_by_set(scope, name, existing.get());
  return set != nullptr && set->add(std::move(function), record);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
