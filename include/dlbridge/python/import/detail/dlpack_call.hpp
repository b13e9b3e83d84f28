// call_dlpack: calls __dlpack__ of a producer with the keywords that are needed, and states what
// its exception means.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The keyword arguments of one call of __dlpack__; null ones are not passed.
struct call_keywords {
  PyObject* max_version = nullptr;
  PyObject* stream = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
};

// The keywords that producers of legacy structs know: not those that DLPack 1.0 introduced.
call_keywords before_1_0(call_keywords const& keywords) noexcept;

// The value of max_version= in every call.
DLBRIDGE_LOCAL PyObject* stated_version_object() noexcept;

// The method __dlpack__ of a producer: a function of the type, which takes the producer as its
// first argument, or an attribute of the producer, which does not.
struct producer_method {
  ref function;  // held, as Python code that runs may delete it
  bool takes_self = false;
};

// Calls the method with the keywords that are not null. Returns an empty reference, with an
// exception set, when it raised.
ref call_dlpack(PyObject* producer, producer_method const& method,
                call_keywords const& keywords) noexcept;

// What an exception raised by __dlpack__ means for a second call (spec 2.4).
enum class refusal_meaning {
  old_producer,  // TypeError: the producer may not accept one of the keywords
  unavailable,   // any other Exception: this producer cannot make the copy or the move
  final          // KeyboardInterrupt and the like: no second call
};

// What the pending exception means.
refusal_meaning meaning_of_refusal() noexcept;

// Makes an exception the context of the pending one, unless that has one.
DLBRIDGE_COLD void set_context(ref first) noexcept;

// Raises that a producer does not know copy=False, which a consumer never drops.
DLBRIDGE_COLD void refuse_dropped_copy(PyObject* producer) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/dlpack_call.ipp>
#endif
