// member_view: a result that refers to memory of an object and keeps the object alive.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// A result that refers to memory of the object on which a method is called, or, with pybind11, of
/// the first positional argument of a function. The Python object that the caller receives keeps
/// that object alive. It belongs to the first of these libraries that applies: the one that
/// `returns` names, that of the first tensor argument, dlbridge (a Tensor).
/// @par Lifetime
/// The memory must not move or be freed while the Python object exists.
class member_view {
 public:
  /// Views a tensor, or memory that is described.
  explicit member_view(tensor_view const& view) : memory_(describe_view(view)) {}
  explicit member_view(description memory) : memory_(std::move(memory)) {}  ///< From a description.
  /// A span of const elements makes a read-only tensor.
  template <class T, class Shape, class... Constraints>
  explicit member_view(tensor_span<T, Shape, Constraints...> const& span)
      : member_view(span.view()) {}
  description const& memory() const noexcept { return memory_; }  ///< What it describes.

 private:
  description memory_;
};

namespace python {
/// Converts a view to a Python object that keeps the object of the memory alive.
/// @param view the view
/// @param object the Python object whose memory it is; null if the call has none, a TypeError
/// @param first_argument the object of the first tensor argument of the call, or null
/// @param as as of give_result
/// @return the object, or an empty ref with a Python exception set
/// @throws error if the memory is described wrongly
/// @pre The caller holds the GIL.
ref give_view(member_view const& view, PyObject* object, PyObject* first_argument,
              result_choice as);
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/member_view.ipp>
#endif
