// both_struct_kinds: the legacy and the versioned struct as parameters of a test.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/managed_tensor.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "foreign.hpp"

inline auto const both_struct_kinds =
    testing::Values(dlbridge::struct_kind::legacy, dlbridge::struct_kind::versioned);

inline std::string name_of(dlbridge::struct_kind kind) {
  return kind == dlbridge::struct_kind::legacy ? "Legacy" : "Versioned";
}
inline std::string struct_kind_name(testing::TestParamInfo<dlbridge::struct_kind> const& test) {
  return name_of(test.param);
}

/// Passes the tensor to the plain-C consumer, which calls its deleter. Returns the sum of its
/// elements.
inline double consume_in_c(dlbridge::managed_tensor m) {
  return m.kind() == dlbridge::struct_kind::legacy
             ? foreign_consume_legacy(m.release_legacy())
             : foreign_consume_versioned(m.release_versioned());
}
