// Steals a fresh capsule into a managed tensor, wraps a managed tensor into a capsule.
// layer: interpreter · IN: the first step in · OUT: the last step out
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
inline bool same_name(char const* name, char const* wanted) noexcept {
  return name == wanted || std::strcmp(name, wanted) == 0;
}

// Renames, so that the capsule's destructor leaves the tensor alone, and takes it. The destructor
// is cleared as well: some producers' do not look at the name (spec 3.2-10).
template <class Managed>
managed_tensor take(PyObject* capsule, char const* name, report& why) noexcept {
  auto* const raw = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (raw == nullptr || PyCapsule_SetName(capsule, struct_traits<Managed>::used_name()) != 0) {
    return managed_tensor();  // with its exception; the capsule still owns
  }
  static_cast<void>(PyCapsule_SetDestructor(capsule, nullptr));
  return managed_tensor::try_steal(raw, why);
}

DLBRIDGE_COLD inline report explain_capsule(PyObject* object, char const* name) noexcept {
  constexpr char const* expected = "a capsule named 'dltensor' or 'dltensor_versioned'";
  bool const used =
      name != nullptr && (same_name(name, struct_traits<DLManagedTensor>::used_name()) ||
                          same_name(name, struct_traits<DLManagedTensorVersioned>::used_name()));
  report r = refusal(used ? errc::capsule_used : errc::not_a_capsule, expected, "");
  if (!PyCapsule_CheckExact(object)) {
    r.got.append("an object of type ").append(Py_TYPE(object)->tp_name);
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

// Runs when the capsule dies. Whoever consumed it has renamed it, to whatever name (spec 3.2-2).
template <class Managed>
void destroy_capsule(PyObject* capsule) noexcept {
  char const* const name = struct_traits<Managed>::fresh_name();
  if (PyCapsule_IsValid(capsule, name) == 0) {
    return;
  }
  error_keeper const kept;
  managed_tensor::adopt(static_cast<Managed*>(PyCapsule_GetPointer(capsule, name))).reset();
}

template <class Managed>
ref wrap(Managed* raw) noexcept {
  return ref::steal(
      PyCapsule_New(raw, struct_traits<Managed>::fresh_name(), &destroy_capsule<Managed>));
}
}  // namespace detail

/// Takes the tensor out of a fresh capsule of either struct kind.
/// owns: the capsule keeps its tensor when it is not taken; once it is renamed the tensor is ours,
/// and freed when a check fails.
/// thread and GIL: held. On free-threaded builds one caller wins a capsule that two are given.
/// reports: not_a_capsule, capsule_used, or as managed_tensor::steal; the result is then empty.
/// With why.ok() and no result, Python's own exception is set.
inline managed_tensor steal_capsule(PyObject* capsule, report& why) noexcept {
  managed_tensor taken;
#if defined(Py_GIL_DISABLED)
  Py_BEGIN_CRITICAL_SECTION(capsule);
#endif
  char const* name = nullptr;
  if (PyCapsule_CheckExact(capsule)) {
    name = PyCapsule_GetName(capsule);
    if (name == nullptr) {
      PyErr_Clear();
    }
  }
  if (name != nullptr &&
      detail::same_name(name, struct_traits<DLManagedTensorVersioned>::fresh_name())) {
    taken = detail::take<DLManagedTensorVersioned>(capsule, name, why);
  } else if (name != nullptr &&
             detail::same_name(name, struct_traits<DLManagedTensor>::fresh_name())) {
    taken = detail::take<DLManagedTensor>(capsule, name, why);
  } else {
    why = detail::explain_capsule(capsule, name);
  }
#if defined(Py_GIL_DISABLED)
  Py_END_CRITICAL_SECTION();
#endif
  return taken;
}

/// A fresh capsule of the tensor's struct kind. owns: the capsule, until it is consumed; its
/// destructor frees the tensor otherwise. None, with a Python exception, when out of memory; m is
/// then freed.
inline ref wrap_capsule(managed_tensor m) noexcept {
  ref capsule = m.kind() == struct_kind::versioned ? detail::wrap(m.get_versioned())
                                                   : detail::wrap(m.get_legacy());
  if (capsule) {
    static_cast<void>(m.release_versioned());
    static_cast<void>(m.release_legacy());
  } else {
    error_keeper const kept;
    m.reset();
  }
  return capsule;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
