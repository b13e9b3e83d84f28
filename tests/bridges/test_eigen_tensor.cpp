// SPDX-License-Identifier: BSD-3-Clause
// bridges/eigen_tensor.hpp: export and import of Tensor, TensorFixedSize and TensorMap.
#include <dlbridge/bridges/eigen_tensor.hpp>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::as;
using dlbridge::build;
using dlbridge::managed_tensor;

template <class T, int Rank>
using row_tensor = Eigen::Tensor<T, Rank, Eigen::RowMajor>;

TEST(EigenTensorExport, IsNotCopied) {
  Eigen::Tensor<double, 3> a(2, 3, 4);
  a.setConstant(2);
  double const* const memory = a.data();
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(shape_of(m), (sizes{2, 3, 4}));
  EXPECT_EQ(strides_of(m), (sizes{1, 2, 6}));
  EXPECT_EQ(consume_in_c(std::move(m)), 48);
  EXPECT_EQ(strides_of(build(row_tensor<int, 2>(2, 3))), (sizes{3, 1}));
}

TEST(EigenTensorExport, SupportsRankZeroAndNoElements) {
  Eigen::Tensor<float, 0> scalar;
  scalar() = 7;
  EXPECT_EQ(consume_in_c(build(std::move(scalar))), 7);
  EXPECT_EQ(shape_of(build(Eigen::Tensor<float, 2>(0, 3))), (sizes{0, 3}));
}

TEST(EigenTensorExport, OfFixedSizeIsStoredInTheTensor) {
  Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3>> a;
  a.setConstant(1);
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(consume_in_c(std::move(m)), 6);
}

TEST(EigenTensorExport, AMapIsNotCopied) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  managed_tensor m = build(Eigen::TensorMap<row_tensor<float, 2>>(memory, 2, 3));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(m.flags(), 0U);
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
  managed_tensor const c = build(Eigen::TensorMap<row_tensor<float const, 2>>(memory, 2, 3));
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
  managed_tensor const d = build(Eigen::TensorMap<row_tensor<float, 2> const>(memory, 2, 3));
  EXPECT_EQ(d.flags(), dlbridge::flag_read_only);
}

struct EigenTensorImport : BridgeFixture {};

TEST_F(EigenTensorImport, AMapRefersToTheForeignElements) {
  set_layout({2, 3, 4});
  auto a = as<Eigen::TensorMap<row_tensor<float, 3>>>(view());
  EXPECT_EQ(a.data(), foreign->data);
  EXPECT_EQ(a(1, 2, 3), 23);
  a(0, 0, 1) = 10;
  EXPECT_EQ(foreign->data[1], 10);
  expect_one_deletion();
}

TEST_F(EigenTensorImport, TheDefaultLayoutIsColumnMajor) {
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ((as<Eigen::TensorMap<Eigen::Tensor<float, 2>>>(view())(1, 2)), 5);
  set_layout({2, 3});
  EXPECT_EQ((refusal<Eigen::TensorMap<Eigen::Tensor<float, 2>>>()),
            "layout_mismatch: expected float32[*, *] on cpu, column-major, writable; got "
            "float32[2, 3] on cpu with strides [3, 1]: layout differs. Pass a copy in that layout");
}

TEST_F(EigenTensorImport, SupportsRankZeroAndNoElements) {
  make_empty({2, 0});
  EXPECT_EQ((as<Eigen::TensorMap<row_tensor<float, 2>>>(view()).dimension(0)), 2);
  make_scalar();
  t.data = foreign->data;
  EXPECT_EQ((as<Eigen::TensorMap<Eigen::Tensor<float, 0>>>(view())()), 3);
}

TEST_F(EigenTensorImport, ReadOnlyMemoryIsImportedAsConst) {
  make_read_only();
  EXPECT_EQ((as<Eigen::TensorMap<row_tensor<float const, 2>>>(view())(1, 2)), 5);
  EXPECT_EQ((as<Eigen::TensorMap<row_tensor<float, 2> const>>(view())(1, 2)), 5);
  EXPECT_EQ((refusal<Eigen::TensorMap<row_tensor<float, 2>>>().substr(0, 9)), "read_only");
}

TEST_F(EigenTensorImport, AnAlignedMapRequiresAlignedMemory) {
  t.byte_offset = 4;
  using aligned = Eigen::TensorMap<row_tensor<float const, 2>, Eigen::Aligned>;
  EXPECT_EQ(refusal<aligned>().substr(0, 10), "misaligned");
  t.byte_offset = 0;
  EXPECT_EQ(as<aligned>(view())(1, 2), 5);
}

TEST_F(EigenTensorImport, SizesBeyondTheIndexTypeAreRefused) {
  using narrow = Eigen::TensorMap<Eigen::Tensor<float const, 1, Eigen::RowMajor, signed char>>;
  set_layout({200}, {1});
  EXPECT_EQ(refusal<narrow>().substr(0, 8), "overflow");
}

}  // namespace
