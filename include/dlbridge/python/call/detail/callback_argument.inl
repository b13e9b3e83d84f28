// adapted_callback: a C++ function that gives tensors to Python code, and checks what that returns.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
/// The function object that a parameter of type F, such as a std::function, gets for a callback.
/// @par Thread and GIL
/// Any thread may call it. It acquires the GIL.
template <class Library, class F>
class adapted_callback;
template <class Library, template <class> class Function, class R, class... Parameters>
class adapted_callback<Library, Function<R(Parameters...)>> {
  using function = typename callback<Function<R(Parameters...)>>::function;
  static_assert(!detail::holds_span<R>::value,
                "dlbridge: a tensor_span that a callback returns would outlive its memory. Let it "
                "return an owning tensor, such as tensor<T const>");

 public:
  adapted_callback(function&& called, function_record const& record, std::size_t parameter)
      : called_(std::move(called)),
        name_(record.name + "(): the result of " + name_in(record, parameter)) {}

  /// Throws the pending exception of the binding library: TypeError for a result that does not fit.
  R operator()(Parameters... arguments) const {
    gil_hold const gil;
    if constexpr (!callback<Function<R(Parameters...)>>::is_checked) {
      return called_(given<Parameters>(arguments)...);
    } else {
      ref const object = called_(given<Parameters>(arguments)...).object;
      detail::loader_of<R> loader;
      if (load_argument<R>(loader, object.get(), true) == load_result::refused) {
        refusals reasons;
        detail::add_if_refused(reasons, loader, nullptr, 0);
        reasons.set_error(name_.c_str());
        Library::throw_pending();
      }
      return loader.extract();
    }
  }

 private:
  template <class P>
  static decltype(auto) given(std::remove_reference_t<P>& argument) {
    if constexpr (is_result<P>) {
      made_object<P, place::result> made{python::give_result(std::move(argument))};
      if (!made.object) {
        Library::throw_pending();
      }
      return made;
    } else {
      return static_cast<P&&>(argument);
    }
  }
  static std::string name_in(function_record const& record, std::size_t parameter) {
    char const* const name = record.name_of(parameter);
    return name != nullptr ? name : "argument " + std::to_string(record.position(parameter));
  }

  function called_;
  std::string name_;
};
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
