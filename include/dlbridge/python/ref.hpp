// ref, lazy_object: own a reference to a Python object.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// An owned reference, or an empty one. Move-only.
/// @par Thread and GIL
/// Every member except get, release and operator bool requires the GIL when the reference is not
/// empty.
class ref {
 public:
  ref() noexcept = default;  ///< An empty reference.
  /// Takes ownership of a reference of the caller. Null yields an empty ref.
  static ref steal(PyObject* object) noexcept { return ref(object); }
  /// Adds a reference to an object; the caller keeps its own. Null yields an empty ref.
  static ref borrow(PyObject* object) noexcept {
    Py_XINCREF(object);
    return ref(object);
  }
  ref(ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}  ///< Moves.
  /// Releases the former reference.
  ref& operator=(ref&& other) noexcept {
    ref old(std::move(other));
    std::swap(object_, old.object_);
    return *this;
  }
  ref(ref const&) = delete;
  ref& operator=(ref const&) = delete;
  ~ref() { xdecref(object_); }

  /// Whether there is an object.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  PyObject* get() const noexcept { return object_; }  ///< The object, borrowed, or null.
  /// Gives up the reference, which the caller then owns.
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  explicit ref(PyObject* object) noexcept : object_(object) {}
  PyObject* object_ = nullptr;
};

/// An object that is created on first use and lives as long as the process. A static variable with
/// an initializer would hold a lock while Python code runs, and a thread that waited for the lock
/// would keep the GIL.
/// @pre The caller holds the GIL.
class lazy_object {
 public:
  /// The object, created by the first call.
  /// @param create returns the new object; or an empty reference, with an exception set.
  /// @return a borrowed reference; null, with the exception of create set, when it failed.
  template <class Create>
  DLBRIDGE_INLINE PyObject* get(Create create) noexcept;

 private:
  template <class Create>
  DLBRIDGE_COLD DLBRIDGE_NOINLINE PyObject* make(Create create) noexcept;

  std::atomic<PyObject*> object_{nullptr};
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/ref.inl>
