// python_function: the Python function that calls a chain of overloads of pybind11, and states why
// all of them refuse a call.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>

// Python calls call(), a C function with pybind11's self: a later def or m.def of the same name
// finds the chain through it. call() begins an active_call and calls pybind11's C function. Nothing
// of pybind11 is written.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// A function_record, and the definition of the Python function if it is the first of its chain.
struct DLBRIDGE_LOCAL python_function : function_record {
  explicit python_function(char const* display_name) : function_record(display_name) {}
  python_function(python_function const&) = delete;
  python_function& operator=(python_function const&) = delete;
  ~python_function() override;

  chain_link const* link = nullptr;  // pybind11's record of the same function
  PyMethodDef definition{};          // pybind11 replaces the docstring, which malloc allocated
  std::string attribute{};           // the name in the definition

  static record_list& records() noexcept;
  static function_record const* find(chain_link const* link) noexcept;
};

/// Makes call() the C function of a Python function that pybind11 made.
/// @param made the function, which owns the record
/// @param name the name in Python
/// @return a function with the same chain; `made` itself if call() is its C function already, or if
/// it is not as this header expects: its refusals then are those of pybind11
py::object make_python_function(py::object made, char const* name, python_function& record,
                                bool is_first);
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/pybind11/detail/python_function.ipp>
#endif
