// element_refusal: states where in an argument an element does not fit, and why.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Whether the text of an exception states the reason alone: C++ code raised this TypeError.
bool is_complete(ref const& exception) noexcept;

/// @return the exception that a reason states: itself, or the cause of one whose text is complete
ref stated_exception(ref const& exception) noexcept;

/// The reason why one element of an argument does not fit, and its position: "element 3", "key
/// 'x'".
/// @par Thread and GIL
/// The caller holds the GIL as long as the object exists.
class element_refusal {
 public:
  /// @return the position as text, ", element 3"; empty for the argument itself
  ref const& where() const noexcept { return where_; }
  /// @return the exception that states the reason, or none
  ref& exception() noexcept { return exception_; }
  /// Whether the exception means that the element does not fit. Others end the call.
  bool is_fatal() const noexcept { return exception_ && !is_suppressible(exception_.get()); }

  /// Takes the pending exception as the reason.
  /// @return load_result::refused
  DLBRIDGE_COLD load_result take() noexcept;
  /// Takes the exception of a tensor as the reason, or else the requirements that it does not meet.
  DLBRIDGE_COLD load_result take(tensor_argument_base& tensor, requirement const& need,
                                 tensor_argument_base::explanation explain) noexcept;

  /// States that the element is within a sequence or a mapping.
  DLBRIDGE_COLD load_result at_index(Py_ssize_t i) noexcept;
  DLBRIDGE_COLD load_result at_key(PyObject* key) noexcept;

  /// Adds the reason of a further type that the element might have had: "...; or ...".
  DLBRIDGE_COLD void add_alternative(element_refusal&& next) noexcept;

 private:
  // The position, without its first comma, and the reason in one text; empty with an exception set
  // on failure.
  DLBRIDGE_COLD ref line() const noexcept;
  load_result place(ref where) noexcept;

  ref where_{};
  ref exception_{};
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/element_refusal.ipp>
#endif
