// make_function: makes the Python function of a C++ function of tensors, with the extras of
// pybind11's def.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/signature_rules.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_function.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>
#include <dlbridge/python/pybind11/detail/explanation.hpp>
#include <dlbridge/python/pybind11/detail/refused_call.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<py::call_guard<Guards...>> = true;

struct releases_gil {
  template <class Guard>
  static constexpr bool in =
      std::is_base_of_v<py::gil_scoped_release, Guard> || std::is_base_of_v<gil_release, Guard>;
};
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<py::call_guard<Guards...>> = (releases_gil::in<Guards> || ...);

// The guards that def applies: gil_release for gil_scoped_release, whose destructor ends the
// process when CPython up to 3.13 unwinds a thread at its end.
template <class Guard>
using applied_guard =
    std::conditional_t<std::is_same_v<Guard, py::gil_scoped_release>, gil_release, Guard>;
template <class Extra>
struct with_applied_guards {
  using type = Extra;
};
template <class... Guards>
struct with_applied_guards<py::call_guard<Guards...>> {
  using type = py::call_guard<applied_guard<Guards>...>;
};

template <class Extra>
void add_extra(function_record& record, Extra const& extra) {
  static_assert(!std::is_same_v<Extra, py::sibling>,
                "dlbridge: def finds the other overloads of a name itself. Leave py::sibling out");
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    if (!record.add_parameter(extra.name)) {
      throw_pending();
    }
  } else if constexpr (std::is_same_v<Extra, py::is_method>) {
    record.is_method = true;
  } else if constexpr (std::is_same_v<Extra, returns>) {
    record.results.add(extra);
  }
}

// What a record keeps of a signature. It is constant data, so that the code that reads it does not
// depend on the signature.
struct signature_facts {
  std::size_t count;                                 // of the parameters
  std::size_t positional_count;                      // of those before py::args, or of all
  argument_check const* checks;                      // of each parameter
  function_record::exact_test const* exact_tests;    // of each parameter; null if none has a test
  function_record::tensor_test const* tensor_tests;  // of each parameter; null if none has a test
  bool const* is_pack;             // whether a parameter is py::args or py::kwargs
  std::uint64_t required_tensors;  // a bit for each of the first 64 parameters that imports
                                   // tensors, and refuses None
};

// A string, of any characters.
template <class T, class = void>
constexpr bool is_string = false;
template <class T>
constexpr bool is_string<T, std::void_t<typename T::traits_type>> = true;

// Whether a parameter has an exact test. Tensors have none, nor have Python objects, which pybind11
// passes as they are, and strings, which it does not convert.
template <class P>
constexpr bool has_exact_test = !binding::is_imported<call_traits, P> &&
                                !std::is_base_of_v<py::handle, py::detail::intrinsic_t<P>> &&
                                !is_string<py::detail::intrinsic_t<P>>;

template <class P>
constexpr function_record::exact_test exact_test_of() noexcept {
  if constexpr (detail::is_bounded<std::decay_t<P>>) {
    return [](PyObject* object) noexcept {
      return is_integer<std::decay_t<P>>(object) ? conversion::none : conversion::to_integer;
    };
  } else if constexpr (has_exact_test<P>) {
    return [](PyObject* object) noexcept {
      try {
        bool const is_exact = detail::call_function(
            [&] { return py::detail::make_caster<P>().load(py::handle(object), false); });
        return is_exact ? conversion::none : conversion::other;
      } catch (...) {
        translator::translate();
        suppress_exception();  // the call of the function throws again
        return conversion::other;
      }
    };
  } else {
    return nullptr;
  }
}

template <class P>
constexpr function_record::tensor_test tensor_test_of() noexcept {
  if constexpr (is_tensor_parameter<std::decay_t<P>>) {
    return [](overload_call& call, PyObject* object) {
      return call.may_accept<std::decay_t<P>>(object);
    };
  } else {
    return nullptr;
  }
}

