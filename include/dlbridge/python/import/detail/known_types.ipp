// The bodies of known_types.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool is_named(PyTypeObject* type, char const* module, char const* name) noexcept {
  type_name const stated(type);
  char const* const dotted = stated.c_str();  // with the module where the type is static
  char const* const dot = std::strrchr(dotted, '.');
  if (std::strcmp(dot != nullptr ? dot + 1 : dotted, name) != 0) {
    return false;
  }
  ref const stored = type_attribute(type, names::get().module);
  if (stored && PyUnicode_Check(stored.get())) {
    return PyUnicode_CompareWithASCIIString(stored.get(), module) == 0;
  }
  std::size_t const length = std::strlen(module);
  return std::strncmp(dotted, module, length) == 0 && dotted + length == dot;
}

DLBRIDGE_NOINLINE DLBRIDGE_API known_type const* find_known_type(PyTypeObject* type) noexcept {
  ref const classes = classes_of(type);
  for (known_type const& each : known_types) {
    for (Py_ssize_t i = 0; classes && i < detail::tuple_size(classes.get()); ++i) {
      auto* const base = reinterpret_cast<PyTypeObject*>(detail::tuple_item(classes.get(), i));
      if (is_named(base, each.module, each.type)) {
        return &each;
      }
    }
  }
  return nullptr;
}

// The owner of a tensor that as_immutable returned.
struct immutable_array {
  managed_tensor imported;
};

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor as_immutable(managed_tensor m) noexcept {
  managed_tensor marked;
  guarded([&] {
    description d = describe_view(m.view());
    d.flags |= flag_read_only;
    marked = build_on(immutable_array{std::move(m)}, d);
  });
  return marked;
}

DLBRIDGE_API managed_tensor const* find_immutable(managed_tensor const& m) noexcept {
  immutable_array const* const owner = dlbridge::detail::find_owner<immutable_array>(m);
  return owner != nullptr ? &owner->imported : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API property_reader find_reader(PyTypeObject* type,
                                                           property_test const& test) noexcept {
  return reader_of(type, names::get().*test.attribute, test.is_method);
}

// Reads one property. Returns an empty reference with an exception set on failure.
inline ref read_property(PyObject* object, property_test const& test,
                         property_reader const& by) noexcept {
  if (by.property != nullptr || by.method != nullptr) {
    return ref::steal(dlbridge::detail::call_guarded([&] {
      return by.property != nullptr ? by.property(object, by.closure) : by.method(object, nullptr);
    }));
  }
  PyObject* const name = names::get().*test.attribute;
  return ref::steal(test.is_method ? api<detail::call_named>(object, name)
                                   : api<PyObject_GetAttr>(object, name));
}

DLBRIDGE_API bool pass_tests(property_tests const tests, PyObject* object,
                             import_path path) noexcept {
  for (int i = 0; i < 2; ++i) {
    property_test const& each = tests.row->tests[i];
    if (path == import_path::protocol && each.expected == nullptr) {
      continue;
    }
    ref const value = read_property(object, each, tests.readers[i]);
    if (!value) {  // __dlpack__ states the reason
      return suppress_exception() && path == import_path::protocol;
    }
    if (value.get() != (each.usual ? Py_True : Py_False)) {
      if (each.expected != nullptr) {
        set_error(refusal(errc::producer_failed, each.expected, each.got, each.advice));
      }
      return false;
    }
  }
  return true;
}

DLBRIDGE_API bool is_recorded(property_tests const tests, PyObject* object) noexcept {
  property_test const& gradient = tests.row->tests[1];
  ref const value = read_property(object, gradient, tests.readers[1]);
  if (value.get() == (gradient.usual ? Py_True : Py_False)) {
    return false;
  }
  ref const is_enabled = value ? import_function(tests.row->module, "is_grad_enabled") : ref();
  ref const enabled = is_enabled ? ref::steal(api<PyObject_CallNoArgs>(is_enabled.get())) : ref();
  if (enabled.get() != Py_True) {
    return !suppress_exception();
  }
  set_error(refusal(errc::read_only, "a tensor to which the function may write",
                    tests.row->recorded, tests.row->unrecorded));
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool refuse_mask(known_type const* type, PyObject* object) noexcept {
  if (type == nullptr || !type->has_masks) {
    return false;
  }
  ref const mask = ref::steal(api<PyObject_GetAttrString>(object, "mask"));
  ref const bytes = mask ? ref::steal(api<PyObject_CallMethod>(mask.get(), "tobytes", nullptr))
                         : ref();  // a mask of records has no any()
  bool const is_read = bytes && PyBytes_Check(bytes.get());
  char const* const first = is_read ? api<PyBytes_AsString>(bytes.get()) : nullptr;
  Py_ssize_t const size = is_read ? api<PyBytes_Size>(bytes.get()) : 0;
  if (std::any_of(first, first + size, [](char c) { return c != 0; })) {
    set_error(refusal(errc::layout_mismatch, "an array without masked elements",
                      "one with masked elements, and DLPack carries no mask",
                      "Pass x.filled(value), or x.data to ignore the mask"));
  }
  return PyErr_Occurred() != nullptr;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
