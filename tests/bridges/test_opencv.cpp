// SPDX-License-Identifier: BSD-3-Clause
// bridges/opencv.hpp: export of Mats, and import of tensors as Mats that borrow or own.
#include <dlbridge/bridges/opencv.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/copy.hpp>

#include <vector>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::adopt_as;
using dlbridge::as;
using dlbridge::build;
using dlbridge::dtype;
using dlbridge::managed_tensor;

// Destroyed after static objects of functions, when the process exits.
cv::Mat kept_until_exit;

TEST(OpencvAtExit, AMatThatOwnsATensorMayBeDestroyed) {
  kept_until_exit = adopt_as<cv::Mat>(build(std::vector<float>{1, 2, 3}));
  EXPECT_EQ(kept_until_exit.at<float>(1), 2);
}

TEST(OpencvExport, TheTensorSharesOwnershipOfTheMat) {
  cv::Mat const a = (cv::Mat_<double>(2, 3) << 1, 2, 3, 4, 5, 6);
  EXPECT_EQ(a.u->refcount, 1);
  managed_tensor m = build(cv::Mat(a));
  EXPECT_EQ(a.u->refcount, 2);
  EXPECT_EQ(m.tensor().data, a.data);
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(strides_of(m), (sizes{3, 1}));
  EXPECT_EQ(consume_in_c(std::move(m)), 21);
  EXPECT_EQ(a.u->refcount, 1);
}

TEST(OpencvExport, ATensorKeepsTheMemoryOfADestroyedMat) {
  managed_tensor m;
  {
    cv::Mat const a(2, 2, CV_32S, cv::Scalar(5));
    m = build(cv::Mat(a));
  }
  EXPECT_EQ(consume_in_c(std::move(m)), 20);
}

TEST(OpencvExport, ChannelsAreTheLastDimension) {
  cv::Mat image(4, 6, CV_8UC3, cv::Scalar(1, 2, 3));
  managed_tensor crop = build(image(cv::Rect(1, 1, 3, 2)));
  EXPECT_EQ(crop.tensor().data, image.ptr<cv::Vec3b>(1) + 1);
  EXPECT_EQ(shape_of(crop), (sizes{2, 3, 3}));
  EXPECT_EQ(strides_of(crop), (sizes{18, 3, 1}));
  EXPECT_EQ(consume_in_c(std::move(crop)), 6 * 6);
  EXPECT_EQ(shape_of(build(cv::Mat_<cv::Vec2f>(2, 2))), (sizes{2, 2, 2}));
  EXPECT_EQ(shape_of(build(cv::Mat_<float>(2, 2))), (sizes{2, 2}));
}

TEST(OpencvExport, PaddedRowsAndMoreDimensionsKeepTheirStrides) {
  std::uint8_t memory[32] = {};
  memory[8] = 5;
  memory[7] = 100;
  managed_tensor padded = build(cv::Mat(2, 7, CV_8U, memory, 8));
  EXPECT_EQ(strides_of(padded), (sizes{8, 1}));
  EXPECT_EQ(consume_in_c(std::move(padded)), 5);
  int const extents[] = {2, 3, 4};
  managed_tensor cube = build(cv::Mat(3, extents, CV_64F, cv::Scalar(1)));
  EXPECT_EQ(shape_of(cube), (sizes{2, 3, 4}));
  EXPECT_EQ(strides_of(cube), (sizes{12, 4, 1}));
  EXPECT_EQ(consume_in_c(std::move(cube)), 24);
}

TEST(OpencvExport, EveryDepthHasItsDtype) {
  dtype const expected[] = {dtype(kDLUInt, 8),   dtype(kDLInt, 8),   dtype(kDLUInt, 16),
                            dtype(kDLInt, 16),   dtype(kDLInt, 32),  dtype(kDLFloat, 32),
                            dtype(kDLFloat, 64), dtype(kDLFloat, 16)};
  for (int depth = CV_8U; depth <= CV_16F; ++depth) {
    managed_tensor const m = build(cv::Mat(1, 1, depth));
    EXPECT_EQ(dtype(m.tensor().dtype), expected[depth]) << depth;
  }
}

