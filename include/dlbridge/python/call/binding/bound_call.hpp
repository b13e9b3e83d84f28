// bound_call: one call of a C++ function that a binding library bound; it imports and checks the
// tensors, calls the function and converts the result.
// layer: call · one call of one overload, from Python arguments to a Python result
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/load_all.hpp>
#include <dlbridge/python/call/detail/named_extents.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace binding {

// A tensor argument as the binding library passes it on. Its caster accepts every object; the
// bound_call imports and checks it, and can therefore report why it does not fit.
template <class P>
struct given_tensor {
  PyObject* object = nullptr;
};
// A tensor result that a bound_call has converted to a Python object.
template <class R>
struct made_object {
  ref object;
};

// A member_view or a container, which the caster converts: the binding library passes it the object
// of a method and the policy for objects that other code owns.
template <class R>
struct returned_value {
  R value;
  ref first_argument;  // as of give_container
  library const* target;
  bool (*may_refer_to)(PyObject*);  // whether a view may refer to this object; null: to any
};

// Whether a parameter is a container of tensors that a bound_call converts. A reference to one that
// is not const is left to the casters of the library.
template <class Library, class A>
constexpr bool is_container_parameter =
    is_container<std::decay_t<A>, typename Library::elements> &&
    !(std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>);
template <class Library, class A>
constexpr bool is_imported =
    is_tensor_parameter<std::decay_t<A>> || is_container_parameter<Library, A>;
template <class Library, class R>
constexpr bool is_converted_by_caster =
    std::is_same_v<R, member_view> || is_container_result<R, typename Library::elements>;

// The types that the binding library converts in place of a parameter type A and a result type R.
template <class Library, class A>
using library_parameter = std::conditional_t<is_imported<Library, A>,
                                             typename Library::template given<std::decay_t<A>>, A>;
template <class Library, class R>
using library_result =
    std::conditional_t<is_result<std::decay_t<R>>, made_object<std::decay_t<R>>,
                       std::conditional_t<is_converted_by_caster<Library, std::decay_t<R>>,
                                          returned_value<std::decay_t<R>>, R>>;

// The signature of a function object, Result(Parameters...).
template <class F>
struct call_signature : call_signature<decltype(&F::operator())> {};
template <class Result, class... Parameters>
struct call_signature<Result (*)(Parameters...)> {
  using type = Result(Parameters...);
};
template <class Result, class... Parameters>
struct call_signature<Result (*)(Parameters...) noexcept> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...)> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) noexcept> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) const> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) const noexcept> {
  using type = Result(Parameters...);
};

// The class of the self of a member function of Class: the class that is bound, if there is one and
// it has the function, as the base that declares it need not be bound.
template <class Bound, class Class>
using self_of = std::conditional_t<std::is_base_of_v<Class, Bound>, Bound, Class>;

// A function object that calls a member function of Self.
template <class Self, class Result, class... Parameters, class Member>
auto method_call(Member member) {
  return [member](Self& self, Parameters... arguments) -> Result {
    return (self.*member)(std::forward<Parameters>(arguments)...);
  };
}
// A function object; a pointer to a member function takes the object as its first parameter.
// Bound: the class that is bound, or void
template <class Bound, class F>
F as_function(F function) {
  return function;
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...)) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) noexcept) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) &) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) & noexcept) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const noexcept) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const&) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const& noexcept) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}

template <class Signature>
constexpr bool takes_spans = false;
template <class Result, class... Parameters>
constexpr bool takes_spans<Result(Parameters...)> =
    (detail::holds_span<std::decay_t<Parameters>>::value || ...);
template <class Signature>
constexpr bool returns_span = false;
template <class Result, class... Parameters>
constexpr bool returns_span<Result(Parameters...)> =
    detail::holds_span<std::decay_t<Result>>::value;

template <class Signature>
constexpr bool takes_lvalues = false;
template <class Result, class... Parameters>
constexpr bool takes_lvalues<Result(Parameters...)> =
    ((std::is_lvalue_reference_v<Parameters> &&
      !std::is_const_v<std::remove_reference_t<Parameters>> &&
      is_tensor_parameter<std::decay_t<Parameters>>) ||
     ...);

