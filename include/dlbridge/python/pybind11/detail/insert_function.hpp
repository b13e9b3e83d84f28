// insert_function: adds a Python function to its module or class, as the first of its name or as a
// further overload.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstring>
#include <utility>

#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/overload_set.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// How a class or module holds a Python function.
enum class binding_kind { function, method, static_method };

// The function as an attribute of its scope. pybind11 has wrapped a method already, but not the
// function of an overload set.
inline ref as_attribute(PyObject* function, binding_kind kind) noexcept {
  switch (kind) {
    case binding_kind::method:
      return PyCFunction_Check(function) ? ref::steal(api<PyInstanceMethod_New>(function))
                                         : ref::borrow(function);
    case binding_kind::static_method:
      return ref::steal(api<PyStaticMethod_New>(function));
    default:
      return ref::borrow(function);
  }
}
// The function that an attribute holds; empty, with an exception set, on failure.
inline ref function_of(PyObject* attribute) noexcept {
  if (PyInstanceMethod_Check(attribute) != 0) {
    return ref::borrow(PyInstanceMethod_Function(attribute));
  }
  return Py_TYPE(attribute) == &PyStaticMethod_Type
             ? ref::steal(api<PyObject_GetAttrString>(attribute, "__func__"))
             : ref::borrow(attribute);
}

