// def_fast: a C++ function of tensors and numbers as a raw vectorcall function, which costs what
// plain C costs.
// layer: call · IN and OUT: a call without a dispatcher
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/detail/signature.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// What a fast function knows of itself. Behind a capsule that is the function's self.
struct fast_record {
  std::string name;
  std::vector<std::string> parameters;
  std::string doc;
  std::optional<returns> home;
  PyMethodDef definition{};

  static fast_record& of(PyObject* capsule) noexcept {
    return *static_cast<fast_record*>(PyCapsule_GetPointer(capsule, nullptr));
  }
  static void destroy(PyObject* capsule) noexcept { delete &of(capsule); }
};

// One number argument of one call.
template <class T>
class scalar_argument {
 public:
  bool load(PyObject* object) noexcept {
    if (scalar<T>::load(object, value_)) {
      return true;
    }
    raised_ = take_exception();
    return false;
  }
  T take() const noexcept { return value_; }
  ref& raised() noexcept { return raised_; }

 private:
  T value_{};
  ref raised_;
};

template <class P>
using fast_argument =
    std::conditional_t<is_tensor_parameter<P>, tensor_argument<P>, scalar_argument<P>>;

template <class P>
void ask(refusals& why, tensor_argument<P>& argument, char const* name, int position) noexcept {
  why.ask(argument, name, position);
}
template <class T>
void ask(refusals& why, scalar_argument<T>& argument, char const* name, int position) noexcept {
  if (argument.raised()) {
    why.add(name, position, std::move(argument.raised()));
  }
}

// Puts arguments given by keyword in their places. False with TypeError.
DLBRIDGE_COLD inline bool arrange(fast_record const& self, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords, PyObject** out) noexcept {
  auto const wanted = static_cast<Py_ssize_t>(self.parameters.size());
  char const* const name = self.name.c_str();
  if (count > wanted) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd argument%s, not %zd", name, wanted,
                 wanted == 1 ? "" : "s", count);
    return false;
  }
  for (Py_ssize_t i = 0; i < wanted; ++i) {
    out[i] = i < count ? args[i] : nullptr;
  }
  Py_ssize_t const given = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < given; ++k) {
    PyObject* const key = PyTuple_GET_ITEM(keywords, k);
    Py_ssize_t i = 0;
    while (i < wanted && PyUnicode_CompareWithASCIIString(
                             key, self.parameters[static_cast<std::size_t>(i)].c_str()) != 0) {
      ++i;
    }
    if (i == wanted || out[i] != nullptr) {
      PyErr_Format(PyExc_TypeError,
                   i == wanted ? "%s() got an unexpected keyword argument %R"
                               : "%s() got several values for argument %R",
                   name, key);
      return false;
    }
    out[i] = args[count + k];
  }
  for (Py_ssize_t i = 0; i < wanted; ++i) {
    if (out[i] == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() is missing argument '%s'", name,
                   self.parameters[static_cast<std::size_t>(i)].c_str());
      return false;
    }
  }
  return true;
}

template <class Callable, class Result, class... Parameters>
struct fast_call {
  static_assert(
      ((is_tensor_parameter<std::decay_t<Parameters>> || is_scalar<std::decay_t<Parameters>>) &&
       ...),
      "dlbridge: def_fast takes tensors and numbers. Use dlbridge::def for anything else");
  static_assert((!(std::is_lvalue_reference_v<Parameters> &&
                   !std::is_const_v<std::remove_reference_t<Parameters>>) &&
                 ...),
                "dlbridge: take an argument by value or by const&");
  static_assert(
      !parameter<std::decay_t<Result>>::borrows,
      "dlbridge: a tensor_span that is returned would outlive what it looks at. Return an "
      "owning tensor: managed_tensor, tensor, argument");
  static constexpr std::size_t count = sizeof...(Parameters);
  using indices = std::index_sequence_for<Parameters...>;

  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t given,
                        PyObject* keywords) noexcept {
    if (keywords == nullptr && given == Py_ssize_t{count}) {
      return run(self, args, indices());
    }
    PyObject* arranged[count + 1];
    return arrange(fast_record::of(self), args, given, keywords, arranged)
               ? run(self, arranged, indices())
               : nullptr;
  }

 private:
  using arguments = std::tuple<fast_argument<std::decay_t<Parameters>>...>;

  template <std::size_t... I>
  static PyObject* run(PyObject* self, PyObject* const* args, std::index_sequence<I...>) noexcept {
    arguments loaded;
    if (!(static_cast<unsigned>(std::get<I>(loaded).load(args[I])) & ... & 1U)) {
      refuse(self, loaded, indices());
      return nullptr;
    }
    PyObject* made = nullptr;
    try {
      if constexpr (std::is_void_v<Result>) {
        Callable::get()(std::get<I>(loaded).take()...);
        Py_INCREF(Py_None);
        made = Py_None;
      } else {
        made = give(self, Callable::get()(std::get<I>(loaded).take()...), args);
      }
    } catch (...) {
      Callable::translate();
    }
    return made;
  }

  template <class Value>
  static PyObject* give(PyObject* self, Value&& value, PyObject* const* args) {
    using type = std::decay_t<Value>;
    if constexpr (is_scalar<type>) {
      return scalar<type>::make(value);
    } else {
      static_assert(is_result<type>, "dlbridge: def_fast returns nothing, a number or a tensor");
      fast_record const& known = fast_record::of(self);
      PyObject* like = nullptr;
      if constexpr (count > 0) {
        like = first_tensor<std::decay_t<Parameters>...>(args);
      }
      return give_result(std::forward<Value>(value), like,
                         known.home ? &known.home->which : nullptr)
          .release();
    }
  }

  template <std::size_t... I>
  DLBRIDGE_COLD static void refuse(PyObject* self, arguments& loaded,
                                   std::index_sequence<I...>) noexcept {
    fast_record const& known = fast_record::of(self);
    refusals why;
    (detail::ask(why, std::get<I>(loaded), known.parameters[I].c_str(), static_cast<int>(I) + 1),
     ...);
    why.set_error(known.name.c_str());
  }
};

