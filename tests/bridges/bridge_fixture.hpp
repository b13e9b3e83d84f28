// BridgeFixture: what the tests of all bridges share.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/as.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/managed_tensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foreign_fixture.hpp"
#include "refusal.hpp"
#include "struct_kinds.hpp"

using sizes = std::vector<std::int64_t>;

inline sizes shape_of(dlbridge::managed_tensor const& m) {
  DLTensor const& t = m.tensor();
  return {t.shape, t.shape + t.ndim};
}
inline sizes strides_of(dlbridge::managed_tensor const& m) {
  DLTensor const& t = m.tensor();
  return {t.strides, t.strides + t.ndim};
}

/// A tensor of the plain-C producer, to which the array of a library refers without a copy.
struct BridgeFixture : ForeignTensor {
  /// Expects that the import called no deleter, then frees the tensor and expects one call.
  void expect_one_deletion() {
    EXPECT_EQ(deleted(), 0);
    dlbridge::managed_tensor::steal(raw).reset();
    EXPECT_EQ(deleted(), 1);
  }
  template <class T>
  std::string refusal() const {
    return refusal_of([this] { return dlbridge::as<T>(view()); });
  }
  void make_read_only() { raw->flags |= dlbridge::flag_read_only; }
  void make_empty(std::vector<std::int64_t> const& shape) {
    set_layout(shape);
    t.data = nullptr;
  }
  void make_scalar() {
    set_layout({});
    t.shape = nullptr;
    t.strides = nullptr;
    t.byte_offset = 12;
  }
};
