// Overloads that dlbridge::def and the m.def of a binding library add to one name, in both orders.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <dlbridge/tensor.hpp>

namespace chains {
template <class T>
using span = dlbridge::tensor_span<T const, dlbridge::shape<dlbridge::dynamic_extent>>;

inline std::string of_float(span<float> const&) { return "float32"; }
inline std::string of_double(span<double> const&) { return "float64"; }
inline std::string of_text(std::string const&) { return "text"; }

/// @param by_def by_def(name, function) calls dlbridge::def, and by_library m.def
template <class Def, class Plain>
void add(Def by_def, Plain by_library) {
  by_def("def_first", &of_float);
  by_library("def_first", &of_text);
  by_def("def_first", &of_double);
  by_library("plain_first", &of_text);
  by_def("plain_first", &of_float);
  by_def("plain_first", &of_double);
  by_def("plain_last", &of_float);
  by_def("plain_last", &of_double);
  by_library("plain_last", &of_text);
}
}  // namespace chains
