// How dlbridge::def binds the functions of the table of signatures, and the parts of its modules.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "library.hpp"
#include "signatures.hpp"

namespace signatures {

struct binder {
  py::module_& m;
  template <class F, class... Names>
  void operator()(char const* name, F function, Names... names) const {
    dlbridge::def(m, name, std::move(function), py::arg(names)...);
  }
};

}  // namespace signatures

void add_choices(py::module_& m);
void add_containers(py::module_& m);
void add_types(py::module_& m);
void add_others(py::module_& m);
void add_vectorized(py::module_& m);
void add_values(py::module_& m);
void add_fast(py::module_& m);