TEST(OpencvExport, AnEmptyMatHasNoElements) {
  EXPECT_EQ(shape_of(build(cv::Mat())), (sizes{0, 0}));
  EXPECT_EQ(shape_of(build(cv::Mat(0, 3, CV_8UC2))), (sizes{0, 3, 2}));
}

struct OpencvImport : BridgeFixture {};

TEST_F(OpencvImport, AMatRefersToTheForeignElements) {
  cv::Mat m = as<cv::Mat>(view());
  EXPECT_EQ(m.type(), CV_32FC1);
  EXPECT_EQ(static_cast<void*>(m.data), foreign->data);
  EXPECT_EQ(m.at<float>(1, 2), 5);
  m.at<float>(1, 0) = 30;
  EXPECT_EQ(foreign->data[3], 30);
  expect_one_deletion();
}

TEST_F(OpencvImport, ATypedMatTakesItsChannelsFromTheLastDimension) {
  set_layout({2, 4, 3}, {16, 3, 1});
  auto const m = as<cv::Mat_<cv::Vec3f>>(view());
  EXPECT_EQ(m.rows, 2);
  EXPECT_EQ(m.cols, 4);
  EXPECT_EQ(m(1, 3), cv::Vec3f(25, 26, 27));
  EXPECT_FALSE(m.isContinuous());
  EXPECT_EQ(cv::sum(m)[0], 0 + 3 + 6 + 9 + 16 + 19 + 22 + 25);
  EXPECT_EQ((as<cv::Mat_<float>>(view()).dims), 3);
  EXPECT_EQ((refusal<cv::Mat_<cv::Vec4f>>()),
            "extent_mismatch: expected float32[...] on cpu, writable, with 4 channels as "
            "the last dimension; got float32[2, 4, 3] on cpu: extents differ");
}

TEST_F(OpencvImport, LowRanksBecomeColumns) {
  set_layout({4}, {3});
  cv::Mat const column = as<cv::Mat>(view());
  EXPECT_EQ(column.rows, 4);
  EXPECT_EQ(column.cols, 1);
  EXPECT_EQ(column.at<float>(3), 9);
  make_scalar();
  EXPECT_EQ(as<cv::Mat>(view()).at<float>(0, 0), 3);
}

TEST_F(OpencvImport, OnlyRowsMayHaveGaps) {
  set_layout({2, 3}, {8, 1});
  EXPECT_EQ(as<cv::Mat>(view()).at<float>(1, 2), 10);
  for (auto const& strides : {sizes{1, 2}, sizes{6, 2}, sizes{-3, 1}, sizes{0, 1}, sizes{2, 1}}) {
    set_layout({2, 3}, strides);
    t.byte_offset = 12;
    EXPECT_EQ(refusal<cv::Mat>().substr(0, 15), "layout_mismatch");
  }
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ(refusal<cv::Mat>(),
            "layout_mismatch: expected any dtype[...] on cpu, writable, row-major but for gaps "
            "between rows; got float32[2, 3] on cpu with strides [1, 2]: layout differs. Pass a "
            "copy in that layout");
}

TEST_F(OpencvImport, EmptyArraysKeepTheirShape) {
  make_empty({0, 3});
  EXPECT_EQ(as<cv::Mat>(view()).cols, 3);
  EXPECT_EQ(as<cv::Mat_<float>>(view()).cols, 3);
  make_empty({5, 0, 3});
  EXPECT_EQ(as<cv::Mat_<cv::Vec3f>>(view()).rows, 5);
}

TEST_F(OpencvImport, OneMessageListsEveryMismatch) {
  make_read_only();
  t.device = {kDLCUDA, 0};
  t.dtype = {kDLInt, 64, 1};
  EXPECT_EQ(refusal<cv::Mat>(),
            "dtype_mismatch: expected any dtype[...] on cpu, writable, of a dtype that OpenCV "
            "supports; got "
            "int64[2, 3] on cuda:0, read-only: dtype, device, writability differ. Pass a "
            "writable copy: also a const Mat gives writable memory to its copies");
}

