// element_refusal: states where in an argument an element does not fit, and why.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Whether the text of an exception states the reason alone: C++ code raised this TypeError.
inline bool is_complete(ref const& exception) noexcept {
  return PyErr_GivenExceptionMatches(exception.get(), PyExc_TypeError) != 0 &&
         !ref::steal(PyException_GetTraceback(exception.get()));
}

/// @return the exception that a reason states: itself, or the cause of one whose text is complete
inline ref stated_exception(ref const& exception) noexcept {
  return is_complete(exception) ? ref::steal(api<PyException_GetCause>(exception.get()))
                                : ref::borrow(exception.get());
}

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
  DLBRIDGE_COLD load_result take() noexcept {
    exception_ = take_exception();
    return load_result::refused;
  }
  /// Takes the exception of a tensor as the reason, or else the requirements that it does not meet.
  DLBRIDGE_COLD load_result take(tensor_argument_base& tensor, requirement const& need,
                                 tensor_argument_base::explanation explain) noexcept {
    if (tensor.exception()) {
      exception_ = std::move(tensor.exception());
      return load_result::refused;
    }
    api<PyErr_Format>(PyExc_TypeError, "%s", message(tensor.reason(need, explain)).c_str());
    return take();
  }

  /// States that the element is within a sequence or a mapping.
  DLBRIDGE_COLD load_result at_index(Py_ssize_t i) noexcept {
    return place(ref::steal(api<PyUnicode_FromFormat>(", element %zd%V", i, where_.get(), "")));
  }
  DLBRIDGE_COLD load_result at_key(PyObject* key) noexcept {
    ref const text = repr_of(key);
    return place(
        text ? ref::steal(api<PyUnicode_FromFormat>(", key %U%V", text.get(), where_.get(), ""))
             : ref());
  }

  /// Adds the reason of a further type that the element might have had: "...; or ...".
  DLBRIDGE_COLD void add_alternative(element_refusal&& next) noexcept {
    if (!exception_ || next.is_fatal()) {
      *this = std::move(next);
      return;
    }
    if (!next.exception_) {
      return;
    }
    ref const own = line();
    ref const other = own ? next.line() : ref();
    if (other && api<PyUnicode_Compare>(own.get(), other.get()) == 0) {
      return;
    }
    if (other) {
      ref const cause = stated_exception(exception_);
      api<PyErr_Format>(PyExc_TypeError, "%U; or %U", own.get(), other.get());
      set_cause(cause ? cause.get() : stated_exception(next.exception_).get());
    }
    take();
    where_ = ref();
  }

 private:
  // The position, without its first comma, and the reason in one text; empty with an exception set
  // on failure.
  DLBRIDGE_COLD ref line() const noexcept {
    char const* const where = where_ ? api<PyUnicode_AsUTF8>(where_.get()) : ", ";
    bool const names_class = !is_complete(exception_);
    return where == nullptr ? ref()
                            : ref::steal(api<PyUnicode_FromFormat>(
                                  "%s%s%s%s%S", where + 2, where_ ? ": " : "",
                                  names_class ? Py_TYPE(exception_.get())->tp_name : "",
                                  names_class ? ": " : "", exception_.get()));
  }
  load_result place(ref where) noexcept {
    if (!where) {
      return take();
    }
    where_ = std::move(where);
    return load_result::refused;
  }

  ref where_{};
  ref exception_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
