// SPDX-License-Identifier: BSD-3-Clause
// bridges/std.hpp: standard containers and pointers become tensors, which a plain-C consumer reads.
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "refusal.hpp"
#include "struct_kinds.hpp"

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

namespace {

using dlbridge::borrow;
using dlbridge::build;
using dlbridge::dims;
using dlbridge::dtype;
using dlbridge::managed_tensor;
using dlbridge::with_shape;

using sizes = std::vector<std::int64_t>;

// An array of a device, whose elements are ready on a stream.
struct on_stream {
  int stream = 0;
  float* elements = nullptr;
};
}  // namespace
template <>
struct dlbridge::array_traits<on_stream> {
  static dlbridge::description describe(on_stream& a) noexcept {
    return dlbridge::description::of(a.elements, {0});
  }
  static dlbridge::stream_ref stream(on_stream const& a) noexcept {
    return dlbridge::stream_ref(dlbridge::device(kDLCUDA, 0), const_cast<int*>(&a.stream));
  }
};

// The same with a hook that takes the array as describe does.
struct on_own_stream : on_stream {};
template <>
struct dlbridge::array_traits<on_own_stream> {
  static dlbridge::description describe(on_own_stream& a) noexcept {
    return dlbridge::description::of(a.elements, {0});
  }
  static dlbridge::stream_ref stream(on_own_stream& a) noexcept {
    return dlbridge::stream_ref(dlbridge::device(kDLCUDA, 0), &a.stream);
  }
};
namespace {

sizes shape_of(managed_tensor const& m) {
  DLTensor const& t = m.tensor();
  return {t.shape, t.shape + t.ndim};
}

TEST(StdVector, IsOneDimensionalAndNotCopied) {
  std::vector<double> v{1, 2, 3};
  double const* const memory = v.data();
  managed_tensor m = build(std::move(v));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(dtype(m.tensor().dtype), dtype(kDLFloat, 64));
  EXPECT_EQ(shape_of(m), sizes{3});
  EXPECT_EQ(consume_in_c(std::move(m)), 6);
}

TEST(StdVector, OfArraysAppendsTheirDimensions) {
  using pixel = std::array<std::uint8_t, 3>;
  managed_tensor pixels = build(std::vector<pixel>{{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(shape_of(pixels), (sizes{2, 3}));
  EXPECT_EQ(consume_in_c(std::move(pixels)), 21);
  managed_tensor blocks = build(std::vector<std::array<std::array<int, 2>, 3>>(4));
  EXPECT_EQ(shape_of(blocks), (sizes{4, 3, 2}));
  EXPECT_EQ(dtype(blocks.tensor().dtype), dtype(kDLInt, 32));
}

TEST(StdVector, WithoutElementsIsEmpty) {
  EXPECT_EQ(shape_of(build(std::vector<float>())), sizes{0});
  EXPECT_EQ(shape_of(build(std::vector<std::array<float, 3>>())), (sizes{0, 3}));
}

template <class T>
struct plain_allocator {
  using value_type = T;
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
};

TEST(StdVector, MayHaveACustomAllocator) {
  std::vector<float, plain_allocator<float>> v(2);
  v[1] = 5;
  EXPECT_EQ(consume_in_c(build(std::move(v))), 5);
}

TEST(StdArray, IsStoredInTheManagedTensor) {
  std::array<float, 3> a{1, 2, 3};
  managed_tensor m = build(std::move(a));
  EXPECT_NE(m.tensor().data, a.data());
  EXPECT_EQ(shape_of(m), sizes{3});
  EXPECT_EQ(consume_in_c(std::move(m)), 6);
}

TEST(StdArray, OfArraysHasSeveralDimensions) {
  std::array<std::array<std::array<int, 2>, 1>, 3> a{};
  a[2][0][1] = 7;
  managed_tensor m = build(std::move(a));
  EXPECT_EQ(shape_of(m), (sizes{3, 1, 2}));
  EXPECT_EQ(consume_in_c(std::move(m)), 7);
}

TEST(StdArray, WithoutElementsIsEmpty) {
  EXPECT_EQ(shape_of(build(std::array<float, 0>())), sizes{0});
  EXPECT_EQ(shape_of(build(std::array<std::array<float, 0>, 2>())), (sizes{2, 0}));
}

TEST(StdArray, OfConstElementsIsReadOnly) {
  EXPECT_TRUE(build(std::array<float const, 2>{1, 2}).flags() == dlbridge::flag_read_only);
}

TEST(StdSharedPtr, IsOwnedJointlyByItsTensors) {
  auto const owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  managed_tensor first = build(std::shared_ptr<std::vector<float>>(owner));
  managed_tensor second =
      build(std::shared_ptr<std::vector<float>>(owner), dlbridge::struct_kind::legacy);
  EXPECT_EQ(owner.use_count(), 3);
  EXPECT_EQ(first.tensor().data, owner->data());
  EXPECT_EQ(second.tensor().data, owner->data());
  EXPECT_EQ(consume_in_c(std::move(first)), 6);
  EXPECT_EQ(consume_in_c(std::move(second)), 6);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(StdSharedPtr, ToConstIsReadOnly) {
  managed_tensor m = build(std::make_shared<std::vector<float> const>(2, 5.0F));
  EXPECT_EQ(m.flags(), dlbridge::flag_read_only);
  EXPECT_EQ(consume_in_c(std::move(m)), 10);
}

TEST(StdSharedPtr, NullIsRefused) {
  EXPECT_EQ(refusal_of([] { return build(std::shared_ptr<std::vector<float>>()); }),
            "null_data: tensor without data: expected an owner of an array; got an empty one");
}

TEST(StdSharedPtr, ToAManagedTensorDropsTheFlagIsCopied) {
  foreign_ptr const foreign = make_foreign();
  std::uint64_t const flags = dlbridge::flag_read_only | std::uint64_t{1} << 40;
  foreign_versioned(foreign.get())->flags = dlbridge::flag_is_copied | flags;
  auto const shared =
      std::make_shared<managed_tensor>(managed_tensor::steal(foreign_versioned(foreign.get())));
  // With this flag each consumer would assume that it is the only owner, and write.
  EXPECT_EQ(build(std::shared_ptr<managed_tensor>(shared)).flags(), flags);
  EXPECT_EQ(build(std::move(*shared)).flags(), flags | dlbridge::flag_is_copied);
}

TEST(StdSharedPtr, HasTheStreamOfTheArray) {
  auto const array = std::make_shared<on_stream>();
  dlbridge::device const where(kDLCUDA, 0);
  EXPECT_EQ(dlbridge::ready_on(array, where), dlbridge::ready_on(*array, where));
  EXPECT_EQ(dlbridge::ready_on(std::as_const(*array), where).native_handle(), &array->stream);
}

TEST(StdSharedPtr, HasTheStreamOfAnArrayWhoseHookTakesNoConst) {
  dlbridge::device const where(kDLCUDA, 0);
  auto const array = std::make_shared<on_own_stream>();
  auto const to_const = std::shared_ptr<on_own_stream const>(array);
  EXPECT_EQ(dlbridge::ready_on(*array, where).native_handle(), &array->stream);
  EXPECT_EQ(dlbridge::ready_on(std::as_const(*array), where).native_handle(), &array->stream);
  EXPECT_EQ(dlbridge::ready_on(array, where).native_handle(), &array->stream);
  EXPECT_EQ(dlbridge::ready_on(to_const, where).native_handle(), &array->stream);
}

TEST(WithShape, GivesDimensionsToAUniquePtr) {
  auto elements = std::make_unique<float[]>(6);
  std::iota(elements.get(), elements.get() + 6, 0.0F);
  managed_tensor m = build(with_shape(std::move(elements), {2, 3}));
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(m.tensor().strides[0], 3);
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
}

TEST(WithShape, AcceptsStrides) {
  auto elements = std::make_unique<float[]>(6);
  std::iota(elements.get(), elements.get() + 6, 0.0F);
  managed_tensor m = build(with_shape(std::move(elements), {2}, {3}));
  EXPECT_EQ(consume_in_c(std::move(m)), 0 + 3);
}

TEST(WithShape, CallsTheDeleterOfThePointerOnce) {
  static int freed;
  freed = 0;
  auto const free = [](int const* p) {
    ++freed;
    delete[] p;
  };
  std::unique_ptr<int const[], void (*)(int const*)> p(new int[2]{3, 4}, free);
  managed_tensor m = build(with_shape(std::move(p), {2}));
  EXPECT_EQ(m.flags(), dlbridge::flag_read_only);
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(consume_in_c(std::move(m)), 7);
  EXPECT_EQ(freed, 1);
}

TEST(WithShape, SharesOwnershipOfASharedPtr) {
  std::shared_ptr<double[]> const p(new double[4]{1, 2, 3, 4});
  managed_tensor m = build(with_shape(p, {4}, {1}));
  EXPECT_EQ(p.use_count(), 2);
  EXPECT_EQ(m.tensor().data, p.get());
  EXPECT_EQ(consume_in_c(std::move(m)), 10);
  EXPECT_EQ(p.use_count(), 1);
}

TEST(WithShape, RefusesANullPointer) {
  EXPECT_EQ(refusal_of([] { return build(with_shape(std::unique_ptr<float[]>(), {2})); }),
            "null_data: tensor without data: expected memory; got null data for float32[2] on "
            "cpu. Correct the description of the array");
  EXPECT_EQ(shape_of(build(with_shape(std::unique_ptr<float[]>(), {0}))), sizes{0});
}

TEST(Borrow, LeavesTheMemoryToTheCaller) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  managed_tensor m = build(borrow(&memory[0], {2, 3}));
  EXPECT_EQ(m.tensor().data, memory);
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
  EXPECT_EQ(consume_in_c(build(borrow(memory + 5, {2}, {-5}))), 5 + 0);
}

TEST(Borrow, OfConstMemoryIsReadOnly) {
  float const memory[2] = {1, 2};
  EXPECT_EQ(build(borrow(&memory[0], {2})).flags(), dlbridge::flag_read_only);
  EXPECT_EQ(build(borrow(memory)).flags(), dlbridge::flag_read_only);
  float writable[2] = {1, 2};
  EXPECT_EQ(build(borrow(writable)).flags(), 0U);
}

TEST(Borrow, DeducesTheDimensionsOfACArray) {
  int cube[2][3][4] = {};
  cube[1][2][3] = 9;
  managed_tensor m = build(borrow(cube));
  EXPECT_EQ(m.tensor().data, cube);
  EXPECT_EQ(shape_of(m), (sizes{2, 3, 4}));
  EXPECT_EQ(consume_in_c(std::move(m)), 9);
  std::array<float, 2> pairs[3] = {};
  EXPECT_EQ(shape_of(build(borrow(pairs))), (sizes{3, 2}));
}

TEST(Borrow, AcceptsAnLvalueContainer) {
  std::vector<float> v{1, 2, 3};
  std::vector<float> const c{4, 5};
  std::array<float, 1> a{6};
  EXPECT_EQ(consume_in_c(build(borrow(v))), 6);
  EXPECT_EQ(build(borrow(c)).flags(), dlbridge::flag_read_only);
  EXPECT_EQ(consume_in_c(build(borrow(a))), 6);
}

TEST(Borrow, AppendsTheDimensionsOfArrayElements) {
  std::vector<std::array<float, 3>> v(2);
  v[1][2] = 5;
  managed_tensor m = build(borrow(v));
  EXPECT_EQ(shape_of(m), (sizes{2, 3}));
  EXPECT_EQ(consume_in_c(std::move(m)), 5);
  std::array<std::array<float, 2>, 3> const a{};
  EXPECT_EQ(shape_of(build(borrow(a))), (sizes{3, 2}));
  EXPECT_EQ(build(borrow(a)).flags(), dlbridge::flag_read_only);
}

/// A view like std::span, for C++17: its copies refer to the same elements.
struct view_of_floats {
  float* first;
  std::size_t length;
  float* data() const { return first; }
  std::size_t size() const { return length; }
};

TEST(Borrow, AcceptsATemporaryView) {
  std::vector<float> v{1, 2, 3};
  EXPECT_EQ(consume_in_c(build(borrow(view_of_floats{v.data() + 1, 2}))), 5);
#if defined(__cpp_lib_span)
  EXPECT_EQ(consume_in_c(build(borrow(std::span<float>(v).subspan(1)))), 5);
  EXPECT_EQ(build(borrow(std::span<float const>(v))).flags(), dlbridge::flag_read_only);
#endif
}

}  // namespace
