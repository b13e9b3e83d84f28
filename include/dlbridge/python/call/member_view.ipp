// The bodies of member_view.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Converts a tensor to an object that Python code can index: a Tensor of the installed package, or
// without the package an ndarray, as the Tensor of an extension has no indexing.
inline ref give_indexable(managed_tensor m) noexcept {
  exchange_table const installed = installed_table();
  bool const is_known = PyErr_Occurred() == nullptr;
  if (is_known && !installed && m.view().device() == cpu) {
    ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
    if (numpy) {
      return give_as(library::numpy, std::move(m));
    }
    if (suppress_exception()) {
      return wrap_tensor(std::move(m));
    }
  }
  if (PyErr_Occurred() != nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  return give_own(std::move(m));
}
}  // namespace detail

DLBRIDGE_API ref give_view(member_view const& view, PyObject* object, PyObject* first_argument,
                           result_choice as) {
  if (object == nullptr) {
    set_error_text(PyExc_TypeError,
                   "a dlbridge::member_view has no object to keep alive; return it from a method");
    return ref();
  }
  managed_tensor m = build_on(object_owner(ref::borrow(object)), view.memory());
  if (!as.which && first_argument == nullptr) {
    as.which = detail::module_results.which;
  }
  if (as.which) {
    return detail::give_as(*as.which, std::move(m), as.narrows);
  }
  return first_argument != nullptr ? origin(first_argument).give(std::move(m), as.narrows)
                                   : detail::give_indexable(std::move(m));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
