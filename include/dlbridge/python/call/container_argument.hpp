// container_argument<P>: one argument of one call that is a container of tensors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <tuple>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// One argument of one call that is a container of tensors, with the members of tensor_argument
/// that a call needs. Its elements are borrowed or owned as parameters of their type are.
/// @tparam P the container: see is_container
/// @par Lifetime
/// The object must outlive this container_argument, and this one what extract returns if that
/// borrows.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
template <class P>
class container_argument {
 public:
  container_argument() noexcept {}  ///< Not loaded.

  /// Converts the elements of an object.
  /// @param object the object
  /// @param how without convert, accepts numbers only as they are, and no iterator, whose elements
  /// a further attempt would lack
  /// @return refused if one of them does not fit; refusal() then states why. No exception is
  /// pending afterwards.
  load_result load(PyObject* object, load_options how = {}) noexcept {
    return element_.load(object, how, why_);
  }
  /// Whether the exception of an element ends the call.
  bool is_fatal() const noexcept { return why_.is_fatal(); }
  /// Takes the tensors from the imports of a call, as tensor_argument::claim.
  bool claim(bool& runs_python) noexcept { return element_.claim(runs_python, why_); }
  /// Reads the tensors once more, as tensor_argument::confirm.
  bool confirm() noexcept { return element_.confirm(why_); }
  /// The container, as the function takes it.
  /// @pre load returned a result other than refused; extract has not been called before
  P extract() { return element_.extract(); }

  element_refusal& refusal() noexcept { return why_; }  ///< Why load refused it.
  /// The first object in the container that is a tensor, borrowed, or null.
  PyObject* first_tensor() noexcept { return element_.first_tensor(); }

 private:
  element_argument<P> element_{};
  element_refusal why_{};
};

namespace detail {
template <class P>
PyObject* first_in(tensor_argument<P>& argument) noexcept {
  return argument.is_tensor() ? argument.object() : nullptr;
}
template <class P>
PyObject* first_in(container_argument<P>& argument) noexcept {
  return argument.first_tensor();
}
template <class Other>
PyObject* first_in(Other&) noexcept {
  return nullptr;
}

/// @return the first tensor among the arguments of a call and their elements, borrowed; without
/// one, the first number, list or buffer in place of a tensor, or null
template <class... Arguments>
PyObject* first_tensor_in(std::tuple<Arguments...>& arguments) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/container_argument.inl>
