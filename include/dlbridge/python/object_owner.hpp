// object_owner, release_object: release a Python object from any thread, for deleters.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Releases one reference to an object, for a deleter. A pending exception stays pending. After
/// finalization has begun, other threads than the one that finalizes leak the object on purpose,
/// because a call of the interpreter may then hang or crash (spec 3.3), and so do destructors of
/// static variables.
/// @note Any thread may call it, with or without the GIL.
void release_object(PyObject* object) noexcept;

/// Owns one reference to a Python object that keeps memory alive. Move-only.
/// @par Thread and GIL
/// Any thread may destroy the object or assign to it, with or without the GIL (release_object).
class object_owner {
 public:
  explicit object_owner(ref object) noexcept : object_(object.release()) {}  ///< Takes it.
  object_owner(object_owner const&) = delete;
  /// Moves the reference.
  object_owner(object_owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_owner& operator=(object_owner other) noexcept;  ///< Releases the former one.
  ~object_owner() { release_object(object_); }

  /// Moves the reference to the result, and leaves this object empty. The caller holds the GIL.
  [[nodiscard]] ref release() noexcept { return ref::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_;
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/object_owner.ipp>
#endif