template <class Signature>
struct facts_of;
template <class Result, class... Parameters>
struct facts_of<Result(Parameters...)> {
  static constexpr signature_facts get() noexcept {
    constexpr bool is_args[] = {is_args_type<Parameters>..., false};
    constexpr bool is_required[] = {(binding::is_imported<call_traits, Parameters> &&
                                     !accepts_none<std::decay_t<Parameters>>)...,
                                    false};
    // Not by the pointers: GCC with -fsanitize=undefined compares them only at run time.
    constexpr bool has_tests = (has_exact_test<Parameters> || ...);
    constexpr bool has_tensors = (is_tensor_parameter<std::decay_t<Parameters>> || ...);
    std::size_t positional_count = 0;
    while (positional_count < sizeof...(Parameters) && !is_args[positional_count]) {
      ++positional_count;
    }
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof...(Parameters); ++i) {
      bits |= i < 64 ? std::uint64_t{is_required[i]} << i : 0;
    }
    return {sizeof...(Parameters),
            positional_count,
            checks,
            has_tests ? exact_tests : nullptr,
            has_tensors ? tensor_tests : nullptr,
            is_pack,
            bits};
  }

 private:
  template <class P>
  static constexpr bool is_args_type = std::is_base_of_v<py::args, std::decay_t<P>>;

  DLBRIDGE_LOCAL static constexpr argument_check checks[] = {
      &check_argument<std::decay_t<Parameters>,
                      binding::is_container_parameter<call_traits, Parameters>>...,
      nullptr};
  DLBRIDGE_LOCAL static constexpr function_record::exact_test exact_tests[] = {
      exact_test_of<Parameters>()..., nullptr};
  DLBRIDGE_LOCAL static constexpr function_record::tensor_test tensor_tests[] = {
      tensor_test_of<Parameters>()..., nullptr};
  DLBRIDGE_LOCAL static constexpr bool is_pack[] = {
      (is_args_type<Parameters> || std::is_base_of_v<py::kwargs, std::decay_t<Parameters>>)...,
      false};
};

// What pybind11 gets in place of an extra that def applies itself.
struct applied_extra {};

template <class Extra>
decltype(auto) passed_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || detail::is_own_extra<Extra>()) {
    return applied_extra();
  } else {
    return (extra);
  }
}

// A Python function, and its record, which must exist as long as the function.
struct DLBRIDGE_LOCAL made_function {
  py::object function;
  std::unique_ptr<bound_record> record;
};

// display_name: the name in messages
DLBRIDGE_COLD inline std::unique_ptr<bound_record> make_record(char const* display_name,
                                                               signature_facts const& facts) {
  auto record = std::make_unique<bound_record>(display_name);
  if (!record->parameter_names || !names::prepare()) {
    throw_pending();
  }
  record->checks = facts.checks;
  record->exact_tests = facts.exact_tests;
  record->tensor_tests = facts.tensor_tests;
  record->positional_count = facts.positional_count;
  record->parameter_count = facts.count;
  return record;
}

// Adds empty names for py::args and py::kwargs, for which pybind11 takes no py::arg.
DLBRIDGE_COLD inline void add_packs(function_record& record, signature_facts const& facts) {
  auto const packs =
      static_cast<std::size_t>(std::count(facts.is_pack, facts.is_pack + facts.count, true));
  PyObject* const names = record.parameter_names.get();
  std::size_t const named = static_cast<std::size_t>(PyList_GET_SIZE(names)) + packs;
  std::size_t const first = facts.count - (std::min)(named, facts.count);
  for (std::size_t i = first; packs != named && i < facts.count; ++i) {
    if (facts.is_pack[i] && !record.insert_parameter(i - first, nullptr)) {
      throw_pending();
    }
  }
}

template <class Callee, class... Extra>
made_function make_function(Callee callee, char const* name, char const* display_name,
                            Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::type;
  using guard = py::detail::extract_guard_t<typename with_applied_guards<Extra>::type...>;
  binding::require_signature<call_traits, (is_releasing<Extra> || ...), signature>();
  constexpr signature_facts facts = facts_of<signature>::get();
  std::unique_ptr<bound_record> record = make_record(display_name, facts);
  (add_extra(*record, extra), ...);
  add_packs(*record, facts);
  py::object function =
      py::cpp_function(bound_function<Callee, guard, signature>(std::move(callee), *record),
                       py::name(name), record_link{record.get()}, passed_extra(extra)...);
  require_defaults(*record, facts.required_tensors);
  explain_refusals(*record, function.ptr());
  return {std::move(function), std::move(record)};
}

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <>
struct process_attribute<dlbridge::python::on_pybind11::applied_extra>
    : process_attribute_default<dlbridge::python::on_pybind11::applied_extra> {};
template <>
struct process_attribute<dlbridge::returns> {
  template <class Record>
  static void init(dlbridge::returns const&, Record*) {
    static_assert(sizeof(Record) == 0,
                  "dlbridge: returns is an extra of dlbridge::def, def_static, def_property and "
                  "def_property_readonly. Bind this function with one of them");
  }
};
}  // namespace detail
}  // namespace pybind11 DLBRIDGE_LOCAL
