// The bodies of def_fast.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/call/def_fast.hpp>
#include <dlbridge/python/call/detail/agree_on_extents.inl>
#include <dlbridge/python/call/detail/bind_arguments.hpp>
#include <dlbridge/python/call/detail/record_owner.ipp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool bind_or_raise(function_record const& record,
                                                  call_arguments const& call,
                                                  PyObject** bound) noexcept {
  ref why;
  if (bind_arguments(record, call, bound, why)) {
    return true;
  }
  if (why) {
    api<PyErr_Format>(PyExc_TypeError, "%s() %U", record.name.c_str(), why.get());
  }
  return false;
}

// Refuses the name of a function that the module already has, which def_fast would replace.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void require_free_name(PyObject* module, char const* name) {
  ref const existing = optional_attribute(module, name);
  if (PyErr_Occurred() != nullptr) {
    throw python_error();
  }
  if (existing && PyCallable_Check(existing.get()) != 0) {
    raise(refusal(errc::bad_argument, "the name of no other function", name,
                  "def_fast adds no overload. Use def for all overloads"));
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void add_fast(PyObject* module, char const* name,
                                             std::initializer_list<char const*> parameters,
                                             char const* doc, result_choice results,
                                             fast_function call,
                                             signature_annotations const& annotations) {
  if (parameters.size() > annotations.count) {
    report r = refusal(errc::bad_argument, "at most one name for each parameter of ", "");
    r.expected.append(name)
        .append("(), which has ")
        .append(static_cast<std::int64_t>(annotations.count));
    r.got.append(static_cast<std::int64_t>(parameters.size())).append(" names");
    raise(r);
  }
  ref const module_name = ref::steal(api<PyModule_GetNameObject>(module));
  if (!module_name || !names::prepare() || !add_typing_names(module)) {
    throw python_error();
  }
  require_free_name(module, name);
  auto owner = std::make_unique<fast_record>(name);
  fast_record* const record = owner.get();
  record->set_parameter_count(annotations.count);
  record->positional = annotations.count;
  for (std::size_t i = 0; i < annotations.count; ++i) {
    record->parameters[i].name =
        i < parameters.size() ? parameters.begin()[i] : "arg" + std::to_string(i);
  }
  record->doc = signature_of(*record, annotations) +
                (*doc != '\0' ? std::string("\n\n") + doc : std::string());
  record->results = results;
  record->definition = {record->name.c_str(),
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                        METH_FASTCALL | METH_KEYWORDS, record->doc.c_str()};
  ref const self = make_record_owner(std::move(owner), module_name.get());
  ref const function =
      self ? ref::steal(api<PyCFunction_NewEx>(&record->definition, self.get(), module_name.get()))
           : ref();
  if (!function || api<PyObject_SetAttrString>(module, name, function.get()) != 0) {
    throw python_error();
  }
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