// The record of the last function that def inserted, which links to the older ones. An attribute of
// the module could hold them, but generated stubs would list it.
DLBRIDGE_LOCAL inline std::atomic<function_record*>& newest_inserted() noexcept {
  static std::atomic<function_record*> record{nullptr};
  return record;
}
// The record of a Python function, or null if def did not bind it.
inline function_record* find_record(PyObject* function) noexcept {
  function_record* each = newest_inserted().load(std::memory_order_acquire);
  while (each != nullptr && each->function != function) {
    each = each->older_inserted;
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

// As PyObject_SetAttr. For a class without the setter of pybind11's metaclass, which is there for
// static properties, and crashes where PyObject_IsInstance fails.
inline int set_own_attribute(PyObject* scope, char const* name, PyObject* value) noexcept {
  if (PyType_Check(scope) == 0) {
    return api<PyObject_SetAttrString>(scope, name, value);
  }
  ref const key = ref::steal(api<PyUnicode_InternFromString>(name));
  return key ? PyType_Type.tp_setattro(scope, key.get(), value) : -1;
}

// The texts of overload_set::add.
DLBRIDGE_COLD inline ref texts_of(bound_record const& record) noexcept {
  ref texts = ref::steal(api<PyList_New>(0));
  auto const* each = record.pybind11_record;
  while (texts) {
    bool const has_doc = each->doc != nullptr && *each->doc != '\0';
    ref const text = ref::steal(
        api<PyUnicode_FromFormat>("%s%s\n%s%s%s", each->name, each->signature, has_doc ? "\n" : "",
                                  has_doc ? each->doc : "", has_doc ? "\n" : ""));
    if (!text || api<PyList_Append>(texts.get(), text.get()) != 0) {
      return ref();
    }
    each = each->next != nullptr ? each->next : record.first();
    if (each == record.pybind11_record) {
      break;
    }
  }
  return texts;
}

// Adds a candidate to an overload set. A call enters each candidate that is an operator, as its
// refusal makes the result NotImplemented, or that has an overload of a plain m.def.
DLBRIDGE_COLD inline bool add_candidate(overload_set& set, ref function, bound_record& record) {
  if (record.pybind11_record->is_operator || record.has_plain_overload()) {
    record.tensor_tests = nullptr;
  }
  return set.add(std::move(function), record, texts_of(record));
}

// Replaces a function of def by an overload set with that function as its first candidate. Null
// with an exception set on failure.
DLBRIDGE_COLD inline overload_set* replace_by_set(PyObject* scope, char const* name,
                                                  PyObject* existing, binding_kind kind) {
  auto* const first = static_cast<bound_record*>(find_record(existing));
  if (first == nullptr) {
    api<PyErr_Format>(
        PyExc_TypeError,
        "%s exists already and was not bound by dlbridge::def of this extension, which adds "
        "overloads only to functions that it bound",
        name);
    return nullptr;
  }
  bool const is_in_class = kind != binding_kind::function;
  ref const module_name =
      ref::steal(api<PyObject_GetAttrString>(scope, is_in_class ? "__module__" : "__name__"));
  ref const function =
      module_name ? overload_set::make(name, first->name.c_str(), module_name.get(), is_in_class)
                  : ref();
  ref const attribute = function ? as_attribute(function.get(), kind) : ref();
  overload_set* const set = attribute ? overload_set::of(function.get()) : nullptr;
  bool const done = set != nullptr && add_candidate(*set, ref::borrow(first->function), *first) &&
                    set_own_attribute(scope, name, attribute.get()) == 0;
  return done ? set : nullptr;
}

// As in Python, a class that defines __eq__ and no __hash__ is not hashable. False with an
// exception set on failure.
inline bool drop_hash(PyObject* scope, char const* name, binding_kind kind) noexcept {
  if (kind != binding_kind::method || std::strcmp(name, "__eq__") != 0 ||
      own_attribute(scope, "__hash__")) {
    return true;
  }
  return PyErr_Occurred() == nullptr && set_own_attribute(scope, "__hash__", Py_None) == 0;
}

// Whether an attribute is a method of the other kind.
inline bool is_other_kind(PyObject* attribute, binding_kind kind) noexcept {
  return kind == binding_kind::method          ? Py_TYPE(attribute) == &PyStaticMethod_Type
         : kind == binding_kind::static_method ? PyInstanceMethod_Check(attribute) != 0
                                               : false;
}

// Whether def replaces an attribute: the slots of a class that pybind11 makes, such as __init__,
// are not those of its author.
inline bool is_slot(PyObject* attribute) noexcept {
  return attribute == Py_None || Py_TYPE(attribute) == &PyWrapperDescr_Type;
}

/// Adds a function to a module or class: as an attribute, or as a further candidate of the overload
/// set of its name.
/// @param scope the module or class
/// @param name the name in Python
/// @param function the Python function
/// @param record its record; function and record exist until the process ends
/// @param kind whether scope is a module, and whether the function is a method of a class
/// @return false with a Python exception set on failure: TypeError, when scope has an attribute of
/// that name that def did not bind, or a method that is static where this one is not, or vice versa
DLBRIDGE_COLD inline bool insert_function(PyObject* scope, char const* name, ref function,
                                          bound_record& record, binding_kind kind) {
  ref const attribute = own_attribute(scope, name);
  if (!attribute || is_slot(attribute.get())) {
    ref const fresh = PyErr_Occurred() == nullptr ? as_attribute(function.get(), kind) : ref();
    if (!fresh || !drop_hash(scope, name, kind) ||
        set_own_attribute(scope, name, fresh.get()) != 0) {
      return false;
    }
    record.function =
        kind == binding_kind::method ? PyInstanceMethod_Function(fresh.get()) : function.get();
    static_cast<void>(function.release());  // never freed
    record.older_inserted = newest_inserted().load(std::memory_order_relaxed);
    while (!newest_inserted().compare_exchange_weak(record.older_inserted, &record,
                                                    std::memory_order_release)) {
    }
    return true;
  }
  if (is_other_kind(attribute.get(), kind)) {
    binding::set_kind_mismatch(scope, name, kind == binding_kind::static_method);
    return false;
  }
  ref const existing = function_of(attribute.get());
  overload_set* set = existing ? overload_set::of(existing.get()) : nullptr;
  set = set != nullptr || !existing ? set : replace_by_set(scope, name, existing.get(), kind);
  return set != nullptr && add_candidate(*set, std::move(function), record);
}

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
