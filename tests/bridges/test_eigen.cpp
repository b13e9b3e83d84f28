// SPDX-License-Identifier: BSD-3-Clause
// bridges/eigen.hpp: export and import of dense types.
#include <dlbridge/bridges/eigen.hpp>
#include <dlbridge/bridges/std.hpp>

#include <complex>
#include <memory>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::as;
using dlbridge::build;
using dlbridge::dtype;
using dlbridge::managed_tensor;

using row_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using any_strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
template <class Plain>
using strided = Eigen::Map<Plain, Eigen::Unaligned, any_strides>;

TEST(EigenExport, ADynamicMatrixIsNotCopied) {
  // [out]
  Eigen::MatrixXf a{{1, 2, 3}, {4, 5, 6}};
  float const* const memory = a.data();
  managed_tensor m = build(std::move(a));  // owns the matrix; release_versioned() hands it over
  EXPECT_EQ(m.tensor().data, memory);      // the same memory, column-major
  // [/out]
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(strides_of(m), (sizes{1, 2}));
  EXPECT_EQ(m.flags(), 0U);
  EXPECT_EQ(consume_in_c(std::move(m)), 21);
}

TEST(EigenExport, ARowMajorMatrixHasRowMajorStrides) {
  managed_tensor const m = build(row_matrix(2, 3));
  EXPECT_EQ(strides_of(m), (sizes{3, 1}));
}

TEST(EigenExport, AFixedSizeMatrixIsStoredAlignedInTheTensor) {
  Eigen::Matrix4d a = Eigen::Matrix4d::Constant(2);
  managed_tensor m = build(std::move(a));
  EXPECT_NE(m.tensor().data, a.data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.tensor().data) % alignof(Eigen::Matrix4d), 0U);
  EXPECT_EQ(consume_in_c(std::move(m)), 32);
}

TEST(EigenExport, VectorsHaveOneDimension) {
  EXPECT_EQ(shape_of(build(Eigen::VectorXd(5))), sizes{5});
  EXPECT_EQ(shape_of(build(Eigen::RowVectorXi(5))), sizes{5});
  EXPECT_EQ(shape_of(build(Eigen::Vector3f(1, 2, 3))), sizes{3});
  EXPECT_EQ(shape_of(build(Eigen::ArrayXd(5))), sizes{5});
}

TEST(EigenExport, ArraysAndAllElementTypesHaveTheirDtype) {
  managed_tensor const i = build(Eigen::ArrayXXi(2, 2));
  EXPECT_EQ(dtype(i.tensor().dtype), dtype(kDLInt, 32));
  managed_tensor const c = build(Eigen::MatrixXcf(1, 2));
  EXPECT_EQ(dtype(c.tensor().dtype), dtype(kDLComplex, 64));
  managed_tensor const h = build(Eigen::Matrix<Eigen::half, 2, 2>());
  EXPECT_EQ(dtype(h.tensor().dtype), dtype(kDLFloat, 16));
  managed_tensor const b = build(Eigen::Matrix<Eigen::bfloat16, 2, 2>());
  EXPECT_EQ(dtype(b.tensor().dtype), dtype(kDLBfloat, 16));
}

TEST(EigenExport, EmptyArraysKeepTheirShape) {
  EXPECT_EQ(shape_of(build(Eigen::MatrixXf(0, 3))), (sizes{0, 3}));
  EXPECT_EQ(shape_of(build(Eigen::MatrixXf())), (sizes{0, 0}));
}

TEST(EigenExport, ASharedMatrixIsFreedByItsLastOwner) {
  auto const owner = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Ones(2, 2));
  managed_tensor m = build(std::shared_ptr<Eigen::MatrixXf>(owner));
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(m.tensor().data, owner->data());
  EXPECT_EQ(consume_in_c(std::move(m)), 4);
  EXPECT_EQ(owner.use_count(), 1);
  managed_tensor const c = build(std::shared_ptr<Eigen::MatrixXf const>(owner));
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
}

TEST(EigenExport, AMapKeepsItsStrides) {
  float memory[12];
  for (int i = 0; i < 12; ++i) {
    memory[i] = static_cast<float>(i);
  }
  managed_tensor m = build(strided<Eigen::MatrixXf>(memory, 2, 3, any_strides(4, 2)));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(strides_of(m), (sizes{2, 4}));
  EXPECT_EQ(consume_in_c(std::move(m)), 0 + 2 + 4 + 6 + 8 + 10);
  managed_tensor const c = build(Eigen::Map<Eigen::VectorXf const>(memory, 3));
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
}

TEST(EigenExport, ARefToABlockIsNotCopied) {
  Eigen::MatrixXf a = Eigen::MatrixXf::Zero(4, 4);
  a(1, 1) = 7;
  managed_tensor m = build(Eigen::Ref<Eigen::MatrixXf>(a.block(1, 1, 2, 2)));
  EXPECT_EQ(m.tensor().data, &a(1, 1));
  EXPECT_EQ(strides_of(m), (sizes{1, 4}));
  EXPECT_EQ(consume_in_c(std::move(m)), 7);
  managed_tensor const c = build(Eigen::Ref<Eigen::MatrixXf const>(a));
  EXPECT_EQ(c.flags(), dlbridge::flag_read_only);
  EXPECT_EQ(c.tensor().data, a.data());
}

