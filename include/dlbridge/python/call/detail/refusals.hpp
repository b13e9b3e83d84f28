// refusals: why the arguments of one call do not fit, all of them in one TypeError.
// layer: call · IN: when the answer is no
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// Collects a reason for each argument. GIL: held throughout; no exception is pending meanwhile.
class refusals {
 public:
  refusals() noexcept : lines_(ref::steal(PyList_New(0))) {}

  /// Whether an exception of a producer's says no to one argument. What does not, such as
  /// KeyboardInterrupt or MemoryError, is to be raised as it is.
  static bool is_refusal(ref const& raised) noexcept {
    return PyErr_GivenExceptionMatches(raised.get(), PyExc_Exception) != 0 &&
           PyErr_GivenExceptionMatches(raised.get(), PyExc_MemoryError) == 0;
  }

  bool empty() const noexcept { return !lines_ || PyList_GET_SIZE(lines_.get()) == 0; }

  /// Asks a tensor argument. name may be null; position counts from 1.
  template <class P>
  DLBRIDGE_COLD void ask(tensor_argument<P>& argument, char const* name, int position) noexcept {
    if (!argument.refused()) {
      return;
    }
    if (argument.raised()) {
      add(name, position, std::move(argument.raised()));
    } else {
      add_line(name, position, ref::steal(decoded(message(argument.why()).c_str())));
    }
  }

  /// An argument that an exception speaks for.
  DLBRIDGE_COLD void add(char const* name, int position, ref raised) noexcept {
    if (!is_refusal(raised) && !stop_) {
      stop_ = ref::borrow(raised.get());
    }
    ref said = ref::steal(PyObject_Str(raised.get()));
    char const* const kind = Py_TYPE(raised.get())->tp_name;
    if (PyErr_GivenExceptionMatches(raised.get(), PyExc_TypeError) != 0 && is_untraced(raised)) {
      add_line(name, position, std::move(said));  // in our own words
      return;
    }
    add_line(name, position,
             ref::steal(said ? PyUnicode_FromFormat("%s: %U", kind, said.get())
                             : PyUnicode_FromString(kind)));
    if (!cause_) {
      cause_ = std::move(raised);
    }
  }

  /// Everything said, "argument 'x': expected ...", one line for each argument.
  DLBRIDGE_COLD ref text() const noexcept {
    ref const between = ref::steal(PyUnicode_FromString("\n  "));
    return between && lines_ ? ref::steal(PyUnicode_Join(between.get(), lines_.get())) : ref();
  }
  /// What text() was caused by, or none.
  PyObject* cause() const noexcept { return cause_.get(); }

  /// An exception that is no refusal. None as a rule.
  ref& stop() noexcept { return stop_; }

  /// Sets the TypeError: "function(): argument 'x': expected ...".
  DLBRIDGE_COLD void set_error(char const* function) noexcept {
    if (stop_) {
      set_exception(std::move(stop_));
      return;
    }
    ref const said = text();
    bool const one = lines_ && PyList_GET_SIZE(lines_.get()) == 1;
    if (said) {
      PyErr_Format(PyExc_TypeError, "%s():%s%U", function, one ? " " : "\n  ", said.get());
    }
    chain(cause_.get());
  }

  /// Makes cause, unless null, the cause of the pending exception.
  DLBRIDGE_COLD static void chain(PyObject* cause) noexcept {
    if (cause == nullptr) {
      return;
    }
    ref raised = take_exception();
    Py_INCREF(cause);
    Py_INCREF(cause);
    PyException_SetContext(raised.get(), cause);
    PyException_SetCause(raised.get(), cause);
    set_exception(std::move(raised));
  }

 private:
  static bool is_untraced(ref const& raised) noexcept {
    return !ref::steal(PyException_GetTraceback(raised.get()));
  }
  static PyObject* decoded(char const* text) noexcept {
    return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
  }

  DLBRIDGE_COLD void add_line(char const* name, int position, ref what) noexcept {
    ref const line =
        !what ? ref()
        : name != nullptr
            ? ref::steal(PyUnicode_FromFormat("argument '%s': %U", name, what.get()))
            : ref::steal(PyUnicode_FromFormat("argument %d: %U", position, what.get()));
    if (line && lines_) {
      static_cast<void>(PyList_Append(lines_.get(), line.get()));
    }
    PyErr_Clear();
  }

  ref lines_;
  ref cause_;
  ref stop_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
