// SPDX-License-Identifier: BSD-3-Clause
// any_tensor.hpp: any_tensor and visit on tensors of a foreign producer.
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/broadcast.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/types/complex.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "foreign.hpp"
#include "foreign_fixture.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::any_tensor;
using dlbridge::dtype;
using dlbridge::dynamic_extent;
using dlbridge::managed_tensor;
using dlbridge::shape;

using matrix = shape<dynamic_extent, dynamic_extent>;

static_assert(std::is_nothrow_default_constructible_v<any_tensor>);
static_assert(std::is_nothrow_move_constructible_v<any_tensor>);
static_assert(!std::is_convertible_v<managed_tensor, any_tensor>);

struct AnyTensor : ForeignTensor {
  any_tensor import() const { return any_tensor(managed_tensor::adopt(raw)); }
};

TEST_F(AnyTensor, IsEmptyByDefault) { EXPECT_FALSE(any_tensor()); }

TEST_F(AnyTensor, AnEmptyOneIsRefusedByFunctionsThatTakeAView) {
  any_tensor none;
  dlbridge::managed_tensor const empty;
  char const* const text =
      "null_data: tensor without data: expected an owner of a tensor; got an "
      "empty one";
  EXPECT_EQ(refusal_of([&] { return copy_of(none); }), text);
  EXPECT_EQ(refusal_of([&] { return copy_of(empty); }), text);
  EXPECT_EQ(refusal_of([&] { return none.as<float>(); }), text);
  EXPECT_EQ(refusal_of([&] { visit(none, [](auto) {}); }), text);
  EXPECT_EQ(refusal_of([&] { visit(std::as_const(none), [](auto) {}); }), text);
  EXPECT_EQ(refusal_of([&] { dlbridge::broadcast_to<float>(empty, {1}); }), text);
}

TEST_F(AnyTensor, AcceptsEveryDtypeOnEveryDevice) {
  t.dtype = {kDLOpaqueHandle, 64, 1};
  t.device = {kDLVulkan, 3};
  {
    any_tensor const x = import();
    EXPECT_TRUE(x);
    EXPECT_EQ(x.dtype(), dtype(kDLOpaqueHandle, 64));
    EXPECT_EQ(x.view().device(), dlbridge::device(kDLVulkan, 3));
  }
  EXPECT_EQ(deleted(), 1);
}

TEST_F(AnyTensor, ReturnsATypedSpan) {
  any_tensor const x = import();
  auto const span = x.as<float, shape<2, dynamic_extent>>();
  EXPECT_EQ(span(1, 2), 5);
  EXPECT_EQ(refusal_of([&] { return x.as<double>(); }),
            "dtype_mismatch: expected float64[...] on cpu, writable; got float32[2, 3] on cpu: "
            "dtype differs");
}

TEST_F(AnyTensor, ReleaseDoesNotFree) {
  any_tensor x = import();
  EXPECT_EQ(std::move(x).release().release_versioned(), raw);
  EXPECT_EQ(deleted(), 0);
}

struct Visit : AnyTensor {};

constexpr auto type_of = [](auto span) {
  return dlbridge::dtype_of<typename decltype(span)::element_type>();
};

TEST_F(Visit, DispatchesOnEveryArithmeticType) {
  int const bits_of_codes[][2] = {{kDLBool, 8},  {kDLInt, 8},    {kDLInt, 16},  {kDLInt, 32},
                                  {kDLInt, 64},  {kDLUInt, 8},   {kDLUInt, 16}, {kDLUInt, 32},
                                  {kDLUInt, 64}, {kDLFloat, 32}, {kDLFloat, 64}};
  any_tensor x = import();
  for (auto const& [code, bits] : bits_of_codes) {
    t.dtype = dtype(code, bits).abi();
    EXPECT_EQ(dlbridge::visit(view(), type_of), dtype(code, bits));
    EXPECT_EQ(dlbridge::visit(x, type_of), dtype(code, bits));
    EXPECT_EQ(dlbridge::visit(std::as_const(x), type_of), dtype(code, bits));
  }
}

TEST_F(Visit, RefusesOtherTypesAndNamesTheList) {
  t.dtype = {kDLFloat, 16, 1};
  EXPECT_EQ(refusal_of([&] { return dlbridge::visit(view(), type_of); }),
            "dtype_mismatch: expected bool, int8, int16, int32, int64, uint8, uint16, uint32, "
            "uint64, float32 or float64; got float16[2, 3] on cpu: dtype differs");
  t.dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(refusal_of([&] { return dlbridge::visit<dlbridge::types<float>>(view(), type_of); }),
            "dtype_mismatch: expected float32; got float32x4[2, 3] on cpu: dtype differs");
}

TEST_F(Visit, AcceptsACustomTypeList) {
  using list = dlbridge::types<std::complex<float>, std::complex<double>, std::byte>;
  auto const visit = [this] { return dlbridge::visit<list>(view(), type_of); };
  t.dtype = {kDLComplex, 128, 1};
  EXPECT_EQ(visit(), dtype(kDLComplex, 128));
  t.dtype = {kDLUInt, 8, 1};
  EXPECT_EQ(visit(), dtype(kDLUInt, 8));
  t.dtype = {kDLFloat, 32, 1};
  EXPECT_EQ(refusal_of(visit),
            "dtype_mismatch: expected complex64, complex128 or uint8; got float32[2, 3] on cpu: "
            "dtype differs");
}

TEST_F(Visit, WritesThroughANonConstTensor) {
  any_tensor x = import();
  dlbridge::visit(x, [](auto span) {
    static_assert(!std::is_const_v<typename decltype(span)::element_type>);
    span.data()[5] = 50;
  });
  EXPECT_EQ(foreign->data[5], 50);
}

