// SPDX-License-Identifier: BSD-3-Clause
// bridges/xtensor.hpp: export and import of arrays and adaptors.
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/bridges/xtensor.hpp>

#include <array>
#include <memory>
#include <vector>

#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::as;
using dlbridge::build;
using dlbridge::managed_tensor;
using dlbridge::xarray_view;
using dlbridge::xtensor_view;

TEST(XtensorExport, AnArrayIsNotCopied) {
  xt::xarray<double> a{{1, 2, 3}, {4, 5, 6}};
  double const* const memory = a.data();
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(strides_of(m), (sizes{3, 1}));
  EXPECT_EQ(consume_in_c(std::move(m)), 21);
}

TEST(XtensorExport, ATensorKeepsItsLayout) {
  xt::xtensor<int, 2, xt::layout_type::column_major> a{{1, 2, 3}, {4, 5, 6}};
  int const* const memory = a.data();
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(strides_of(m), (sizes{1, 2}));
  EXPECT_EQ(consume_in_c(std::move(m)), 21);
}

TEST(XtensorExport, AFixedSizeTensorIsStoredInTheManagedTensor) {
  xt::xtensor_fixed<float, xt::xshape<2, 2>> a{{1, 2}, {3, 4}};
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(shape_of(m), (sizes{2, 2}));
  EXPECT_EQ(consume_in_c(std::move(m)), 10);
}

TEST(XtensorExport, SupportsRankZeroAndNoElements) {
  xt::xarray<float> scalar = xt::xarray<float>::from_shape({});
  scalar() = 7;
  managed_tensor m = build(std::move(scalar));
  EXPECT_EQ(shape_of(m), sizes{});
  EXPECT_EQ(consume_in_c(std::move(m)), 7);
  EXPECT_EQ(shape_of(build(xt::xarray<float>::from_shape({0, 3}))), (sizes{0, 3}));
}

