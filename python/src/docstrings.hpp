// doc_of, with_docs: the docstrings of the module, which CMake writes from its stub, _core.pyi.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>

namespace core DLBRIDGE_LOCAL {
struct docstring {
  char const* name;  ///< of a member, after that of its class and a dot
  char const* text;
};
inline constexpr docstring docstrings[] = {
#include <docstrings.inc>
};

/// A docstring, which begins with the signature; null where the stub has none.
/// @param owner for a member, the name of its class and a dot
inline char const* doc_of(char const* name, char const* owner = "") noexcept {
  std::size_t const length = std::strlen(owner);
  for (docstring const& each : docstrings) {
    if (std::strncmp(each.name, owner, length) == 0 && std::strcmp(each.name + length, name) == 0) {
      return each.text;
    }
  }
  return nullptr;
}

/// Adds the docstrings to a table, which ends with an empty row, as far as the stub has them.
/// @return the table
inline PyMethodDef* with_docs(char const* owner, PyMethodDef* table) noexcept {
  for (PyMethodDef* each = table; each->ml_name != nullptr; ++each) {
    char const* const doc = doc_of(each->ml_name, owner);
    each->ml_doc = doc != nullptr ? doc : each->ml_doc;
  }
  return table;
}
inline PyGetSetDef* with_docs(char const* owner, PyGetSetDef* table) noexcept {
  for (PyGetSetDef* each = table; each->name != nullptr; ++each) {
    each->doc = doc_of(each->name, owner);
  }
  return table;
}
}  // namespace core DLBRIDGE_LOCAL