TEST(EigenExport, ARefThatHoldsACopyIsRefused) {
  Eigen::MatrixXf const a = Eigen::MatrixXf::Ones(4, 4);
  EXPECT_EQ(
      refusal_of([&a] { return build(Eigen::Ref<Eigen::MatrixXf const>(a + a)); }),
      "bad_argument: bad argument: expected rank 0, as before the array moved into the tensor; "
      "got shape [4, 4]. Correct array_traits<T>::describe. An array that points into itself, such "
      "as an Eigen::Ref to a copy of its own, cannot be exported");
  EXPECT_EQ(
      refusal_of([&a] { return build(Eigen::Ref<Eigen::VectorXf const>(a.row(1))); }).substr(0, 12),
      "bad_argument");
}

struct EigenImport : BridgeFixture {};

TEST_F(EigenImport, AMatrixRefersToTheForeignElements) {
  // [in]
  auto const a = as<Eigen::Map<row_matrix>>(view());  // float32[2, 3], row-major, writable
  EXPECT_EQ(a.data(), foreign->data);
  EXPECT_EQ(a(1, 2), 5);
  // [/in]
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.cols(), 3);
  as<Eigen::Map<row_matrix>>(view())(1, 0) = 30;
  EXPECT_EQ(foreign->data[3], 30);
  expect_one_deletion();
}

TEST_F(EigenImport, DynamicStridesAcceptAnyStrides) {
  set_layout({3, 2}, {4, 9});
  auto const a = as<strided<Eigen::MatrixXf const>>(view());
  EXPECT_EQ(a(2, 1), 17);
  auto const b = as<strided<row_matrix const>>(view());
  EXPECT_EQ(b(2, 1), 17);
  auto const c = as<Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>>([this] {
    set_layout({3, 2}, {1, 9});
    return view();
  }());
  EXPECT_EQ(c(2, 1), 11);
}

TEST_F(EigenImport, StridesMayBeNegativeOrZero) {
  set_layout({2, 3}, {-3, -1});
  t.byte_offset = 5 * sizeof(float);
  auto const a = as<strided<Eigen::MatrixXf>>(view());
  EXPECT_EQ(a(0, 0), 5);
  EXPECT_EQ(a(1, 2), 0);
  EXPECT_EQ(a.sum(), 15);
  EXPECT_EQ((Eigen::MatrixXf(a * 2)(1, 0)), 4);
  set_layout({2, 3}, {0, 1});
  EXPECT_EQ((as<strided<row_matrix const>>(view())(1, 2)), 7);
}

TEST_F(EigenImport, AFixedStrideMustMatch) {
  using outer_eight = Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<8>>;
  set_layout({3, 2}, {1, 8});
  EXPECT_EQ(as<outer_eight>(view())(2, 1), 10);
  set_layout({3, 2}, {1, 9});
  EXPECT_EQ(
      refusal<outer_eight>(),
      "layout_mismatch: expected float32[*, *] on cpu, writable, in the strides of the Map; "
      "got float32[3, 2] on cpu with strides [1, 9]: layout differs. Pass a copy in that layout");
  set_layout({3, 1}, {1, 9});  // one column needs no outer stride
  EXPECT_EQ(as<outer_eight>(view())(2, 0), 2);
}

TEST_F(EigenImport, VectorsRequireRankOne) {
  set_layout({4}, {3});
  using steps = Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<>>;
  EXPECT_EQ(as<steps>(view())(3), 9);
  using row_steps = Eigen::Map<Eigen::RowVectorXf const, 0, Eigen::InnerStride<3>>;
  EXPECT_EQ(as<row_steps>(view())(3), 9);
  EXPECT_EQ(as<row_steps>(view()).cols(), 4);
  EXPECT_EQ(refusal<Eigen::Map<Eigen::VectorXf>>().substr(0, 15), "layout_mismatch");
  set_layout({3});
  EXPECT_EQ(as<Eigen::Map<Eigen::Vector3f>>(view())(2), 2);
  EXPECT_EQ(as<Eigen::Map<Eigen::Array3f const>>(view()).sum(), 3);
  set_layout({3, 1});
  EXPECT_EQ(refusal<Eigen::Map<Eigen::VectorXf>>(),
            "rank_mismatch: expected float32[*] on cpu, writable; got float32[3, 1] on cpu: rank "
            "differs");
}

TEST_F(EigenImport, FixedExtentsMustMatch) {
  set_layout({2, 3});
  using fixed = Eigen::Map<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>;
  EXPECT_EQ(as<fixed>(view())(1, 1), 4);
  EXPECT_EQ(refusal<Eigen::Map<Eigen::Matrix3f>>(),
            "extent_mismatch: expected float32[3, 3] on cpu, writable; got float32[2, 3] on cpu: "
            "extents differ");
}

TEST_F(EigenImport, EmptyArraysKeepTheirShape) {
  make_empty({0, 3});
  auto const a = as<Eigen::Map<Eigen::MatrixXf>>(view());
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.cols(), 3);
  EXPECT_EQ(as<strided<row_matrix>>(view()).size(), 0);
}

TEST_F(EigenImport, OneMessageListsEveryMismatch) {
  make_read_only();
  t.byte_offset = 4;
  t.device = {kDLCUDA, 1};
  EXPECT_EQ((refusal<Eigen::Map<Eigen::Matrix<double, 4, 3>, Eigen::Aligned16>>()),
            "dtype_mismatch: expected float64[4, 3] on cpu, writable, aligned to 16 bytes; got "
            "float32[2, 3] on cuda:1, read-only, aligned to 4 bytes: dtype, extents, device, "
            "writability, alignment differ. Pass a writable copy");
}

TEST_F(EigenImport, ReadOnlyMemoryIsImportedAsConst) {
  make_read_only();
  EXPECT_EQ((as<Eigen::Map<row_matrix const>>(view())(1, 2)), 5);
  EXPECT_EQ(refusal<Eigen::Map<row_matrix>>().substr(0, 9), "read_only");
}

}  // namespace
