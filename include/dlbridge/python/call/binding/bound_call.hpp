// bound_call: one call of a C++ function that a binding library bound; it imports and checks the
// tensors, calls the function and converts the result.
// layer: call · one call of one overload, from Python arguments to a Python result
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/argument_reasons.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/load_all.hpp>
#include <dlbridge/python/call/detail/named_extents.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace binding {

// An argument that is no tensor: the binding library has converted it already.
template <class A>
struct converted_argument {
  load_result load(PyObject*) const noexcept { return load_result::fast; }
  bool confirm() const noexcept { return true; }
};
template <class A>
void add_if_refused(refusals&, converted_argument<A>&, char const*, int) noexcept {}

/// The part of a call that is the same for all binding libraries.
/// @tparam Library the binding library: record is its function_record; elements are the conversions
/// of what containers of tensors hold besides; given<P> is its given_tensor; throw_pending() throws
/// the pending exception; caster<P> is its caster of a parameter that takes_ownership, and take<P>
/// of it returns the object or throws; first_owns<Parameters...> is whether the first parameter may
/// refer to memory of its Python object; enter(record, values...) returns the overload_call of a
/// call, or null; refuse(record, call, reasons) throws
/// @tparam Guard an object that lives as long as the C++ function runs
template <class Library, class F, class Guard, class Signature>
class bound_call;

template <class Library, class F, class Guard, class Result, class... Parameters>
class bound_call<Library, F, Guard, Result(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);
  using record_type = typename Library::record;

 public:
  bound_call(F function, record_type const& record)
      : function_(std::move(function)), record_(&record) {}

  library_result<Library, Result> operator()(
      library_parameter<Library, Parameters>... values) const {
    return run(std::index_sequence_for<Parameters...>(), values...);
  }

 private:
  using elements = typename Library::elements;
  template <class A, bool IsContainer = is_container_parameter<Library, A>>
  struct argument_of {
    using type = std::conditional_t<is_tensor_parameter<std::decay_t<A>>,
                                    tensor_argument<std::decay_t<A>>, converted_argument<A>>;
  };
  template <class A>
  struct argument_of<A, true> {
    using type = container_argument<std::decay_t<A>, elements>;
  };
  template <class A>
  using argument_for = typename argument_of<A>::type;
  using argument_tuple = std::tuple<argument_for<Parameters>...>;

  template <class A, class Value>
  static PyObject* object_of(Value const& value) noexcept {
    if constexpr (is_imported<Library, A>) {
      return value.object;
    } else {
      return nullptr;
    }
  }

  template <class A, class Value>
  static decltype(auto) forwarded_argument(argument_for<A>& argument, Value& value) {
    if constexpr (is_imported<Library, A>) {
      return argument.extract();
    } else if constexpr (takes_ownership<A>) {
      return Library::template take<std::decay_t<A>>(*value.caster);
    } else {
      return std::forward<A>(value);
    }
  }

  template <std::size_t... Is, class... Values>
  library_result<Library, Result> run(std::index_sequence<Is...>, Values&... values) const {
    overload_call* const call = Library::enter(*record_, values...);
    PyObject* const objects[count + 1] = {object_of<Parameters>(values)...};
    argument_tuple arguments;
    bool fits = true;
    if (call == nullptr) {
      fits = detail::load_all(arguments, objects, std::index_sequence<Is...>());
    } else {
      call->begin();
      fits = (static_cast<unsigned>(load_shared(*call, std::get<Is>(arguments), objects[Is])) &
              ... & 1U) != 0;
      fits = fits && (confirm_shared(std::get<Is>(arguments)) && ...);
    }
    if (!fits || !detail::agree_on_extents(arguments, std::index_sequence<Is...>())) {
      refuse(call, arguments);
    }
    if (call != nullptr) {
      call->accept();
    }
    if constexpr (!std::is_same_v<library_result<Library, Result>, Result>) {
      std::decay_t<Result> result =
          guarded_call(forwarded_argument<Parameters>(std::get<Is>(arguments), values)...);
      library const* const target = record_->result_library ? &*record_->result_library : nullptr;
      PyObject* const first_argument = detail::first_tensor_in(arguments);
      if constexpr (is_result<std::decay_t<Result>>) {
        return {given(give_result(std::move(result), first_argument, target))};
      } else {
        return {std::move(result), ref::borrow(first_argument), target,
                Library::template object_test<Parameters...>()};
      }
    } else {
      return guarded_call(forwarded_argument<Parameters>(std::get<Is>(arguments), values)...);
    }
  }

  template <class... Forwarded>
  Result guarded_call(Forwarded&&... arguments) const {
    try {
      [[maybe_unused]] Guard const guard{};
      return dlbridge::detail::call_guarded(
          [&]() -> Result { return function_(std::forward<Forwarded>(arguments)...); });
    } catch (python_error const& e) {
      e.restore();
      Library::throw_pending();
    }
  }

  static ref given(ref object) {
    if (!object) {
      Library::throw_pending();
    }
    return object;
  }

  template <class A>
  static bool load_shared(overload_call&, converted_argument<A>&, PyObject*) noexcept {
    return true;
  }
  template <class P>
  static bool load_shared(overload_call& call, tensor_argument<P>& argument,
                          PyObject* object) noexcept {
    return call.load(argument, object);
  }
  template <class P>
  static bool load_shared(overload_call& call, container_argument<P, elements>& argument,
                          PyObject* object) noexcept {
    return argument.load(object, call.iterators()) != load_result::refused;
  }
  // Containers borrow; shared imports own.
  template <class A>
  static bool confirm_shared(A&) noexcept {
    return true;
  }
  template <class P>
  static bool confirm_shared(container_argument<P, elements>& argument) noexcept {
    return argument.confirm();
  }

  [[noreturn]] DLBRIDGE_COLD void refuse(overload_call* call, argument_tuple& arguments) const {
    struct {
      function_record const& record;
      char const* name(std::size_t i) const noexcept { return record.parameter_name(i, count); }
      int position(std::size_t i) const noexcept { return record.position(i); }
    } const parameters{*record_};
    refusals reasons;
    detail::add_reasons(reasons, arguments, parameters, std::index_sequence_for<Parameters...>());
    Library::refuse(*record_, call, std::move(reasons));
  }

  mutable F function_;
  record_type const* record_;
};

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
