// checked_callback: a C++ function that calls Python code, and checks what that returns.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
/// The function object that a parameter of type F, such as a std::function, gets for a callback.
/// @par Thread and GIL
/// Any thread may call it. It acquires the GIL.
template <class Library, class F>
class checked_callback {
  using result = typename callback<F>::result;
  using function = typename callback<F>::function;

 public:
  checked_callback(function&& called, function_record const& record, std::size_t parameter)
      : called_(std::move(called)),
        name_(record.name + "(): the result of " + name_in(record, parameter)) {}

  /// Throws the pending exception of the binding library: TypeError for a result that does not fit.
  template <class... Arguments>
  result operator()(Arguments&&... arguments) const {
    gil_hold const gil;
    ref const object = called_(std::forward<Arguments>(arguments)...).object;
    detail::loader_of<result> loader;
    if (load_argument<result>(loader, object.get(), true) == load_result::refused) {
      refusals reasons;
      detail::add_if_refused(reasons, loader, nullptr, 0);
      reasons.set_error(name_.c_str());
      Library::throw_pending();
    }
    return loader.extract();
  }

 private:
  static std::string name_in(function_record const& record, std::size_t parameter) {
    char const* const name = record.name_of(parameter);
    return name != nullptr ? name : "argument " + std::to_string(record.position(parameter));
  }

  function called_;
  std::string name_;
};
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
