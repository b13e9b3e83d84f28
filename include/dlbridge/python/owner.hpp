// object_owner: a PyObject as array owner, whose release survives any thread and finalisation.
// floor 2 · OUT: when Python keeps the memory alive
#pragma once

#include <utility>

#include <dlbridge/python/interp.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// Drops one reference from wherever a deleter runs: any thread, with or without the GIL, with an
/// exception pending. Once the interpreter is going away the object is leaked on purpose, since
/// entering Python may then hang or crash (spec 3.3).
inline void release_object(PyObject* object) noexcept {
  if (object == nullptr || !interpreter_alive()) {
    return;
  }
#if PY_VERSION_HEX >= 0x030D0000
  if (PyThreadState_GetUnchecked() != nullptr) {  // attached already: no need to ask for the GIL
    error_keeper const kept;
    Py_DECREF(object);
    return;
  }
#endif
  gil_hold const gil;
  error_keeper const kept;
  Py_DECREF(object);
}

/// Owns one reference to a Python object that keeps memory alive.
class object_owner {
 public:
  explicit object_owner(ref object) noexcept : object_(object.release()) {}
  object_owner(object_owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_owner& operator=(object_owner&&) = delete;
  ~object_owner() { release_object(object_); }

  /// Gives the reference up. GIL: held.
  [[nodiscard]] ref release() noexcept { return ref::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