TEST(XtensorExport, AnAdaptorLendsOrMovesItsBuffer) {
  std::vector<float> v{0, 1, 2, 3, 4, 5};
  float const* const memory = v.data();
  std::vector<std::size_t> const shape{2, 2};
  managed_tensor borrowed = build(xt::adapt(v.data(), 4, xt::no_ownership(), shape));
  EXPECT_EQ(borrowed.tensor().data, memory);
  EXPECT_EQ(consume_in_c(std::move(borrowed)), 0 + 1 + 2 + 3);
  float const* const constant = memory;
  managed_tensor const c = build(xt::adapt(constant, 4, xt::no_ownership(), shape));
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
  managed_tensor owned = build(xt::adapt(std::move(v), std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(owned.tensor().data, memory);
  EXPECT_EQ(consume_in_c(std::move(owned)), 15);
}

TEST(XtensorExport, AnAdaptorOnAConstContainerIsReadOnly) {
  std::vector<float> const v{0, 1, 2, 3, 4, 5};
  std::array<std::size_t, 2> const fixed_rank{2, 3};
  std::vector<std::size_t> const any_rank{3, 2};
  managed_tensor a = build(xt::adapt(v, fixed_rank));
  EXPECT_EQ(a.tensor().data, v.data());
  EXPECT_EQ(a.flags(), dlbridge::flag_read_only);
  EXPECT_EQ(shape_of(a), (sizes{2, 3}));
  EXPECT_EQ(consume_in_c(std::move(a)), 15);
  managed_tensor b = build(xt::adapt(v, any_rank));
  EXPECT_EQ(b.tensor().data, v.data());
  EXPECT_EQ(b.flags(), dlbridge::flag_read_only);
  EXPECT_EQ(strides_of(b), (sizes{2, 1}));
  auto const x = std::make_shared<xt::xarray<float> const>(xt::ones<float>({2, 2}));
  managed_tensor c = build(std::shared_ptr(x));
  EXPECT_EQ(c.tensor().data, x->data());
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
}

struct XtensorImport : BridgeFixture {};

TEST_F(XtensorImport, AnArrayRefersToTheForeignElements) {
  auto a = as<xarray_view<float>>(view());
  EXPECT_EQ(a.data(), foreign->data);
  EXPECT_EQ(a.dimension(), 2U);
  EXPECT_EQ(a(1, 2), 5);
  a(1, 0) = 30;
  EXPECT_EQ(foreign->data[3], 30);
  a = xt::zeros<float>({2, 3});  // assignment writes to the same memory
  EXPECT_EQ(foreign->data[3], 0);
  expect_one_deletion();
}

TEST_F(XtensorImport, StridesAreKept) {
  set_layout({3, 2}, {4, 9});
  auto const a = as<xtensor_view<float const, 2>>(view());
  EXPECT_EQ(a(2, 1), 17);
  EXPECT_EQ(xt::sum(a)(), 0 + 9 + 4 + 13 + 8 + 17);
  xt::xtensor<float, 2> const doubled = a * 2;
  EXPECT_EQ(doubled(2, 1), 34);
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ((as<xarray_view<float const>>(view())(1, 2)), 5);
  EXPECT_EQ((as<xtensor_view<float, 2, xt::layout_type::column_major>>(view())(1, 2)), 5);
}

TEST_F(XtensorImport, AssignmentsWriteTheElementsOfTheTensor) {
  set_layout({2, 3}, {1, 2});
  auto a = as<xarray_view<float, xt::layout_type::column_major>>(view());
  a = xt::xtensor<float, 2>{{100, 101, 102}, {103, 104, 105}};
  EXPECT_EQ((as<xarray_view<float const>>(view())),
            (xt::xtensor<float, 2>{{100, 101, 102}, {103, 104, 105}}));
}

TEST_F(XtensorImport, MemoryThatAnAssignmentWouldMissIsRefused) {
  for (sizes const& strides : {sizes{1, 2}, sizes{8, 2}, sizes{8, 1}, sizes{0, 1}}) {
    set_layout({2, 3}, strides);
    EXPECT_EQ((refusal<xarray_view<float>>().substr(0, 15)), "layout_mismatch");
    EXPECT_EQ((refusal<xtensor_view<float, 2>>().substr(0, 15)), "layout_mismatch");
  }
}

TEST_F(XtensorImport, DimensionsOfExtentOneBroadcastForAnyStride) {
  set_layout({2, 1}, {5, 7});
  auto const a = as<xarray_view<float const>>(view());
  xt::xarray<float> const b = a + xt::zeros<float>({2, 3});
  EXPECT_EQ(b(0, 2), 0);
  EXPECT_EQ(b(1, 2), 5);
  set_layout({2, 3}, {0, 1});
  EXPECT_EQ((as<xarray_view<float const>>(view())(1, 2)), 2);
}

TEST_F(XtensorImport, NegativeStridesAreRefused) {
  set_layout({2, 3}, {3, -1});
  t.byte_offset = 2 * sizeof(float);
  EXPECT_EQ(
      (refusal<xarray_view<float const>>()),
      "layout_mismatch: expected float32[...] on cpu, strides of 0 and above; got "
      "float32[2, 3] on cpu with strides [3, -1]: layout differs. Pass a copy in that layout");
}

TEST_F(XtensorImport, AFixedLayoutMustMatch) {
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ((refusal<xtensor_view<float, 2, xt::layout_type::row_major>>()),
            "layout_mismatch: expected float32[*, *] on cpu, row-major, writable; got "
            "float32[2, 3] on cpu with strides [1, 2]: layout differs. Pass a copy in that layout");
}

TEST_F(XtensorImport, SupportsRankZeroAndNoElements) {
  make_empty({0, 3});
  EXPECT_EQ((as<xarray_view<float>>(view()).shape(1)), 3U);
  EXPECT_EQ((as<xtensor_view<float, 2>>(view()).size()), 0U);
  make_scalar();
  t.data = foreign->data;
  EXPECT_EQ((as<xarray_view<float const>>(view())()), 3);
  EXPECT_EQ((as<xtensor_view<float, 0>>(view())()), 3);
}

TEST_F(XtensorImport, OneMessageListsEveryMismatch) {
  make_read_only();
  t.device = {kDLCUDA, 0};
  EXPECT_EQ(
      (refusal<xtensor_view<int, 3>>()),
      "dtype_mismatch: expected int32[*, *, *] on cpu, row-major, writable; got float32[2, 3] on "
      "cuda:0, read-only: dtype, rank, device, writability differ. Pass a writable copy");
  t.device = {kDLCPU, 0};
  EXPECT_EQ((as<xarray_view<float const>>(view())(1, 2)), 5);
}

}  // namespace
