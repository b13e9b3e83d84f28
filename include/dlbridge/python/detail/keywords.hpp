// names, read_keywords: hold interned names, and read the keyword arguments of a vectorcall.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The attribute and keyword names that dlbridge uses, interned once for the process. The compiler
/// of Python interns the names in a caller's source too, so that equal names compare equal by
/// pointer.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
struct names {
  PyObject* dlpack = nullptr;
  PyObject* dlpack_device = nullptr;
  PyObject* stream = nullptr;
  PyObject* max_version = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* device = nullptr;
  PyObject* copy = nullptr;
  PyObject* readonly = nullptr;
  PyObject* dtype = nullptr;
  PyObject* exchange_table = nullptr;
  PyObject* exchange_table_1_2 = nullptr;
  PyObject* tensor_head = nullptr;
  PyObject* array_namespace = nullptr;
  PyObject* module = nullptr;
  PyObject* array_interface = nullptr;
  PyObject* cuda_array_interface = nullptr;
  PyObject* requires_grad = nullptr;
  PyObject* is_neg = nullptr;
  PyObject* stop_gradient = nullptr;
  PyObject* is_sparse = nullptr;
  PyObject* cuda_stream_protocol = nullptr;
  PyObject* cuda_stream = nullptr;
  PyObject* ptr = nullptr;
  PyObject* handle = nullptr;
  PyObject* array_method = nullptr;
  PyObject* arrow_array = nullptr;
  PyObject* arrow_stream = nullptr;

  /// Creates the names. The functions that define others call it, so that get() never lacks one.
  /// @return false, with an exception set, when a name cannot be created; a later call may succeed.
  static bool prepare() noexcept;

  DLBRIDGE_LOCAL static names const& get() noexcept;

 private:
  struct row {
    PyObject* names::* field;
    char const* text;
  };

  DLBRIDGE_LOCAL static std::atomic<names const*>& known() noexcept;

  // Returns null, with an exception set, when a name cannot be created.
  DLBRIDGE_COLD DLBRIDGE_LOCAL static names const* make() noexcept;

  DLBRIDGE_COLD DLBRIDGE_LOCAL static names const& make_or_none() noexcept;
};

/// Reads the arguments of a vectorcall: exactly `positional` positional ones, then keywords.
/// @param function the name of the function, for messages.
/// @param accepted the accepted keywords, interned.
/// @param out out[i] is set to the argument of keyword accepted[i], borrowed, and stays as it is
///   when the caller did not pass that keyword.
/// @return false, with TypeError set, for a wrong number of positional arguments or an unknown
///   keyword.
bool read_keywords(char const* function, Py_ssize_t positional, PyObject* const* args,
                   Py_ssize_t count, PyObject* keywords, PyObject* const* accepted,
                   int accepted_count, PyObject** out) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/keywords.ipp>
#endif
