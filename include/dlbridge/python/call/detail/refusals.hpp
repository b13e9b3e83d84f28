// refusals: collects the reasons why the arguments of one call do not fit, and raises them in one
// TypeError.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
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
  DLBRIDGE_COLD void add_if_refused(element_refusal& why, char const* name, int position) noexcept;

  /// Adds a report as the reason of an argument.
  DLBRIDGE_COLD void add(report const& why, char const* name, int position) noexcept;

  /// Adds an exception as the reason of an argument.
  /// @param where the position of an element within the argument, a str, or null
  DLBRIDGE_COLD void add(char const* name, int position, ref exception,
                         PyObject* where = nullptr) noexcept;

  /// Adds the reason of the call as a whole, such as "takes 1 argument, not 2".
  void add_about_call(PyObject* text) noexcept;

  /// @return whether there is a reason or a fatal exception
  explicit operator bool() const noexcept { return !only_.empty() || first_ || fatal_; }

  /// @return all reasons, one line for each argument: "argument 'x': expected ..."
  DLBRIDGE_COLD ref text() const noexcept;
  /// @return the first exception among the reasons, borrowed, or null
  PyObject* cause() const noexcept { return cause_.get(); }

  /// @return the first exception that is no refusal, or none
  ref& fatal_exception() noexcept { return fatal_; }

  /// Sets the fatal exception, if there is one, or else the TypeError "function(): argument 'x':
  /// expected ...".
  /// @param function the name of the function, or null to omit it
  DLBRIDGE_COLD void set_error(char const* function) noexcept;

 private:
  DLBRIDGE_COLD void add_if_refused(tensor_argument_base& argument, requirement const& need,
                                    tensor_argument_base::explanation explain, char const* name,
                                    int position) noexcept;

  // A name that does not truncate the message that names it.
  static bool is_short(char const* name) noexcept;
  using line_text = bounded_text<896>;  // a message_text with two such names
  static ref decoded(line_text const& text) noexcept;

  // Adds a line of text about an argument, which has a name or a position, or neither if it is the
  // only one. The text may be followed by `between` and `more`. A byte that is no UTF-8, as
  // truncation may split a character, is replaced.
  DLBRIDGE_COLD void add_line(char const* name, int position, char const* text,
                              PyObject* more = nullptr, char const* between = "",
                              PyObject* where = nullptr) noexcept;

  // The exception of a message that could not be written ends the call.
  DLBRIDGE_COLD void take_failure() noexcept;

  bool is_about_call_ = false;
  line_text only_{};  // the first line, if it is a report without another line: it costs least
  ref first_{};       // the first line otherwise
  ref others_{};      // a list of all lines, if there are several
  ref cause_{};
  ref fatal_{};
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/refusals.ipp>
#endif
