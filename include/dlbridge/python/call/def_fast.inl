// The inline bodies of def_fast.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/def_fast.hpp>
#include <dlbridge/python/call/detail/annotation.hpp>
#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The callable of a fast call: a function, known at compile time.
template <auto Function>
struct constant_callable {
  static constexpr auto get() noexcept { return Function; }
};
template <class Translator, class Target>
struct callable : Translator, Target {};

// The function that Python calls: that of a fast_call.
using fast_function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

DLBRIDGE_COLD void add_fast(PyObject* module, char const* name,
                            std::initializer_list<char const*> parameters, char const* doc,
                            result_choice results, fast_function call,
                            signature_annotations const& annotations);

template <class Signature>
struct fast_signature;
template <class Result, class... Parameters>
struct fast_signature<Result (*)(Parameters...)> {
  template <class Callable, place Place>
  static void add(PyObject* module, char const* name, std::initializer_list<char const*> parameters,
                  char const* doc, result_choice results);
};
template <class Result, class... Parameters>
struct fast_signature<Result (*)(Parameters...) noexcept>
    : fast_signature<Result (*)(Parameters...)> {};

// Writes the arguments to `bound` in the order of the parameters. False with TypeError if they are
// not one for each parameter.
DLBRIDGE_COLD bool bind_or_raise(function_record const& record, call_arguments const& call,
                                 PyObject** bound) noexcept;
}  // namespace python::detail

namespace python {
namespace detail {
// The self of a Python function that def_fast made (record_owner.ipp).
struct record_owner {
  PyObject head;
  function_record* record;
  PyObject* module_name;
};
inline record_owner& owner_in(PyObject* self) noexcept {
  return *reinterpret_cast<record_owner*>(self);
}

// The properties of a fast function.
struct fast_record : function_record {
  using function_record::function_record;

  std::string doc{};
  PyMethodDef definition{};

  static fast_record& of(PyObject* self) noexcept {
    return *static_cast<fast_record*>(owner_in(self).record);
  }
};

template <class Callable, class Result, class... Parameters>
struct fast_call {
  static_assert(
      ((is_tensor_parameter<std::decay_t<Parameters>> || is_number_type<std::decay_t<Parameters>> ||
        is_container<std::decay_t<Parameters>>) &&
       ...),
      "dlbridge: def_fast takes tensors, numbers and containers of tensors. Use dlbridge::def for "
      "anything else");
  static_assert((!(std::is_lvalue_reference_v<Parameters> &&
                   !std::is_const_v<std::remove_reference_t<Parameters>>) &&
                 ...),
                "dlbridge: take an argument by value or by const&");
  static_assert(
      !holds_span<std::decay_t<Result>>::value,
      "dlbridge: a tensor_span that is returned would outlive its memory. Return an owning "
      "tensor: managed_tensor, tensor, argument");
  static_assert(!is_character<std::decay_t<Result>> &&
                    !(is_character<std::decay_t<Parameters>> || ...),
                "dlbridge: def_fast converts no text of one character. Use dlbridge::def; or take "
                "an integer, such as std::int8_t");
  static constexpr std::size_t count = sizeof...(Parameters);
  using indices = std::index_sequence_for<Parameters...>;

  DLBRIDGE_ALIGNED static PyObject* call(PyObject* self, PyObject* const* args,
                                         Py_ssize_t positional_count, PyObject* keywords) noexcept {
    PyObject* bound[count + 1];
    if (keywords != nullptr || positional_count != Py_ssize_t{count}) {
      if (!bind_or_raise(fast_record::of(self),
                         {args, static_cast<std::size_t>(positional_count), keywords}, bound)) {
        return nullptr;
      }
      args = bound;
    }
    return run(self, args, indices());
  }

 private:
  // More arguments than these are loaded out of line: several kilobytes for each argument would not
  // stay in the processor's cache.
  static constexpr std::size_t most_in_line = 3;

  // Returns false after a fatal exception, which ends the call before the next is loaded.
  template <class P>
  DLBRIDGE_INLINE static bool load(loaded_argument<P>& value, PyObject* object) noexcept {
    value.result = value.argument.load(object);
    return value.result != load_result::refused || !value.argument.is_fatal();
  }
  template <class P>
  DLBRIDGE_NOINLINE static bool load_out_of_line(loaded_argument<P>& value,
                                                 PyObject* object) noexcept {
    return load(value, object);
  }

