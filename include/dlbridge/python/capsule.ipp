// The bodies of capsule.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
inline bool same_name(char const* a, char const* b) noexcept {
  return a == b || std::strcmp(a, b) == 0;
}

DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report explain_capsule(PyObject* object,
                                                              char const* name) noexcept {
  constexpr char const* expected = "a capsule named 'dltensor' or 'dltensor_versioned'";
  bool const used =
      name != nullptr && (same_name(name, struct_traits<DLManagedTensor>::used_name()) ||
                          same_name(name, struct_traits<DLManagedTensorVersioned>::used_name()));
  report r = refusal(used ? errc::capsule_used : errc::not_a_capsule, expected, "");
  if (!PyCapsule_CheckExact(object)) {
    r.got.append("an object of type ").append(detail::type_name(Py_TYPE(object)).c_str());
  } else if (name == nullptr) {
    r.got.append("a capsule without a name");
  } else {
    r.got.append("one named '").append(name).append("'");
  }
  if (used) {
    r.advice = "A capsule is consumed once; ask the producer for a new one";
  }
  return r;
}

// The destructor of a capsule. A consumer has renamed the capsule, to any name (spec 3.2-2).
template <class Managed>
void destroy_capsule(PyObject* capsule) noexcept {
  error_keeper const pending;
  char const* const name = api<PyCapsule_GetName>(capsule);
  if (name == nullptr || !same_name(name, struct_traits<Managed>::fresh_name())) {
    return;
  }
  managed_tensor const tensor =
      managed_tensor::adopt(static_cast<Managed*>(api<PyCapsule_GetPointer>(capsule, name)));
}

template <class Managed>
ref wrap(Managed* raw) noexcept {
  return ref::steal(
      api<PyCapsule_New>(raw, struct_traits<Managed>::fresh_name(), &destroy_capsule<Managed>));
}
}  // namespace detail

DLBRIDGE_API managed_tensor steal_capsule(PyObject* capsule, report& why) noexcept {
  critical_section const section(capsule);
  managed_tensor tensor;
  char const* name = nullptr;
  if (PyCapsule_CheckExact(capsule)) {
    name = api<PyCapsule_GetName>(capsule);
    if (name == nullptr) {
      api<PyErr_Clear>();
    }
  }
  if (name != nullptr &&
      detail::same_name(name, struct_traits<DLManagedTensorVersioned>::fresh_name())) {
    tensor = detail::take<DLManagedTensorVersioned>(capsule, name, why);
  } else if (name != nullptr &&
             detail::same_name(name, struct_traits<DLManagedTensor>::fresh_name())) {
    tensor = detail::take<DLManagedTensor>(capsule, name, why);
  } else {
    why = detail::explain_capsule(capsule, name);
  }
  return tensor;
}

DLBRIDGE_API ref wrap_capsule(managed_tensor m) noexcept {
  ref capsule = m.kind() == struct_kind::versioned ? detail::wrap(m.get_versioned())
                                                   : detail::wrap(m.get_legacy());
  if (capsule) {
    static_cast<void>(m.release_versioned());
    static_cast<void>(m.release_legacy());
  } else {
    error_keeper const pending;
    m = managed_tensor();
  }
  return capsule;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
