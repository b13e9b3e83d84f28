// SPDX-License-Identifier: BSD-3-Clause
// require_agreement: extents of the same name agree within one tensor and among several.
#include <gtest/gtest.h>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/extent_names.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using dlbridge::named;
using square = dlbridge::tensor_span<float, dlbridge::shape<named<'n'>, named<'n'>>>;
using points = dlbridge::tensor_span<float, dlbridge::shape<named<'n'>, 3>>;
using pairs = dlbridge::tensor_span<float, dlbridge::shape<named<'n'>, named<'m'>>>;

float elements[64];

struct matrix {
  std::int64_t extents[2];
  DLTensor tensor{elements, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, extents, nullptr, 0};
  matrix(std::int64_t rows, std::int64_t columns) : extents{rows, columns} {}
  dlbridge::tensor_view view() const { return dlbridge::tensor_view(tensor); }
};

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (dlbridge::error const& e) {
    EXPECT_EQ(e.code(), dlbridge::errc::extent_mismatch);
    return e.what();
  }
  return "";
}

TEST(Agreement, WithinOneTensor) {
  matrix const fits(4, 4);
  matrix const not_square(4, 3);
  EXPECT_EQ(square(fits.view()).extent(1), 4);
  EXPECT_EQ(message_of([&] { static_cast<void>(square(not_square.view())); }),
            "expected float32[n, n] on cpu, writable; got float32[4, 3] on cpu: extents differ");
}

TEST(Agreement, AmongSeveralTensors) {
  matrix const three(4, 3);
  matrix const wide(4, 7);
  matrix const other(5, 4);
  EXPECT_NO_THROW(dlbridge::require_agreement(points(three.view()), pairs(wide.view())));
  EXPECT_EQ(
      message_of([&] { dlbridge::require_agreement(points(three.view()), pairs(other.view())); }),
      "expected float32[n, m] on cpu, writable, with n = 4 as in tensor 1; got float32[5, 4] "
      "on cpu: extents differ");
}

TEST(Agreement, WithoutExtentsThereAreNoNames) {
  dlbridge::managed_tensor const m = dlbridge::build(std::vector<float>(3));
  dlbridge::requirement need;
  need.rank = 1;
  dlbridge::extent_names names;
  EXPECT_EQ(names.add(m.view(), need, 0), nullptr);
}

TEST(Agreement, ADifferentNameAcceptsAnyValue) {
  using dlbridge::detail::required_by;
  EXPECT_EQ(required_by<pairs>.extents, nullptr);  // so that the check costs nothing
  EXPECT_NE(required_by<square>.extents, nullptr);
  EXPECT_NE(required_by<points>.extents, nullptr);
}

}  // namespace