  template <std::size_t... Is>
  DLBRIDGE_INLINE static PyObject* run(PyObject* self, PyObject* const* args,
                                       std::index_sequence<Is...>) noexcept {
    std::tuple<loaded_argument<std::decay_t<Parameters>>...> values;
    if constexpr (count <= most_in_line) {
      static_cast<void>((load(std::get<Is>(values), args[Is]) && ...));
    } else {
      static_cast<void>((load_out_of_line(std::get<Is>(values), args[Is]) && ...));
    }
    auto arguments = std::tie(std::get<Is>(values).argument...);
    using check = argument_check<loaded_argument<std::decay_t<Parameters>>...>;
    if (check::accept(std::get<Is>(values)...) != verdict::accepted) {
      set_reasons(arguments, fast_record::of(self), indices());
      return nullptr;
    }
    PyObject* result = nullptr;
    try {
      if constexpr (std::is_void_v<Result>) {
        call_function([&] { Callable::get()(std::get<Is>(arguments).extract()...); });
        Py_INCREF(Py_None);
        result = Py_None;
      } else {
        result = to_python(self, call_function([&]() -> decltype(auto) {
                             return Callable::get()(std::get<Is>(arguments).extract()...);
                           }),
                           arguments);
      }
    } catch (...) {
      Callable::translate();
    }
    return result;
  }

  template <class Value, class Loaders>
  static PyObject* to_python(PyObject* self, Value&& value, Loaders& arguments) {
    using type = std::decay_t<Value>;
    if constexpr (is_number_type<type>) {
      return scalar<type>::make(value);
    } else {
      constexpr bool is_list = is_container_result<type> && !is_view_or_holds_one<type>;
      static_assert(is_result<type> || is_list,
                    "dlbridge: def_fast returns nothing, a number, a tensor or a container of "
                    "tensors");
      fast_record const& record = fast_record::of(self);
      PyObject* const first_argument = first_tensor_in(arguments);
      if constexpr (is_result<type>) {
        return python::give_result(std::forward<Value>(value), first_argument, record.results)
            .release();
      } else if constexpr (is_list) {
        return give_container(std::forward<Value>(value), first_argument, record.results).release();
      } else {
        return nullptr;
      }
    }
  }
};

// The callable of a fast call: a lambda without captures. Lambdas of C++17 have no default
// constructor, so that one object is stored for each type.
template <class Lambda>
struct stored_callable {
  DLBRIDGE_LOCAL static Lambda& get() noexcept { return *static_cast<Lambda*>(memory()); }
  DLBRIDGE_LOCAL static void store(Lambda&& value) noexcept {
    ::new (memory()) Lambda(std::move(value));
  }

 private:
  DLBRIDGE_LOCAL static void* memory() noexcept {
    alignas(Lambda) static unsigned char bytes[sizeof(Lambda)];
    return bytes;
  }
};

template <class Result, class... Parameters>
template <class Callable, place Place>
void fast_signature<Result (*)(Parameters...)>::add(PyObject* module, char const* name,
                                                    std::initializer_list<char const*> parameters,
                                                    char const* doc, result_choice results) {
  add_fast(module, name, parameters, doc, results,
           &fast_call<Callable, Result, Parameters...>::call,
           annotations_of_signature<Place, Result, Parameters...>::get());
}
}  // namespace detail

template <auto Function, class Translator, class Results>
void def_fast(PyObject* module, char const* name, std::initializer_list<char const*> parameters,
              char const* doc, Results results) {
  using target = detail::callable<Translator, detail::constant_callable<Function>>;
  detail::fast_signature<decltype(Function)>::template add<target, result_place<Results>>(
      module, name, parameters, doc, results);
}

template <class Lambda, class Translator, class Results>
void def_fast(PyObject* module, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters, char const* doc, Results results) {
  static_assert(std::is_empty_v<Lambda>,
                "dlbridge: def_fast takes functions and lambdas that capture nothing. Use "
                "dlbridge::def for one that does");
  using target = detail::callable<Translator, detail::stored_callable<Lambda>>;
  detail::stored_callable<Lambda>::store(std::move(lambda));
  detail::fast_signature<decltype(+std::declval<Lambda>())>::template add<target,
                                                                          result_place<Results>>(
      module, name, parameters, doc, results);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
