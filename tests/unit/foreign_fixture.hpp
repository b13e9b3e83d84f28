// ForeignTensor: a fixture with one tensor of the plain-C producer, which a test may modify.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/tensor_view.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foreign.hpp"

/// Owns a versioned tensor, initially float32[2, 3] with the elements 0, 1, 2, ...
struct ForeignTensor : testing::Test {
  foreign_ptr foreign = make_foreign();
  DLManagedTensorVersioned* raw = foreign_versioned(foreign.get());
  DLTensor& t = raw->dl_tensor;

  /// Sets the extents and the strides, which are row-major by default.
  void set_layout(std::vector<std::int64_t> const& shape,
                  std::vector<std::int64_t> const& strides = {}) {
    foreign_set_shape(foreign.get(), static_cast<int>(shape.size()), shape.data());
    for (std::size_t i = 0; i < strides.size(); ++i) {
      foreign->strides[i] = strides[i];
    }
  }
  dlbridge::tensor_view view() const { return dlbridge::view_of(t, raw->flags); }
  int deleted() const { return foreign->deleter_calls; }
};
