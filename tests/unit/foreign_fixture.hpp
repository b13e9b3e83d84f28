// A fixture around one tensor of the plain-C producer, of which a test changes what it asks about.
#pragma once

#include <dlbridge/view.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foreign.hpp"

/// float32[2, 3] of 0, 1, 2, ... to begin with, versioned.
struct ForeignTensor : testing::Test {
  foreign_ptr foreign = make_foreign();
  DLManagedTensorVersioned* raw = foreign_versioned(foreign.get());
  DLTensor& t = raw->dl_tensor;

  /// Other extents, row-major unless strides are given.
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
