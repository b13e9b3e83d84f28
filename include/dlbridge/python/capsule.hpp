// steal_capsule, wrap_capsule: take the tensor out of a DLPack capsule, and make a capsule of a
// tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Renames the capsule, so that its destructor leaves the tensor alone, and takes the tensor. Clears
// the destructor as well: those of some producers ignore the name (spec 3.2-10).
template <class Managed>
managed_tensor take(PyObject* capsule, char const* name, report& why) noexcept;
}  // namespace detail

/// Takes the tensor out of a fresh capsule of either struct kind.
/// @param capsule the capsule.
/// @param[out] why set to not_a_capsule, capsule_used, or as managed_tensor::steal sets it.
/// @return the tensor; empty when why is not ok, or with a Python exception set when it is.
/// @par Ownership
/// The caller owns the tensor once the capsule is renamed; a tensor that fails a check afterwards
/// is freed. Until then the capsule owns it.
/// @par Thread and GIL
/// The caller holds the GIL. On free-threaded builds only one of two concurrent calls gets the
/// tensor.
managed_tensor steal_capsule(PyObject* capsule, report& why) noexcept;

/// Makes a fresh capsule of the tensor's struct kind.
/// @param m the tensor.
/// @return the capsule; an empty reference, with MemoryError set, when there is no memory for it.
/// @par Ownership
/// The capsule owns the tensor until a consumer takes it, and frees it otherwise. On failure m has
/// been freed.
/// @pre The caller holds the GIL.
ref wrap_capsule(managed_tensor m) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/capsule.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/capsule.ipp>
#endif
