// path_to_library: converts a managed tensor to an object of a library: by the exchange table of a
// type, by NumPy's C API, by the library's from_dlpack, or as a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/numpy_arrays.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// One row for each top-level package of each library except dlbridge.
struct library_row {
  library which;
  char const* root;      // the top-level package of the library's types
  char const* module;    // the module of function and empty
  char const* function;  // the function that imports a tensor
  bool takes_capsule;    // whether function accepts a capsule only
  char const* empty;     // the allocator (shape, dtype), or null to allocate by build_empty
  char const* type;      // the class with an exchange table in module, or null
  // What its callers do to receive results of 64 bits, which it stores in 32 bits; may be empty.
  // Null if it keeps every dtype.
  char const* wider = nullptr;
};

namespace detail {
library_row const* find_library(library which) noexcept;

// The row of the library that defines a class, by the first part of the class's __module__.
library_row const* find_library(PyTypeObject* type) noexcept;

// The conversion from tensors to objects of one Python type's library.
struct path_to_library {
  exchange_table table{};
  library_row const* row = nullptr;  // null for a type of no known library
  ref function{};                    // from_dlpack

  bool is_torch() const noexcept { return row != nullptr && row->which == library::torch; }
  bool takes_capsule() const noexcept { return row != nullptr && row->takes_capsule; }
  char const* wider() const noexcept { return row != nullptr ? row->wider : ""; }
  // The C API that creates objects of the library without from_dlpack, or null. An exception may be
  // pending.
  numpy_arrays const* arrays() const noexcept {
    return row != nullptr && row->which == library::numpy ? find_numpy_arrays() : nullptr;
  }
};

// Accepts the strides that a library takes. PyTorch throws an exception for negative ones through a
// function that is noexcept, which ends the process. Frees the tensor on failure, and sets an
// exception.
bool accept_strides(bool is_torch, managed_tensor& m) noexcept;

// Looks a path up, and stores it. An exception that is not suppressible stays pending; the path is
// then unknown, and another call may find it.
DLBRIDGE_COLD path_to_library find_export_path(PyObject* object, exchange_table table) noexcept;

// The path for the objects of a type, by one of them.
path_to_library export_path_of(PyObject* object) noexcept;

// The exchange table of a type, or an empty one for an object that is no type.
exchange_table table_of(PyObject* type) noexcept;

// The exchange table of dlbridge.Tensor of the installed package, whose version may differ from
// this extension's; empty when the package is not installed, and after an exception, which is
// pending if it is not suppressible.
DLBRIDGE_LOCAL exchange_table installed_table() noexcept;

// Converts a tensor by an exchange table. A slot that fails leaves the tensor with its caller, and
// so does try_give_by_table; give_by_table frees it.
ref try_give_by_table(exchange_table table, managed_tensor& m) noexcept;
ref give_by_table(exchange_table table, managed_tensor m) noexcept;

// Converts a tensor by NumPy's C API, or else by from_dlpack.
// @pre path.function is not empty.
ref give_by_function(path_to_library const& path, managed_tensor m, result_choice as) noexcept;

// The conversion to objects of a library, which is imported if necessary. It is unknown, with an
// exception set, while the library cannot be imported.
DLBRIDGE_LOCAL path_to_library find_export_path(library_row const& row) noexcept;

// Converts a tensor to an object of a library, which is imported if necessary. Takes m, and frees
// it on failure. Returns an empty ref with the exception of the import or of the library set.
ref give_as(library which, managed_tensor m, bool narrows = false) noexcept;

// Converts a tensor to an object of the library that init states, or else to a Tensor.
ref give_stated(managed_tensor m, bool narrows) noexcept;
}  // namespace detail

/// Converts a tensor to a Tensor: of the installed package dlbridge, or else of this extension.
/// @param m the tensor
/// @return the object, or an empty ref with a Python exception set
/// @par Ownership
/// Takes m; on failure m is freed.
/// @pre The caller holds the GIL.
ref give_own(managed_tensor m) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/path_to_library.ipp>
#endif