TEST_F(Visit, ReadsThroughAConstTensorAndThroughAView) {
  auto const last = [](auto span) {
    static_assert(std::is_const_v<typename decltype(span)::element_type>);
    return static_cast<double>(span.data()[5]);
  };
  raw->flags = dlbridge::flag_read_only;
  any_tensor x = import();
  EXPECT_EQ(dlbridge::visit(std::as_const(x), last), 5);
  EXPECT_EQ(dlbridge::visit(view(), last), 5);
  EXPECT_EQ(refusal_of([&] { return dlbridge::visit(x, type_of); }),
            "read_only: expected float32[...] on cpu, writable; got float32[2, 3] on cpu, "
            "read-only: writability differs. Pass a writable copy");
}

TEST_F(Visit, ReturnsTheResultOfTheVisitor) {
  float first = 7;
  auto const same = [&first](auto) -> float& { return first; };
  EXPECT_EQ(&dlbridge::visit(view(), same), &first);
  struct not_default {
    explicit not_default(int rank_) : rank(rank_) {}
    int rank;
  };
  EXPECT_EQ(dlbridge::visit(view(), [](auto span) { return not_default(span.rank()); }).rank, 2);
}

TEST_F(Visit, RefusesDeviceMemory) {
  t.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal_of([&] { return dlbridge::visit(view(), type_of); }),
            "device_mismatch: expected float32[...] on cpu; got float32[2, 3] on cuda:0: device "
            "differs");
}

TEST_F(Visit, CallsAMoveOnlyVisitorOnce) {
  auto visitor = [calls = std::make_unique<int>(0)](auto) { return ++*calls; };
  EXPECT_EQ(dlbridge::visit(view(), visitor), 1);
  EXPECT_EQ(dlbridge::visit(view(), std::move(visitor)), 2);
}

using list = dlbridge::types<float const, double const, std::complex<float> const>;
using choice = dlbridge::any_of<list, matrix, dlbridge::row_major>;
using kept_choice = dlbridge::any_tensor_of<list, matrix, dlbridge::row_major>;

static_assert(std::is_nothrow_copy_constructible_v<choice>);
static_assert(!std::is_copy_constructible_v<kept_choice>);
static_assert(std::is_nothrow_move_constructible_v<kept_choice>);
static_assert(!std::is_constructible_v<choice, managed_tensor>);
static_assert(!std::is_convertible_v<managed_tensor, kept_choice>);

struct AnyOf : AnyTensor {};

TEST_F(AnyOf, VisitPassesASpanOfTheType) {
  for (dtype const each : {dtype(kDLFloat, 32), dtype(kDLFloat, 64), dtype(kDLComplex, 64)}) {
    t.dtype = each.abi();
    choice const x(view());
    EXPECT_EQ(x.dtype(), each);
    EXPECT_EQ(dlbridge::visit(x, type_of), each);
    dlbridge::visit(x, [this](auto span) {
      using span_type = decltype(span);
      using element = typename span_type::element_type;
      static_assert(
          std::is_same_v<span_type, dlbridge::tensor_span<element, matrix, dlbridge::row_major>>);
      EXPECT_EQ(span.data(), t.data);
    });
    EXPECT_TRUE(x.view().read_only());
  }
}

TEST_F(AnyOf, RefusesOtherTypesAndNamesTheList) {
  t.dtype = {kDLFloat, 16, 1};
  EXPECT_EQ(refusal_of([&] { return choice(view()); }),
            "dtype_mismatch: expected float32, float64 or complex64 [*, *] on cpu, row-major; got "
            "float16[2, 3] on cpu: dtype differs");
  t.dtype = {kDLFloat, 64, 1};
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ(refusal_of([&] { return choice(view()); }),
            "layout_mismatch: expected float32, float64 or complex64 [*, *] on cpu, row-major; got "
            "float64[2, 3] on cpu with strides [1, 2]: layout differs. Pass a copy in that layout");
}

TEST_F(AnyOf, RequiresTheAlignmentOfTheTypeThatCame) {
  t.data = static_cast<char*>(t.data) + 4;
  set_layout({1, 2});
  EXPECT_EQ(dlbridge::visit(choice(view()), type_of), dtype(kDLFloat, 32));
  t.dtype = {kDLComplex, 64, 1};
  EXPECT_EQ(dlbridge::visit(choice(view()), type_of), dtype(kDLComplex, 64));
  t.dtype = {kDLFloat, 64, 1};
  EXPECT_NE(refusal_of([&] { return choice(view()); }).find("aligned to 8 bytes; got"),
            std::string::npos);
}

TEST_F(AnyOf, WritesWhereNoTypeIsConst) {
  using writable = dlbridge::any_of<dlbridge::types<double, float>>;
  dlbridge::visit(writable(view()), [](auto span) { span.data()[5] = 50; });
  EXPECT_EQ(foreign->data[5], 50);
  raw->flags = dlbridge::flag_read_only;
  EXPECT_EQ(refusal_of([&] { return writable(view()); }),
            "read_only: expected float64 or float32 [...] on cpu, writable; got float32[2, 3] on "
            "cpu, read-only: writability differs. Pass a writable copy");
}

TEST_F(AnyOf, AnOwnerFreesItsTensor) {
  {
    kept_choice x(managed_tensor::adopt(raw));
    kept_choice const moved(std::move(x));
    EXPECT_EQ(dlbridge::visit(moved, type_of), dtype(kDLFloat, 32));
    EXPECT_EQ(deleted(), 0);
  }
  EXPECT_EQ(deleted(), 1);
  EXPECT_EQ(refusal_of([] { return kept_choice(managed_tensor()); }),
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

}  // namespace
