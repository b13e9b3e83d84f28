// insert_function: puts a function that def made into its module or class, as the first of its
// name or as one more overload.
// layer: bindings · when a module is initialized
#pragma once

#include <utility>

#include <dlbridge/python/call/detail/overload_set.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// The functions that were made, the last one first, so that another of its name can join one. Not
// in the module, whose every attribute comes into its stubs.
DLBRIDGE_LOCAL inline call_facts*& made_functions() noexcept {
  static call_facts* last = nullptr;
  return last;
}
inline call_facts* find_made(PyObject* function) noexcept {
  call_facts* each = made_functions();
  while (each != nullptr && each->function != function) {
    each = each->earlier;
  }
  return each;
}

// What a module or class has under a name by itself, not by its bases; none when nothing.
inline ref own_attribute(PyObject* scope, char const* name) noexcept {
  ref const attributes = ref::steal(PyObject_GetAttrString(scope, "__dict__"));
  ref found = attributes ? ref::steal(PyMapping_GetItemString(attributes.get(), name)) : ref();
  PyErr_Clear();
  return found;
}

// The overload set of a name that a function made by def has so far; null with an exception set.
DLBRIDGE_COLD inline overload_set* make_set(PyObject* scope, char const* name, PyObject* present) {
  call_facts* const first = find_made(present);
  if (first == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "%s is there already, and was not made by dlbridge::def; an overload can only be "
                 "added to one that was",
                 name);
    return nullptr;
  }
  bool const is_method = PyType_Check(scope) != 0;
  ref const module_name =
      ref::steal(PyObject_GetAttrString(scope, is_method ? "__module__" : "__name__"));
  ref const made = module_name ? overload_set::make(name, module_name.get()) : ref();
  ref const placed = !made       ? ref()
                     : is_method ? ref::steal(PyInstanceMethod_New(made.get()))
                                 : ref::borrow(made.get());
  overload_set* const set = placed ? overload_set::of(made.get()) : nullptr;
  bool const done = set != nullptr && set->add(ref::borrow(first->function), *first) &&
                    PyObject_SetAttrString(scope, name, placed.get()) == 0;
  return done ? set : nullptr;
}
}  // namespace detail

/// Puts a function into its module or class: by itself, or as one more candidate of its name. It
/// and its facts are kept for the process. False with a Python exception set.
DLBRIDGE_COLD inline bool insert_function(PyObject* scope, char const* name, ref function,
                                          call_facts& facts) {
  ref const present = detail::own_attribute(scope, name);
  if (!present) {
    if (PyObject_SetAttrString(scope, name, function.get()) != 0) {
      return false;
    }
    facts.function = function.release();
    facts.earlier = std::exchange(detail::made_functions(), &facts);
    return true;
  }
  overload_set* set = overload_set::of(PyInstanceMethod_Check(present.get()) != 0
                                           ? PyInstanceMethod_Function(present.get())
                                           : present.get());
  set = set != nullptr ? set : detail::make_set(scope, name, present.get());
  return set != nullptr && set->add(std::move(function), facts);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