TEST_F(OpencvImport, ACopyOfReadOnlyMemoryIsAccepted) {
  make_read_only();
  EXPECT_NE(refusal<cv::Mat>().find("Pass a writable copy: also a const Mat gives writable memory"),
            std::string::npos);
  dlbridge::managed_tensor const copied = dlbridge::copy_of(view());
  EXPECT_EQ(as<cv::Mat>(copied.view()).cols, 3);
}

TEST_F(OpencvImport, RanksAndExtentsBeyondTheLimitsOfOpencvAreRefused) {
  set_layout(std::vector<std::int64_t>(33, 1));
  EXPECT_EQ(
      refusal<cv::Mat>().substr(0, 87),
      "rank_mismatch: expected any dtype[...] on cpu, writable, of at most 32 dimensions; got ");
  set_layout({0, std::int64_t{1} << 40});
  EXPECT_EQ(refusal<cv::Mat>(),
            "extent_mismatch: expected any dtype[...] on cpu, writable, of int extents; got "
            "float32[0, 1099511627776] on cpu: extents differ");
  set_layout({}, {});
  EXPECT_EQ((refusal<cv::Mat_<cv::Vec3f>>()),
            "rank_mismatch: expected float32[...] on cpu, writable, of 1 to 33 dimensions, the "
            "channels last; got float32[] on cpu: rank differs");
}

TEST_F(OpencvImport, AMatOwnsNoEmptyOwner) {
  EXPECT_EQ(refusal_of([] { return adopt_as<cv::Mat>(managed_tensor()); }).substr(0, 9),
            "null_data");
}

TEST_F(OpencvImport, AMatCanOwnTheTensor) {
  // [own]
  cv::Mat m = adopt_as<cv::Mat>(managed_tensor::steal(raw));
  cv::Mat const second = m.row(1);  // shares it, as Mats do
  m.release();
  EXPECT_EQ(second.at<float>(0, 2), 5);
  EXPECT_EQ(deleted(), 0);
  // [/own]
  EXPECT_EQ(static_cast<void*>(second.data), foreign->data + 3);
  const_cast<cv::Mat&>(second).release();
  EXPECT_EQ(deleted(), 1);
}

TEST_F(OpencvImport, AMatThatOwnsATensorCanBeExported) {
  managed_tensor out = build(adopt_as<cv::Mat>(managed_tensor::steal(raw)));
  EXPECT_EQ(out.tensor().data, foreign->data);
  EXPECT_EQ(consume_in_c(std::move(out)), 15);
  EXPECT_EQ(deleted(), 1);
}

TEST_F(OpencvImport, AMatThatOwnsATensorCanBeReallocated) {
  cv::Mat m = adopt_as<cv::Mat>(managed_tensor::steal(raw));
  cv::Mat const copy = m.clone();
  m.create(50, 50, CV_8U);
  EXPECT_EQ(deleted(), 1);
  EXPECT_EQ(copy.at<float>(1, 2), 5);
}

TEST_F(OpencvImport, AMatCanOwnAnEmptyTensor) {
  make_empty({0, 3});
  EXPECT_EQ(adopt_as<cv::Mat>(managed_tensor::steal(raw)).cols, 3);
  EXPECT_EQ(deleted(), 1);
}

TEST_F(OpencvImport, ARefusedTensorStaysWithTheCaller) {
  make_read_only();
  managed_tensor m = managed_tensor::steal(raw);
  EXPECT_EQ(refusal_of([&m] { return adopt_as<cv::Mat>(std::move(m)); }).substr(0, 9), "read_only");
  EXPECT_TRUE(m);
  EXPECT_EQ(deleted(), 0);
  m.reset();
  EXPECT_EQ(deleted(), 1);
}

}  // namespace
