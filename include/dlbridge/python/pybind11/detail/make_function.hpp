// make_function: makes the Python function of a C++ function of tensors, with the extras of
// pybind11's def.
// layer: bindings · from a C++ function to a Python function
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/signature_rules.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_function.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>
#include <dlbridge/python/pybind11/detail/call_reasons.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<py::call_guard<Guards...>> = true;

struct releases_gil {
  template <class Guard>
  static constexpr bool in = std::is_same_v<Guard, py::gil_scoped_release>;
};
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<py::call_guard<Guards...>> = (releases_gil::in<Guards> || ...);

template <class Extra>
void record_extra(function_record& record, Extra const& extra) {
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    if (!record.add_parameter(extra.name)) {
      throw_pending();
    }
  } else if constexpr (std::is_same_v<Extra, py::is_method>) {
    record.is_method = true;
  } else if constexpr (std::is_same_v<Extra, returns>) {
    record.result_library = extra.which;
  }
}

// Adds empty names for py::args and py::kwargs, for which pybind11 takes no py::arg.
template <class Signature>
struct packs_of;
template <class Result, class... Parameters>
struct packs_of<Result(Parameters...)> {
  static void record(function_record& record) {
    constexpr bool is_pack[] = {(std::is_base_of_v<py::args, std::decay_t<Parameters>> ||
                                 std::is_base_of_v<py::kwargs, std::decay_t<Parameters>>)...,
                                false};
    std::size_t packs = 0;
    for (bool const each : is_pack) {
      packs += each ? 1 : 0;
    }
    PyObject* const names = record.parameter_names.get();
    std::size_t const named = static_cast<std::size_t>(PyList_GET_SIZE(names)) + packs;
    std::size_t const first = sizeof...(Parameters) - (std::min)(named, sizeof...(Parameters));
    for (std::size_t i = first; packs != named && i < sizeof...(Parameters); ++i) {
      if (is_pack[i] && !record.insert_parameter(i - first, nullptr)) {
        throw_pending();
      }
    }
  }
};

// A bit for each of the first 64 parameters that imports tensors, and refuses None.
template <class Signature>
constexpr std::uint64_t required_tensors = 0;
template <class Result, class... Parameters>
constexpr std::uint64_t required_tensors<Result(Parameters...)> = [] {
  constexpr bool is_required[] = {(binding::is_imported<pybind11_calls, Parameters> &&
                                   !accepts_none<std::decay_t<Parameters>>)...,
                                  false};
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof...(Parameters) && i < 64; ++i) {
    bits |= std::uint64_t{is_required[i]} << i;
  }
  return bits;
}();

// A tuple of the extra if pybind11 applies it, otherwise an empty one.
template <class Extra>
auto pybind11_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || is_own_extra<Extra>()) {
    return std::tuple<>();
  } else {
    return std::tuple<Extra const&>(extra);
  }
}

// A Python function, and its record, which must exist as long as the function.
struct DLBRIDGE_LOCAL made_function {
  py::object function;
  std::unique_ptr<bound_record> record;
};

// display_name: the name in messages
template <class Callee, class... Extra>
made_function make_function(Callee callee, char const* name, char const* display_name,
                            Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::type;
  using guard = py::detail::extract_guard_t<Extra...>;
  using body_type = bound_function<Callee, guard, signature>;
  binding::check_signature<pybind11_calls, (is_releasing<Extra> || ...), signature>();
  auto record = std::make_unique<bound_record>(display_name);
  if (!record->parameter_names || !names::prepare()) {
    throw_pending();
  }
  record->checks = checks_of<signature>::all;
  (record_extra(*record, extra), ...);
  packs_of<signature>::record(*record);
  exact_tests_of<signature>::record(*record);
  body_type body(std::move(callee), *record);
  auto extras = std::tuple_cat(pybind11_extra(extra)...);
  py::object function = std::apply(
      [&](auto const&... own) -> py::object {
        return py::cpp_function(std::move(body), py::name(name), record_link{record.get()}, own...);
      },
      extras);
  check_defaults(*record, required_tensors<signature>);
  explain_refusals(*record, function.ptr());
  return {std::move(function), std::move(record)};
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

namespace pybind11 {
namespace detail {
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
}  // namespace pybind11
