// steal_capsule, wrap_capsule: take the tensor out of a DLPack capsule, and make a capsule of a
// tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
inline bool same_name(char const* a, char const* b) noexcept {
  return a == b || std::strcmp(a, b) == 0;
}

// Renames the capsule, so that its destructor leaves the tensor alone, and takes the tensor. Clears
// the destructor as well: those of some producers ignore the name (spec 3.2-10).
template <class Managed>
managed_tensor take(PyObject* capsule, char const* name, report& why) noexcept {
  auto* const raw = static_cast<Managed*>(api<PyCapsule_GetPointer>(capsule, name));
  if (raw == nullptr || api<PyCapsule_SetName>(capsule, struct_traits<Managed>::used_name()) != 0) {
    return managed_tensor();  // an exception is set; the capsule still owns the tensor
  }
  static_cast<void>(api<PyCapsule_SetDestructor>(capsule, nullptr));
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

/// Takes the tensor out of a fresh capsule of either struct kind.
/// @param why set to not_a_capsule, capsule_used, or as managed_tensor::steal sets it.
/// @return the tensor; empty when why is not ok, or with a Python exception set when it is.
/// @par Ownership
/// The caller owns the tensor once the capsule is renamed; a tensor that fails a check afterwards
/// is freed. Until then the capsule owns it.
/// @par Thread and GIL
/// The caller holds the GIL. On free-threaded builds only one of two concurrent calls gets the
/// tensor.
inline managed_tensor steal_capsule(PyObject* capsule, report& why) noexcept {
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

/// Makes a fresh capsule of the tensor's struct kind.
/// @return the capsule; an empty reference, with MemoryError set, when there is no memory for it.
/// @par Ownership
/// The capsule owns the tensor until a consumer takes it, and frees it otherwise. On failure m has
/// been freed.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref wrap_capsule(managed_tensor m) noexcept {
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
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
