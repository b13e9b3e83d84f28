// SPDX-License-Identifier: BSD-3-Clause
// as.hpp with the mdspan types of CCCL: strides of 0 and negative ones, and an index type without a
// sign.
#include <dlbridge/dlbridge.hpp>

#include <cuda/mdspan>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "refusal.hpp"

namespace {

constexpr std::size_t dyn = cuda::std::dynamic_extent;
template <class Index>
using matrix = cuda::std::extents<Index, dyn, dyn>;
template <class Index>
using relaxed = cuda::std::mdspan<float, matrix<Index>, cuda::layout_stride_relaxed>;

template <class M>
struct Cccl : testing::Test {};
using Relaxed =
    testing::Types<relaxed<int>, relaxed<std::size_t>, relaxed<std::uint8_t>,
                   cuda::host_mdspan<float, matrix<std::int64_t>, cuda::layout_stride_relaxed>>;
TYPED_TEST_SUITE(Cccl, Relaxed, );

TYPED_TEST(Cccl, LayoutStrideRelaxedTakesAnyStrides) {
  std::array<float, 12> elements{};
  struct {
    dlbridge::dims shape, strides;
    int first;
  } const cases[] = {
      {{3, 4}, {4, 1}, 0}, {{3, 4}, {-4, 1}, 8},        {{3, 4}, {4, -1}, 3},
      {{3, 4}, {0, 1}, 0}, {{3, 4}, {-4, -1}, 11},      {{2, 2}, {-1, 0}, 4},
      {{2, 3}, {1, 1}, 0}, {{1, 4}, {1LL << 40, 1}, 0}, {{0, 4}, {-(1LL << 40), 7}, 0},
  };
  for (auto const& each : cases) {
    float* const first = elements.data() + each.first;
    auto const m = dlbridge::build(dlbridge::borrow(first, each.shape, each.strides));
    TypeParam const x = dlbridge::as<TypeParam>(m);
    for (int i = 0; i < each.shape[0]; ++i) {
      for (int j = 0; j < each.shape[1]; ++j) {
        EXPECT_EQ(&x(i, j), first + i * each.strides[0] + j * each.strides[1]);
      }
    }
  }
}

TEST(CcclMdspan, OtherLayoutsAndRankZero) {
  float elements[200] = {};
  auto const rows = dlbridge::build(std::vector<std::array<float, 3>>(10));
  using compact = cuda::host_mdspan<float, matrix<int>>;
  EXPECT_EQ(dlbridge::as<compact>(rows).extent(0), 10);
  auto const one = dlbridge::build(dlbridge::borrow(elements, dlbridge::dims(), dlbridge::dims()));
  using scalar = cuda::std::mdspan<float, cuda::std::extents<int>, cuda::layout_stride_relaxed>;
  EXPECT_EQ(&dlbridge::as<scalar>(one)(), elements);
  auto const back = dlbridge::build(dlbridge::borrow(elements + 126, {2, 2}, {-100, 50}));
  EXPECT_EQ(refusal_of([&] { return dlbridge::as<relaxed<signed char>>(back); }).substr(0, 14),
            "overflow: size");
  using strided = cuda::std::mdspan<float, matrix<int>, cuda::std::layout_stride>;
  EXPECT_NE(refusal_of([&] { return dlbridge::as<strided>(back); }).find("strides above 0"),
            std::string::npos);
}

// A stride that the type states must be that of the tensor.
struct rows_without_gaps {
  template <class Extents>
  using mapping =
      cuda::layout_stride_relaxed::mapping<Extents, cuda::strides<int, cuda::dynamic_stride, 1>>;
};

TEST(CcclMdspan, AStaticStrideIsRequired) {
  float elements[12] = {};
  using rows = cuda::std::mdspan<float, matrix<int>, rows_without_gaps>;
  auto const m = dlbridge::build(dlbridge::borrow(elements + 8, {3, 4}, {-4, 1}));
  EXPECT_EQ(&dlbridge::as<rows>(m)(2, 1), elements + 1);
  auto const gaps = dlbridge::build(dlbridge::borrow(elements, {3, 2}, {4, 2}));
  EXPECT_NE(
      refusal_of([&] { return dlbridge::as<rows>(gaps); }).find("in the layout of the mdspan"),
      std::string::npos);
}

}  // namespace
