// member_view: a result that refers to memory of an object and keeps the object alive.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

/// A result that refers to memory of the object on which a method is called, or, with pybind11, of
/// the first positional argument of a function. The Python object that the caller receives keeps
/// that object alive. It belongs to the first of these libraries that applies: the one that
/// `returns` names, that of the first tensor argument, dlbridge (a Tensor).
/// @par Lifetime
/// The memory must not move or be freed while the Python object exists.
class member_view {
 public:
  explicit member_view(tensor_view const& view) : memory_(describe_view(view)) {}
  explicit member_view(description memory) : memory_(std::move(memory)) {}
  /// A span of const elements makes a read-only tensor.
  template <class T, class Shape, class... Constraints>
  explicit member_view(tensor_span<T, Shape, Constraints...> const& span)
      : member_view(span.view()) {}
  description const& memory() const noexcept { return memory_; }

 private:
  description memory_;
};

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

/// Converts a view to a Python object that keeps the object of the memory alive.
/// @param view the view
/// @param object the Python object whose memory it is; null if the call has none, a TypeError
/// @param first_argument the object of the first tensor argument of the call, or null
/// @param as as of give_result
/// @return the object, or an empty ref with a Python exception set
/// @throws error if the memory is described wrongly
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref give_view(member_view const& view, PyObject* object, PyObject* first_argument,
                     returns as) {
  if (object == nullptr) {
    set_error_text(PyExc_TypeError,
                   "a dlbridge::member_view has no object to keep alive; return it from a method");
    return ref();
  }
  managed_tensor m = build_on(object_owner(ref::borrow(object)), view.memory());
  if (as.which) {
    return give_as(*as.which, std::move(m), as.narrows);
  }
  return first_argument != nullptr ? origin(first_argument).give(std::move(m), as.narrows)
                                   : detail::give_indexable(std::move(m));
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
