// What every bridge is asked: tensors of others, seen through a library, and the way back.
#pragma once

#include <dlbridge/as.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/managed.hpp>

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

/// float32 0, 1, 2, ... of the plain-C producer, which a library is to see without a copy.
struct BridgeFixture : ForeignTensor {
  /// No element was written, and nothing freed, but by the owner that now goes.
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
