// binder: binds one C++ function in three ways, by dlbridge::def, the binding library and def_fast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "library.hpp"

/// @return the address of a tensor's first element, which tests compare to detect a copy
inline std::uintptr_t address_of(dlbridge::tensor_view const& view) {
  return reinterpret_cast<std::uintptr_t>(view.data());
}
inline std::uintptr_t address_of(dlbridge::managed_tensor const& tensor) {
  return address_of(tensor.view());
}
template <class Tensor>
std::uintptr_t address_of(Tensor const& tensor) {
  return address_of(tensor.view());
}
template <class Tensor>
std::optional<std::uintptr_t> address_of(std::optional<Tensor> const& tensor) {
  return tensor ? std::optional<std::uintptr_t>(address_of(*tensor)) : std::nullopt;
}

/// The submodules by_def, by_library and by_fast, which hold the same functions.
struct binder {
  py::module_ by_def;
  py::module_ by_library;
  py::module_ by_fast;

  explicit binder(py::module_& m)
      : by_def(submodule(m, "by_def")),
        by_library(submodule(m, "by_library")),
        by_fast(submodule(m, "by_fast")) {}

  template <class Lambda>
  void add(char const* name, Lambda function) {
    dlbridge::def(by_def, name, function, py::arg("x"));
    by_library.def(name, function, py::arg("x"));
    dlbridge::def_fast(by_fast, name, function, {"x"});
  }

 private:
  static py::module_ submodule(py::module_& m, char const* name) {
    if (py::hasattr(m, name)) {
      return py::module_(m.attr(name));
    }
    py::module_ made = m.def_submodule(name);
    dlbridge::init(made);  // stubs of plain m.def name its protocols
    return made;
  }
};
