// bind: passes a C++ function with its extras to nanobind, and inserts its record.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/binding/signature_rules.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bound_function.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/detail/extras.hpp>
#include <dlbridge/python/nanobind/detail/record_writer.hpp>
#include <dlbridge/python/nanobind/detail/refused_call.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// An attribute of a module or class, or an empty reference. Throws another exception than that of a
// missing attribute.
inline ref attribute(PyObject* scope, char const* name) {
  ref value = ref::steal(api<PyObject_GetAttrString>(scope, name));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
      throw_pending();
    }
    api<PyErr_Clear>();
  }
  return value;
}
// The number of overloads of a function of nanobind. Throws TypeError if it is none.
DLBRIDGE_COLD inline Py_ssize_t overload_count(PyObject* function, char const* name) {
  ref const signatures = ref::steal(api<PyObject_GetAttrString>(function, "__nb_signature__"));
  if (signatures && PyTuple_Check(signatures.get())) {
    return PyTuple_GET_SIZE(signatures.get());
  }
  api<PyErr_Clear>();
  if (*name != '_') {
    api<PyErr_Format>(PyExc_TypeError,
                      "%s exists already and is no function of nanobind, to which "
                      "dlbridge::def could add an overload",
                      name);
    throw_pending();
  }
  return 0;
}

// Throws TypeError if an attribute is no function of nanobind, or a method of the other kind, for
// which nanobind would end the process. Methods are descriptors.
DLBRIDGE_COLD inline void require_unused(PyObject* scope, PyObject* existing, char const* name,
                                         bool is_method) {
  if (overload_count(existing, name) != 0 &&
      (Py_TYPE(existing)->tp_descr_get != nullptr) != is_method) {
    binding::set_kind_mismatch(scope, name, !is_method);
    throw_pending();
  }
}

// Records the Python function that nanobind made.
DLBRIDGE_COLD inline void insert(PyObject* scope, char const* name, bound_record& record,
                                 bool is_first) {
  ref const function = attribute(scope, name);
  if (!function) {
    return;
  }
  record.attribute = name;
  if (!is_first) {
    record.index = overload_count(function.get(), name) - 1;
  }
  record.set_function(function.get());  // which owns the record
  explain_refusals(function.get());
}

// The function object that nanobind binds, and its record, which the object owns.
template <class Body>
struct made_body {
  Body body;
  bound_record& record;
};

// display_name: the name in messages
template <class Callee, class... Extra>
auto make_body(Callee callee, char const* display_name, PyObject* scope, bool is_method,
               Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::type;
  binding::require_signature<call_traits, (is_releasing<Extra> || ...), signature>();
  auto owner = std::make_unique<bound_record>(display_name, scope, is_method);
  bound_record& record = *owner;
  if (!record.parameter_names || !record.scope || !python::names::prepare()) {
    throw_pending();
  }
  write_record(static_cast<signature*>(nullptr), record, extra...);
  using body = bound_function<Callee, typename guard_of<Extra...>::type, signature>;
  return made_body<body>{body(std::move(callee), std::move(owner)), record};
}

// The name of a class, by which messages call its constructor.
inline std::string name_of(nb::handle bound) {
  return nb::borrow<nb::str>(bound.attr("__name__")).c_str();
}

/// Binds a function to a module or class.
/// @tparam Self the class whose method the function is, or void
template <class Self, class Scope, class F, class... Extra>
void bind(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  ref const existing = attribute(scope.ptr(), name);
  if (existing) {
    require_unused(scope.ptr(), existing.get(), name, !std::is_void_v<Self>);
  }
  bool const is_new = std::strcmp(name, "__new__") == 0;  // messages do not count the class
  bool const is_constructor = is_new || std::strcmp(name, "__init__") == 0;
  std::string const display_name = is_constructor ? on_nanobind::name_of(scope) : name;
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)), display_name.c_str(),
                        scope.ptr(), is_new || !std::is_void_v<Self>, extra...);
  if (is_constructor) {
    made.record.parameters[0].check = nullptr;  // nanobind accepts no object that is not ready
  }
  if constexpr (std::is_void_v<Self>) {
    nb::cpp_function_def(std::move(made.body), nb::scope(scope), nb::name(name),
                         passed_extra(extra)...);
  } else {
    nb::cpp_function_def<Self>(std::move(made.body), nb::scope(scope), nb::name(name),
                               nb::is_method(), passed_extra(extra)...);
  }
  on_nanobind::insert(scope.ptr(), name, made.record, !existing);
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
