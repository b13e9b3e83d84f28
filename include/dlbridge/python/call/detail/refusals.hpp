// refusals: collects the reasons why the arguments of one call do not fit, and raises them in one
// TypeError.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The reasons why the arguments of one call do not fit, one for each refused argument.
/// @par Thread and GIL
/// The caller holds the GIL as long as the object exists. No exception is pending when it calls a
/// member.
class refusals {
 public:
  /// @return whether an exception that a producer raised means that its object does not fit. Other
  /// exceptions, such as KeyboardInterrupt and MemoryError, end the call unchanged.
  static bool is_refusal(ref const& exception) noexcept { return is_suppressible(exception.get()); }

  /// Adds the reason of a tensor argument, if the argument is refused.
  /// @param argument the argument, after it was loaded
  /// @param name the parameter's name, or null
  /// @param position the position of the argument, counted from 1
  template <class P>
  void add_if_refused(tensor_argument<P>& argument, char const* name, int position) noexcept {
    if (argument.is_tensor()) {
      add_if_refused(argument, tensor_argument<P>::need, tensor_argument<P>::explain, name,
                     position);
    }
  }

  /// Adds the reason of a container argument, if one of its elements is refused.
  DLBRIDGE_COLD void add_if_refused(element_refusal& why, char const* name, int position) noexcept {
    if (why.exception()) {
      add(name, position, std::move(why.exception()), why.where().get());
    }
  }

  /// Adds a report as the reason of an argument.
  DLBRIDGE_COLD void add(report const& why, char const* name, int position) noexcept {
    if (!*this && name != nullptr && is_short(name)) {
      append_message(only_.append("argument '").append(name).append("': "), why);
    } else {
      add_line(name, position, message(why).c_str());
    }
  }

  /// Adds an exception as the reason of an argument.
  /// @param where the position of an element within the argument, a str, or null
  DLBRIDGE_COLD void add(char const* name, int position, ref exception,
                         PyObject* where = nullptr) noexcept {
    if (!is_refusal(exception) && !fatal_) {
      fatal_ = ref::borrow(exception.get());
    }
    ref message = ref::steal(api<PyObject_Str>(exception.get()));
    if (!message && !suppress_exception()) {
      take_failure();
    }
    bool const names_class = !message || !is_complete(exception);
    add_line(name, position, names_class ? Py_TYPE(exception.get())->tp_name : "", message.get(),
             names_class && message ? ": " : "", where);
    if (!cause_) {
      cause_ = stated_exception(exception);
    }
  }

  /// Adds the reason of the call as a whole, such as "takes 1 argument, not 2".
  void add_about_call(PyObject* text) noexcept {
    first_ = ref::borrow(text);
    is_about_call_ = true;
  }

  /// @return whether there is a reason or a fatal exception
  explicit operator bool() const noexcept { return !only_.empty() || first_ || fatal_; }

  /// @return all reasons, one line for each argument: "argument 'x': expected ..."
  DLBRIDGE_COLD ref text() const noexcept {
    if (!others_) {
      return first_ ? ref::borrow(first_.get()) : decoded(only_);
    }
    ref const separator = ref::steal(api<PyUnicode_FromString>("\n  "));
    return separator ? ref::steal(api<PyUnicode_Join>(separator.get(), others_.get())) : ref();
  }
  /// @return the first exception among the reasons, borrowed, or null
  PyObject* cause() const noexcept { return cause_.get(); }

  /// @return the first exception that is no refusal, or none
  ref& fatal_exception() noexcept { return fatal_; }

  /// Sets the fatal exception, if there is one, or else the TypeError "function(): argument 'x':
  /// expected ...".
  /// @param function the name of the function, or null to omit it
  DLBRIDGE_COLD void set_error(char const* function) noexcept {
    if (fatal_) {
      set_exception(std::move(fatal_));
      return;
    }
    if (!only_.empty() && function != nullptr && is_short(function)) {
      line_text all(function);
      all.append("(): ").append(only_.c_str(), only_.size());
      if (ref const whole = decoded(all)) {
        api<PyErr_SetObject>(PyExc_TypeError, whole.get());
      }
      return;
    }
    ref const reasons = text();
    if (reasons && function == nullptr) {
      api<PyErr_SetObject>(PyExc_TypeError, reasons.get());
    } else if (reasons) {
      api<PyErr_Format>(PyExc_TypeError, "%s()%s%s%U", function, is_about_call_ ? "" : ":",
                        others_ ? "\n  " : " ", reasons.get());
    }
    set_cause(cause_.get());
  }

 private:
  DLBRIDGE_COLD void add_if_refused(tensor_argument_base& argument, requirement const& need,
                                    tensor_argument_base::explanation explain, char const* name,
                                    int position) noexcept {
    if (argument.exception()) {
      add(name, position, std::move(argument.exception()));
      return;
    }
    report const why = argument.reason(need, explain);
    if (!why.ok()) {
      add(why, name, position);
    }
  }

  // A name that does not truncate the message that names it.
  static bool is_short(char const* name) noexcept {
    constexpr std::size_t limit = 100;
    return std::strlen(name) <= limit;
  }
  using line_text = bounded_text<896>;  // a message_text with two such names
  static ref decoded(line_text const& text) noexcept {
    return ref::steal(
        api<PyUnicode_DecodeUTF8>(text.c_str(), static_cast<Py_ssize_t>(text.size()), "replace"));
  }

  // Adds a line of text about an argument, which has a name or a position, or neither if it is the
  // only one. The text may be followed by `between` and `more`. A byte that is no UTF-8, as
  // truncation may split a character, is replaced.
  DLBRIDGE_COLD void add_line(char const* name, int position, char const* text,
                              PyObject* more = nullptr, char const* between = "",
                              PyObject* where = nullptr) noexcept {
    if (!only_.empty()) {
      first_ = decoded(only_);
      only_ = line_text();
      if (!first_) {
        take_failure();
      }
    }
    ref line =
        ref::steal(name != nullptr ? api<PyUnicode_FromFormat>("argument '%s'%V: %s%s%V", name,
                                                               where, "", text, between, more, "")
                   : position != 0 ? api<PyUnicode_FromFormat>("argument %d%V: %s%s%V", position,
                                                               where, "", text, between, more, "")
                                   : api<PyUnicode_FromFormat>("%s%s%V", text, between, more, ""));
    if (line && !first_) {
      first_ = std::move(line);
      return;
    }
    if (line && !others_) {
      others_ = ref::steal(api<PyList_New>(0));
      if (others_ && api<PyList_Append>(others_.get(), first_.get()) != 0) {
        others_ = ref();
      }
    }
    if (!line || !others_ || api<PyList_Append>(others_.get(), line.get()) != 0) {
      take_failure();
    }
  }

  // The exception of a message that could not be written ends the call.
  DLBRIDGE_COLD void take_failure() noexcept {
    ref failure = take_exception();
    if (!fatal_) {
      fatal_ = std::move(failure);
    }
  }

  bool is_about_call_ = false;
  line_text only_{};  // the first line, if it is a report without another line: it costs least
  ref first_{};       // the first line otherwise
  ref others_{};      // a list of all lines, if there are several
  ref cause_{};
  ref fatal_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
