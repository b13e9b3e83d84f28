// bound_record: a function_record with pybind11's record of the same function, and the checks by
// which a refused call finds its reasons.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// One argument of a refused call.
struct refused_argument {
  PyObject* object;
  char const* name;     // or null
  int position;         // counted from 1
  PyObject* expected;   // the annotation of the parameter
  bool converts;        // whether implicit conversions are allowed
  overload_call* call;  // which imports each tensor once, or null
};
// Adds the reason of an argument that does not fit a parameter.
using argument_check = void (*)(refusals&, refused_argument const&);

// A function_record with what explains the calls that pybind11 refuses.
struct DLBRIDGE_LOCAL bound_record : function_record {
  using function_record::function_record;
  py::detail::function_record const* pybind11_record = nullptr;
  argument_check const* checks = nullptr;  // one for each parameter
  PyObject* self = nullptr;                // of the Python function
  bound_record* older = nullptr;

  // The first function that a call tries: of this record, or one that a plain m.def added before
  // it.
  py::detail::function_record const* first() const noexcept {
    // By the field: a call of pybind11's function would keep it out of line in pybind11's
    // dispatcher.
    return reinterpret_cast<py::detail::function_record_PyObject const*>(self)->cpp_func_rec;
  }
  // Whether a plain m.def added an overload.
  bool has_plain_overload() const noexcept { return first()->next != nullptr; }

  // The record of the function that was bound last, which links to the older ones.
  DLBRIDGE_LOCAL static std::atomic<bound_record*>& newest() noexcept {
    static std::atomic<bound_record*> record = nullptr;
    return record;
  }
};

// Whether the pending exception is a refusal of bound_function, which states the reasons already.
DLBRIDGE_LOCAL inline bool& has_stated_reasons() noexcept {
  thread_local bool has_stated = false;
  return has_stated;
}

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
