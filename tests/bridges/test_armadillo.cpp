// SPDX-License-Identifier: BSD-3-Clause
// bridges/armadillo.hpp: export and import of matrices, vectors and cubes.
#include <dlbridge/bridges/armadillo.hpp>
#include <dlbridge/bridges/std.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::as;
using dlbridge::build;
using dlbridge::managed_tensor;

TEST(ArmadilloExport, ALargeMatrixIsNotCopied) {
  arma::mat a(10, 20, arma::fill::ones);
  double const* const memory = a.memptr();
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(shape_of(m), (sizes{10, 20}));
  EXPECT_EQ(strides_of(m), (sizes{1, 10}));
  EXPECT_EQ(consume_in_c(std::move(m)), 200);
}

TEST(ArmadilloExport, ASmallMatrixIsStoredInTheTensor) {
  arma::fmat a = {{1, 2}, {3, 4}};
  managed_tensor m = build(std::move(a));
  EXPECT_NE(m.tensor().data, a.memptr());
  EXPECT_EQ(consume_in_c(std::move(m)), 10);
}

TEST(ArmadilloExport, VectorsHaveOneDimensionAndCubesThree) {
  EXPECT_EQ(shape_of(build(arma::vec(5))), sizes{5});
  EXPECT_EQ(shape_of(build(arma::rowvec(5))), sizes{5});
  arma::cube c(5, 6, 7, arma::fill::zeros);
  c(4, 5, 6) = 8;
  double const* const memory = c.memptr();
  managed_tensor m = build(std::move(c));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(shape_of(m), (sizes{5, 6, 7}));
  EXPECT_EQ(strides_of(m), (sizes{1, 5, 30}));
  EXPECT_EQ(consume_in_c(std::move(m)), 8);
}

TEST(ArmadilloExport, EmptyArraysKeepTheirShape) {
  EXPECT_EQ(shape_of(build(arma::mat(0, 3))), (sizes{0, 3}));
  EXPECT_EQ(shape_of(build(arma::mat())), (sizes{0, 0}));
  EXPECT_EQ(shape_of(build(arma::vec())), sizes{0});
}

TEST(ArmadilloExport, EveryElementTypeHasItsDtype) {
  managed_tensor const c = build(arma::cx_mat(1, 1));
  EXPECT_EQ(dlbridge::dtype(c.tensor().dtype), dlbridge::dtype(kDLComplex, 128));
  managed_tensor const u = build(arma::umat(1, 1));
  EXPECT_EQ(dlbridge::dtype(u.tensor().dtype), dlbridge::dtype(kDLUInt, 8 * sizeof(arma::uword)));
}

TEST(ArmadilloExport, ASharedMatrixIsFreedByItsLastOwner) {
  auto const owner = std::make_shared<arma::mat>(2, 2, arma::fill::ones);
  managed_tensor m = build(std::shared_ptr<arma::mat>(owner));
  EXPECT_EQ(m.tensor().data, owner->memptr());
  EXPECT_EQ(consume_in_c(std::move(m)), 4);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(build(std::shared_ptr<arma::mat const>(owner)).flags(), dlbridge::flag_read_only);
}

struct ArmadilloImport : BridgeFixture {};

TEST_F(ArmadilloImport, AMatrixRefersToTheForeignElements) {
  set_layout({2, 3}, {1, 2});
  auto a = as<arma::fmat>(view());
  EXPECT_EQ(a.memptr(), foreign->data);
  EXPECT_EQ(a(1, 2), 5);
  a(1, 0) = 30;
  EXPECT_EQ(foreign->data[1], 30);
  EXPECT_THROW(a.resize(7, 7), std::logic_error);  // the memory is not Armadillo's
  expect_one_deletion();
}

TEST_F(ArmadilloImport, VectorsAndCubesReferToTheForeignElements) {
  set_layout({4});
  EXPECT_EQ(as<arma::fvec>(view())(3), 3);
  EXPECT_EQ(as<arma::frowvec>(view())(3), 3);
  auto const v = as<arma::fvec const>(view());
  EXPECT_EQ((*v)(3), 3);
  auto const r = as<arma::frowvec const>(view());
  EXPECT_EQ((*r)(3), 3);
  set_layout({2, 3, 4}, {1, 2, 6});
  EXPECT_EQ(as<arma::fcube>(view())(1, 2, 3), 23);
  auto const c = as<arma::fcube const>(view());
  EXPECT_EQ((*c)(1, 2, 3), 23);
}

TEST_F(ArmadilloImport, ReadOnlyMemoryIsImportedAsConst) {
  set_layout({2, 3}, {1, 2});
  make_read_only();
  // [read_only]
  auto const a = as<arma::fmat const>(view());
  EXPECT_EQ(arma::accu(*a), 15);  // *a is an arma::fmat const&
  arma::fmat copy = *a;           // has elements of its own
  // [/read_only]
  EXPECT_EQ(a->memptr(), foreign->data);
  copy(0, 0) = 9;
  EXPECT_EQ(foreign->data[0], 0);
  static_assert(std::is_same_v<decltype(*a), arma::fmat const&>);
  EXPECT_EQ(refusal<arma::fmat>().substr(0, 9), "read_only");
}

TEST_F(ArmadilloImport, OnlyColumnMajorIsAccepted) {
  EXPECT_EQ(refusal<arma::fmat>(),
            "layout_mismatch: expected float32[*, *] on cpu, column-major, writable; got "
            "float32[2, 3] on cpu with strides [3, 1]: layout differs. Pass a copy in that layout");
  set_layout({3}, {-1});
  t.byte_offset = 8;
  EXPECT_EQ(refusal<arma::fvec>().substr(0, 15), "layout_mismatch");
}

TEST_F(ArmadilloImport, EmptyArraysKeepTheirShape) {
  make_empty({0, 3});
  EXPECT_EQ(as<arma::fmat>(view()).n_cols, 3U);
  EXPECT_EQ(as<arma::fmat const>(view())->n_rows, 0U);
}

TEST_F(ArmadilloImport, OneMessageListsEveryMismatch) {
  make_read_only();
  t.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal<arma::cube>(),
            "dtype_mismatch: expected float64[*, *, *] on cpu, column-major, writable; got "
            "float32[2, 3] on cuda:0 with strides [3, 1], read-only: dtype, rank, device, layout, "
            "writability differ. Pass a writable copy");
}

}  // namespace