template <class Library, class Signature>
constexpr bool returns_lvalue = false;
template <class Library, class Result, class... Parameters>
constexpr bool returns_lvalue<Library, Result(Parameters...)> =
    std::is_lvalue_reference_v<Result> && !detail::is_copyable<std::decay_t<Result>> &&
    !std::is_same_v<library_result<Library, Result>, Result>;
template <class Library, class Signature>
constexpr bool views_unowned = false;
template <class Library, class Result, class... Parameters>
constexpr bool views_unowned<Library, Result(Parameters...)> =
    detail::is_view_or_holds_one<std::decay_t<Result>> &&
    !Library::template first_owns<Parameters...>;

// Refuses to compile a function whose tensors cannot be passed, or whose spans would outlive their
// memory.
template <class Library, bool ReleasesGil, class Signature>
constexpr void check_signature() noexcept {
  static_assert(!returns_lvalue<Library, Signature>,
                "dlbridge: a tensor is returned by value. Return one that a function takes by "
                "value with std::move; or a dlbridge::member_view, of memory of an object");
  static_assert(!views_unowned<Library, Signature>,
                "dlbridge: a member_view keeps the Python object of the first parameter alive, "
                "which must own the memory. Take a bound class there, by reference, pointer or "
                "smart pointer, or a Python object; or return an owning tensor");
  static_assert(!takes_lvalues<Signature>,
                "dlbridge: a tensor parameter is no reference to a non-const object. Take it by "
                "value or by reference to const; elements of a non-const type are writable");
  static_assert(!(ReleasesGil && takes_spans<Signature>),
                "dlbridge: a tensor_span is borrowed while the GIL is held, and this call releases "
                "it. Take an owning tensor or argument instead");
  static_assert(
      !returns_span<Signature>,
      "dlbridge: a tensor_span that is returned would outlive its memory. Return an owning tensor "
      "(managed_tensor, tensor, argument), or dlbridge::member_view from a method, which keeps the "
      "object alive");
}

/// The part of a call that is the same for all binding libraries.
/// @tparam Library the binding library: record is its function_record; elements are the conversions
/// of what containers of tensors hold besides; given<P> is its given_tensor; throw_pending() throws
/// the pending exception; first_owns<Parameters...> is whether the first parameter may refer to
/// memory of its Python object; enter(record, values...) returns the overload_call of a call, or
/// null; refuse(record, call, reasons) throws
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
  // An argument that is no tensor: the library has converted it already.
  template <class A>
  struct converted_argument {
    load_result load(PyObject*) const noexcept { return load_result::fast; }
    bool confirm() const noexcept { return true; }
  };
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
      refuse(call, arguments, std::index_sequence<Is...>());
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

  template <class A>
  static void add_if_refused(refusals&, converted_argument<A>&, char const*, int) noexcept {}
  template <class P>
  static void add_if_refused(refusals& reasons, tensor_argument<P>& argument, char const* name,
                             int position) noexcept {
    reasons.add_if_refused(argument, name, position);
  }
  template <class P>
  static void add_if_refused(refusals& reasons, container_argument<P, elements>& argument,
                             char const* name, int position) noexcept {
    reasons.add_if_refused(argument.refusal(), name, position);
  }

  template <std::size_t... Is>
  [[noreturn]] DLBRIDGE_COLD void refuse(overload_call* call, argument_tuple& arguments,
                                         std::index_sequence<Is...>) const {
    struct {
      function_record const& record;
      char const* name(std::size_t i) const noexcept { return record.parameter_name(i, count); }
      int position(std::size_t i) const noexcept { return record.position(i); }
    } const parameters{*record_};
    refusals reasons;
    (add_if_refused(reasons, std::get<Is>(arguments), parameters.name(Is), parameters.position(Is)),
     ...);
    if (!reasons) {
      detail::add_disagreements(reasons, arguments, parameters, std::index_sequence<Is...>());
    }
    Library::refuse(*record_, call, std::move(reasons));
  }

  mutable F function_;
  record_type const* record_;
};

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
