// Both flavours as parameters of a test, and the way of either to the consumer in plain C.
#pragma once

#include <dlbridge/managed.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "foreign.hpp"

inline auto const both_flavours =
    testing::Values(dlbridge::flavour::legacy, dlbridge::flavour::versioned);

inline std::string name_of(dlbridge::flavour kind) {
  return kind == dlbridge::flavour::legacy ? "Legacy" : "Versioned";
}
inline std::string name_flavour(testing::TestParamInfo<dlbridge::flavour> const& test) {
  return name_of(test.param);
}

/// Gives the tensor to the consumer in plain C, which frees it: the sum of its elements.
inline double consume_abroad(dlbridge::managed_tensor m) {
  return m.flavour() == dlbridge::flavour::legacy
             ? foreign_consume_legacy(m.release_legacy())
             : foreign_consume_versioned(m.release_versioned());
}
