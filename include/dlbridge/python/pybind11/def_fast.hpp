// dlbridge::def_fast for pybind11 modules.
// layer: bindings · IN and OUT: a call without a dispatcher
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include <dlbridge/python/call/def_fast.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// python::def_fast for a pybind11 module; exceptions of pybind11's are understood too:
/// def_fast<&f>(m, "f", {"x", "y"}, "What it does.", returns{library::numpy}).
template <auto Function>
void def_fast(pybind11::module_& m, char const* name,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              std::optional<returns> home = {}) {
  python::def_fast<Function, python::detail::pybind11_translator>(m.ptr(), name, parameters, doc,
                                                                  home);
}
template <class Lambda>
void def_fast(pybind11::module_& m, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              std::optional<returns> home = {}) {
  python::def_fast<Lambda, python::detail::pybind11_translator>(m.ptr(), name, std::move(lambda),
                                                                parameters, doc, home);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
