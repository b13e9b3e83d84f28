// SPDX-License-Identifier: BSD-3-Clause
// array_traits.hpp: dims, description, and the hooks of array_traits.
#include <dlbridge/array_traits.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/managed_tensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "foreign.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::description;
using dlbridge::dims;
using dlbridge::managed_tensor;

static_assert(std::is_nothrow_copy_constructible_v<dims>);
static_assert(std::is_nothrow_copy_assignable_v<dims>);
static_assert(std::is_nothrow_copy_constructible_v<description>);
static_assert(std::is_trivially_destructible_v<description>);
static_assert(!std::is_constructible_v<dims, double>, "an extent is an integer");
static_assert(!std::is_constructible_v<dims, int*>, "use dims::from for pointers");

std::vector<std::int64_t> values(dims const& d) { return {d.data(), d.data() + d.size()}; }

TEST(Dims, AreEmptyByDefault) { EXPECT_EQ(dims().size(), 0); }

TEST(Dims, AcceptIntegersOfMixedTypes) {
  dims const d{std::uint8_t{200}, -3, std::uint64_t{1} << 40, 7L};
  EXPECT_EQ(values(d), (std::vector<std::int64_t>{200, -3, std::int64_t{1} << 40, 7}));
  EXPECT_EQ(d[1], -3);
}

TEST(Dims, CopyAnArrayOfAnyIntegers) {
  unsigned short const few[] = {9, 8, 65535};
  EXPECT_EQ(values(dims::from(few, 3)), (std::vector<std::int64_t>{9, 8, 65535}));
  EXPECT_EQ(dims::from(few, 0).size(), 0);
  EXPECT_EQ(dims::from(static_cast<std::int64_t const*>(nullptr), 0).size(), 0)
      << "the shape of a tensor of rank 0 may be null";
}

TEST(Dims, HoldSixtyFourValues) {
  std::vector<std::int64_t> many(64);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(values(dims::from(many.data(), many.size())), many);
}

TEST(Dims, ReportSixtyFiveForMoreThanSixtyFourValues) {
  std::vector<int> const many(70, 7);
  dims const d = dims::from(many.data(), many.size());
  dims const copy = d;
  EXPECT_EQ(copy.size(), dlbridge::max_rank + 1);
  EXPECT_EQ(copy[63], 7);
}

TEST(Dims, AssignmentReplacesAllValues) {
  dims d{1, 2, 3};
  d = dims{4};
  EXPECT_EQ(values(d), std::vector<std::int64_t>{4});
  d = dims{5, 6};
  dims const& same = d;
  d = same;
  EXPECT_EQ(values(d), (std::vector<std::int64_t>{5, 6}));
}

TEST(Description, OfAPointerIsRowMajorHostMemoryOfItsType) {
  float memory[6] = {};
  description const d = description::of(memory, {2, 3});
  EXPECT_EQ(d.data, memory);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLFloat, 32));
  EXPECT_EQ(values(d.shape), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(d.strides.size(), 0);
  EXPECT_EQ(d.device, dlbridge::cpu);
  EXPECT_EQ(d.byte_offset, 0U);
  EXPECT_EQ(d.flags, 0U);
}

TEST(Description, OfAPointerToConstIsReadOnly) {
  std::int16_t const memory[6] = {};
  description const d = description::of(memory, {6}, {-1});
  EXPECT_EQ(d.data, memory);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLInt, 16));
  EXPECT_EQ(d.flags, dlbridge::flag_read_only);
  EXPECT_EQ(values(d.strides), std::vector<std::int64_t>{-1});
}

TEST(Description, OfNothingIsANullPointerToOneElement) {
  description const d = description::of_nothing();
  EXPECT_EQ(d.data, nullptr);
  EXPECT_EQ(d.shape.size(), 0);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLUInt, 8));
}

// A user's array type, for which array_traits is specialized.
struct matrix {
  std::vector<double> elements;
  std::size_t rows;
};

}  // namespace

template <>
struct dlbridge::array_traits<matrix> {
  template <class Matrix>  // also of a matrix const
  static description describe(Matrix& m) noexcept {
    return description::of(m.elements.data(), {m.rows, m.elements.size() / m.rows});
  }
  static matrix adopt(managed_tensor&& tensor) {
    managed_tensor const owner = std::move(tensor);
    tensor_view const view = owner;
    if (view.dtype() != dtype_of<float>()) {
      raise(refusal(errc::dtype_mismatch, "float32", name_of(view).c_str()));
    }
    auto const* const first = static_cast<float const*>(view.data());
    return {{first, first + view.count()}, static_cast<std::size_t>(view.extent(0))};
  }
};

namespace own {
// An array of a library that has a function describe itself.
struct array {
  std::vector<float> elements;
  std::int64_t rows;
};
dlbridge::description describe(array& a) noexcept {
  return dlbridge::description::of(a.elements.data(), {a.elements.size()});
}
}  // namespace own
template <>
struct dlbridge::array_traits<own::array> {
  static description describe(own::array& a) noexcept {
    description d = own::describe(a);
    d.shape = {a.rows, d.shape[0] / a.rows};
    return d;
  }
};