// A function that is known when compiling, or the one value of a class without state.
template <auto Function>
struct constant_callable {
  static constexpr auto get() noexcept { return Function; }
};
template <class Lambda>
struct kept_callable {
  DLBRIDGE_LOCAL static Lambda& get() noexcept { return *static_cast<Lambda*>(memory()); }
  DLBRIDGE_LOCAL static void keep(Lambda&& value) noexcept {
    ::new (memory()) Lambda(std::move(value));
  }

 private:
  DLBRIDGE_LOCAL static void* memory() noexcept {
    alignas(Lambda) static unsigned char bytes[sizeof(Lambda)];
    return bytes;
  }
};
/// What becomes of an exception that the function throws. The pybind11 door has one that knows
/// pybind11's as well.
struct plain_translator {
  static void translate() noexcept { set_error_thrown(); }
};

template <class Translator, class Target>
struct callable : Translator, Target {};

template <class Call, class Result, class... Parameters>
void add_fast(PyObject* module, char const* name, std::initializer_list<char const*> parameters,
              char const* doc, std::optional<returns> home) {
  auto* const record = new fast_record;
  ref const self = ref::steal(PyCapsule_New(record, nullptr, &fast_record::destroy));
  record->name = name;
  record->parameters.assign(parameters.begin(), parameters.end());
  for (std::size_t i = record->parameters.size(); i < sizeof...(Parameters); ++i) {
    record->parameters.push_back("arg" + std::to_string(i));
  }
  record->doc = signature_of<Result, Parameters...>(name, record->parameters) +
                (*doc != '\0' ? std::string("\n\n") + doc : std::string());
  record->home = home;
  record->definition = {record->name.c_str(),
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Call::call)),
                        METH_FASTCALL | METH_KEYWORDS, record->doc.c_str()};
  ref const module_name = ref::steal(PyModule_GetNameObject(module));
  ref const function =
      ref::steal(PyCFunction_NewEx(&record->definition, self.get(), module_name.get()));
  if (!function || PyObject_SetAttrString(module, name, function.get()) != 0) {
    throw python_error();
  }
}

template <class Signature>
struct fast_signature;
template <class Result, class... Parameters>
struct fast_signature<Result (*)(Parameters...)> {
  template <class Callable>
  using call = fast_call<Callable, Result, Parameters...>;
  template <class Callable>
  static void add(PyObject* module, char const* name, std::initializer_list<char const*> parameters,
                  char const* doc, std::optional<returns> home) {
    if (parameters.size() > sizeof...(Parameters)) {
      raise(refusal(errc::bad_argument, "at most one name for each parameter", name));
    }
    add_fast<call<Callable>, Result, Parameters...>(module, name, parameters, doc, home);
  }
};
template <class Result, class... Parameters>
struct fast_signature<Result (*)(Parameters...) noexcept>
    : fast_signature<Result (*)(Parameters...)> {};
}  // namespace detail

/// Adds a function of tensors and numbers to a module: def_fast<&f>(module, "f", {"x", "y"}).
/// Tensor spans are borrowed for the call; results go back as in def. Keyword arguments are
/// understood; there are no defaults, no overloads, no implicit conversions, and the GIL stays
/// held. fails: throws python_error with the exception pending.
template <auto Function, class Translator = detail::plain_translator>
void def_fast(PyObject* module, char const* name,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              std::optional<returns> home = {}) {
  using target = detail::callable<Translator, detail::constant_callable<Function>>;
  detail::fast_signature<decltype(Function)>::template add<target>(module, name, parameters, doc,
                                                                   home);
}
/// The same for a lambda that captures nothing.
template <class Lambda, class Translator = detail::plain_translator>
void def_fast(PyObject* module, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              std::optional<returns> home = {}) {
  static_assert(std::is_empty_v<Lambda>,
                "dlbridge: def_fast takes functions and lambdas that capture nothing. Use "
                "dlbridge::def for one that does");
  using target = detail::callable<Translator, detail::kept_callable<Lambda>>;
  detail::kept_callable<Lambda>::keep(std::move(lambda));
  detail::fast_signature<decltype(+std::declval<Lambda>())>::template add<target>(
      module, name, parameters, doc, home);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
