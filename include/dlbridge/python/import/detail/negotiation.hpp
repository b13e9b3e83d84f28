// negotiation: calls a producer's __dlpack__, and again with fewer keywords when the first
// exception means that the producer may not support one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_call.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

/// What an exception raised by __dlpack__ means for a second call (spec 2.4).
enum class refusal_meaning {
  old_producer,  ///< TypeError: the producer may not accept one of the keywords
  unavailable,   ///< any other Exception: this producer cannot make the copy or the move
  final          ///< KeyboardInterrupt and the like: no second call
};

// Raises that a producer does not know copy=False, which a consumer never drops.
DLBRIDGE_COLD inline void refuse_dropped_copy(PyObject* producer) noexcept {
  report r = refusal(errc::copy_forbidden, "a producer that understands copy=False", "",
                     "Leave copy= out if a copy is acceptable");
  r.got.append(Py_TYPE(producer)->tp_name).append(", whose __dlpack__ raised TypeError for it");
  set_error(r);
}

/// The calls of one import. Every member that returns a reference returns an empty one, with a
/// Python exception set, when the call fails.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs.
class negotiation {
 public:
  /// All three outlive this object. The method may be set later, before the first call.
  negotiation(PyObject* producer, type_entry const& type, producer_method const& method) noexcept
      : producer_(producer), type_(type), method_(method) {}

  /// Calls with all keywords. When the type is legacy_only and the call passes neither dl_device
  /// nor copy, calls without max_version first.
  ref call_first(call_keywords const& keywords) noexcept {
    was_simple_ = is_simple(keywords);
    if (type_.legacy_only && was_simple_) {
      ref capsule = call_dlpack(producer_, method_, without(keywords, true, false));
      if (capsule || !suppress_exception()) {
        return capsule;
      }
    }
    return call_dlpack(producer_, method_, keywords);
  }

  /// What the pending exception means.
  static refusal_meaning meaning() noexcept {
    PyObject* const pending = PyErr_Occurred();
    // A class derived from TypeError is the producer's own, such as JAX's for a traced array.
    return pending == PyExc_TypeError ? refusal_meaning::old_producer
           : is_suppressible(pending) ? refusal_meaning::unavailable
                                      : refusal_meaning::final;
  }

  /// Calls again after an exception. An old producer is called without any keyword that DLPack 1.0
  /// introduced, another one without copy.
  /// @param first that exception; it becomes the context of the one of the second call.
  ref call_again(call_keywords const& keywords, bool is_old, ref first) noexcept {
    ref capsule = call_dlpack(producer_, method_, without(keywords, is_old, true));
    if (capsule) {
      if (is_old && was_simple_ && !type_cache::set_legacy_only(producer_, type_)) {
        error_keeper const pending;
        capsule = ref();
      }
      return capsule;
    }
    ref second = take_exception();
    ref const context = ref::steal(PyException_GetContext(second.get()));
    if (!context && second.get() != first.get()) {
      api<PyException_SetContext>(second.get(), first.release());
    }
    set_exception(std::move(second));
    return ref();
  }

  /// The keywords without the newer ones (max_version, dl_device, copy), or without copy alone.
  static call_keywords without(call_keywords keywords, bool newer, bool copy) noexcept {
    if (newer) {
      keywords.max_version = nullptr;
      keywords.dl_device = nullptr;
    }
    if (newer || copy) {
      keywords.copy = nullptr;
    }
    return keywords;
  }

 private:
  static bool is_simple(call_keywords const& keywords) noexcept {
    return keywords.dl_device == nullptr && keywords.copy == nullptr;
  }

  PyObject* producer_;
  type_entry const& type_;
  producer_method const& method_;
  bool was_simple_ = true;  // whether the first call passed neither dl_device nor copy
};

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