namespace {

TEST(Traits, AFunctionDescribeOfTheArraysNamespaceIsNotTheHook) {
  dlbridge::managed_tensor const m = dlbridge::build(own::array{std::vector<float>(6), 2});
  EXPECT_STREQ(name_of(m.view()).c_str(), "float32[2, 3] on cpu");
}

TEST(Traits, DescribeCallsTheHook) {
  matrix m{{1, 2, 3, 4, 5, 6}, 3};
  description const d = dlbridge::describe(m);
  EXPECT_EQ(d.data, m.elements.data());
  EXPECT_EQ(values(d.shape), (std::vector<std::int64_t>{3, 2}));
}

TEST(Traits, AnArrayThatIsConstIsReadOnly) {
  auto const m = std::make_shared<matrix>(matrix{{1, 2, 3, 4, 5, 6}, 3});
  std::shared_ptr<matrix const> const to_const = m;
  EXPECT_EQ(dlbridge::build(std::shared_ptr(to_const)).flags(), dlbridge::flag_read_only);
  EXPECT_EQ(dlbridge::build(std::shared_ptr(m)).flags(), 0);
  EXPECT_EQ(dlbridge::describe(std::as_const(*m)).data, m->elements.data());
}

TEST(Traits, AdoptAsPassesTheTensorToTheHook) {
  foreign_ptr const foreign = make_foreign();
  auto const m = dlbridge::adopt_as<matrix>(managed_tensor::steal(foreign_legacy(foreign.get())));
  EXPECT_EQ(m.elements, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(m.rows, 2U);
  EXPECT_EQ(foreign->deleter_calls, 1) << "this hook copies the elements and frees the tensor";
}

TEST(Traits, AdoptAsRefusesAnEmptyOwner) {
  EXPECT_EQ(refusal_of([] { return dlbridge::adopt_as<matrix>(managed_tensor()); }),
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

// Takes a tensor of rank 1 on any device.
struct anywhere_vector {
  managed_tensor owner;
};
}  // namespace
template <>
struct dlbridge::array_traits<anywhere_vector> {
  static report check(tensor_view const& v) noexcept {
    requirement need;
    need.rank = 1;
    need.where = {device_filter::anywhere};
    return check_view(v, need);
  }
  static anywhere_vector adopt(managed_tensor&& m) { return {std::move(m)}; }
};
namespace {

dlbridge::managed_tensor on_device(std::int32_t type, int rank) {
  static float elements[1];
  description d = description::of(elements, rank == 1 ? dlbridge::dims(1) : dlbridge::dims(1, 1));
  d.device = dlbridge::device(type, 0);
  return dlbridge::build_on(dlbridge::no_owner{}, d);
}

TEST(Traits, WithoutCheckTheCpuMustBeAbleToAccessTheMemory) {
  EXPECT_EQ(refusal_of([] { return dlbridge::adopt_as<matrix>(on_device(kDLCUDA, 2)); }),
            "device_mismatch: expected any dtype[...] on cpu; got float32[1, 1] on cuda:0: device "
            "differs");
  EXPECT_EQ(dlbridge::adopt_as<matrix>(on_device(kDLCUDAHost, 2)).rows, 1U);
  managed_tensor const same = dlbridge::adopt_as<managed_tensor>(on_device(kDLCUDA, 1));
  EXPECT_EQ(same.view().device().type, kDLCUDA);
}

TEST(Traits, CheckPermitsOtherDevicesAndRefusesInItsWords) {
  EXPECT_TRUE(dlbridge::adopt_as<anywhere_vector>(on_device(kDLCUDA, 1)).owner);
  EXPECT_EQ(refusal_of([] { return dlbridge::adopt_as<anywhere_vector>(on_device(kDLCUDA, 2)); }),
            "rank_mismatch: expected any dtype[*]; got float32[1, 1] on cuda:0: rank differs");
}

TEST(Traits, TryAdoptAsReportsEveryRefusal) {
  dlbridge::report why;
  EXPECT_EQ(dlbridge::try_adopt_as<matrix>(on_device(kDLCPU, 2), why)->rows, 1U);
  EXPECT_TRUE(why.ok());
  managed_tensor wrong = on_device(kDLCUDA, 2);
  EXPECT_FALSE(dlbridge::try_adopt_as<anywhere_vector>(std::move(wrong), why));
  EXPECT_TRUE(why.has(dlbridge::errc::rank_mismatch));
  EXPECT_TRUE(wrong) << "the caller still owns what check refused";
  EXPECT_FALSE(dlbridge::try_adopt_as<matrix>(managed_tensor(), why = dlbridge::report()));
  EXPECT_TRUE(why.has(dlbridge::errc::null_data));
  auto integers = dlbridge::build(std::vector<int>{1});
  EXPECT_FALSE(dlbridge::try_adopt_as<matrix>(std::move(integers), why = dlbridge::report()));
  EXPECT_TRUE(why.has(dlbridge::errc::dtype_mismatch)) << "which adopt throws";
}

TEST(Traits, ATensorThatTheHookRefusesIsFreedOnce) {
  foreign_ptr const foreign = make_foreign();
  DLManagedTensorVersioned* const raw = foreign_versioned(foreign.get());
  raw->dl_tensor.dtype = {kDLInt, 32, 1};
  EXPECT_EQ(refusal_of([&] { return dlbridge::adopt_as<matrix>(managed_tensor::steal(raw)); }),
            "dtype_mismatch: expected float32; got int32[2, 3] on cpu: dtype differs");
  EXPECT_EQ(foreign->deleter_calls, 1);
}

}  // namespace
