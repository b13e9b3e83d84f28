// SPDX-License-Identifier: BSD-3-Clause
// tensor.hpp: tensor and tensor_span on tensors of a foreign producer.
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/broadcast.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/types/complex.hpp>
#include <dlbridge/types/small_floats.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "foreign.hpp"
#include "foreign_fixture.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::dtype;
using dlbridge::dynamic_extent;
using dlbridge::dynamic_rank;
using dlbridge::managed_tensor;
using dlbridge::shape;
using dlbridge::tensor;
using dlbridge::tensor_span;
using dlbridge::tensor_view;

using matrix = shape<dynamic_extent, dynamic_extent>;

static_assert(!std::is_default_constructible_v<tensor_span<float>>);
static_assert(std::is_trivially_copyable_v<tensor_span<float, matrix>>);
static_assert(sizeof(tensor_span<float>) == sizeof(tensor_view), "it is passed by value");
static_assert(!std::is_convertible_v<tensor_view, tensor_span<float>>, "the constructor may throw");
static_assert(!std::is_constructible_v<tensor_span<float>, managed_tensor>, "it would dangle");
static_assert(std::is_nothrow_move_constructible_v<tensor<float, matrix>>);
static_assert(std::is_nothrow_move_assignable_v<tensor<float, matrix>>);
static_assert(!std::is_copy_constructible_v<tensor<float, matrix>>);
static_assert(!std::is_convertible_v<managed_tensor, tensor<float>>);
static_assert(!std::is_constructible_v<tensor<float>, managed_tensor&>, "it takes ownership");
static_assert(
    std::is_same_v<decltype(std::declval<tensor_span<float const, shape<dynamic_extent>>>()(0)),
                   float const&>);

enum class axis_index : std::uint8_t { first };
template <class... Index>
constexpr bool are_indices = (dlbridge::detail::is_index<Index> && ...);
static_assert(
    are_indices<int, std::size_t, bool, axis_index, std::integral_constant<std::size_t, 1>>);
static_assert(!are_indices<float> && !are_indices<long double> && !are_indices<dlbridge::float16> &&
              !are_indices<dlbridge::bfloat16> && !are_indices<std::nullptr_t>);

// A call with a tensor finds no internal function of that name: a class of the namespace detail
// would make its functions visible in the classes that it is a base of.
template <class T, class = void>
constexpr bool finds_internal = false;
template <class T>
constexpr bool finds_internal<T, std::void_t<decltype(view_in(std::declval<T const&>()))>> = true;
struct derived_from_internal : dlbridge::detail::span_parts<0> {};
static_assert(finds_internal<derived_from_internal>);
static_assert(!finds_internal<tensor_view> && !finds_internal<managed_tensor>);
static_assert(!finds_internal<tensor_span<float>> && !finds_internal<tensor_span<float, matrix>>);
static_assert(!finds_internal<tensor<float>> && !finds_internal<tensor<float, matrix>>);
static_assert(!finds_internal<dlbridge::any_tensor>);
static_assert(!finds_internal<dlbridge::broadcast_span<float, matrix>>);
static_assert(std::is_standard_layout_v<tensor_span<float>> &&
              std::is_standard_layout_v<tensor_span<float, matrix>>);

// tensor_span and tensor accept the same tensors and refuse the same ones.
struct non_owning {
  template <class T, class... More>
  using type = tensor_span<T, More...>;
  template <class Typed>
  static Typed make(managed_tensor& m) {
    return Typed(m);
  }
};
struct owning {
  template <class T, class... More>
  using type = tensor<T, More...>;
  template <class Typed>
  static Typed make(managed_tensor& m) {
    return Typed(std::move(m));
  }
};
template <class Ownership>
struct TypedTensor : ForeignTensor {
  managed_tensor owner;

  template <class T, class... More>
  auto typed() {
    owner = managed_tensor::adopt(raw);
    return Ownership::template make<typename Ownership::template type<T, More...>>(owner);
  }
  template <class T, class... More>
  std::string refusal() {
    return refusal_of([this] { return typed<T, More...>(); });
  }
};
struct ownership_name {
  template <class Ownership>
  static std::string GetName(int) {
    return std::is_same_v<Ownership, non_owning> ? "NonOwning" : "Owning";
  }
};
using Ownerships = testing::Types<non_owning, owning>;
TYPED_TEST_SUITE(TypedTensor, Ownerships, ownership_name);

TYPED_TEST(TypedTensor, IndexesLikeACArray) {
  this->set_layout({2, 3, 4});
  auto const x =
      this->template typed<float, shape<dynamic_extent, dynamic_extent, dynamic_extent>>();
  auto const* const c = reinterpret_cast<float const(*)[3][4]>(this->foreign->data);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        ASSERT_EQ(&x(i, j, k), &c[i][j][k]);
      }
    }
  }
}

TYPED_TEST(TypedTensor, WritesToTheForeignMemory) {
  auto const x = this->template typed<float, matrix>();
  x(1, 2) = 50;
  EXPECT_EQ(this->foreign->data[5], 50);
}

TYPED_TEST(TypedTensor, SupportsAnyStrides) {
  this->set_layout({2, 3}, {-7, 2});
  this->t.byte_offset = 7 * sizeof(float);
  auto const x = this->template typed<float const, matrix>();
  EXPECT_EQ(x(0, 2), 7 + 4);
  EXPECT_EQ(x(1, 0), 0);
  EXPECT_EQ(x.stride(0), -7);
}

TYPED_TEST(TypedTensor, TreatsNullStridesAsRowMajor) {
  this->t.strides = nullptr;
  auto const x = this->template typed<float const, matrix>();
  EXPECT_EQ(x(1, 1), 4);
  EXPECT_EQ(x.stride(0), 3);
  EXPECT_EQ(x.stride(1), 1);
}

TYPED_TEST(TypedTensor, AcceptsIndicesOfAnyIntegerType) {
  auto const x = this->template typed<float const, matrix>();
  EXPECT_EQ(x(std::size_t{1}, std::uint8_t{2}), 5);
  EXPECT_EQ(x(std::int64_t{1}, 2U), 5);
}

TEST(TypedTensorOfRank1, TakesItsIndexInBrackets) {
  using vector = dlbridge::shape<dlbridge::dynamic_extent>;
  float elements[] = {0, 1, 2, 3};
  dlbridge::tensor<float, vector> const x(dlbridge::build(dlbridge::borrow(elements, {2}, {3})));
  x[1] = 5;
  EXPECT_EQ(elements[3], 5);
  EXPECT_EQ(&x.span()[std::size_t{1}], elements + 3);
  EXPECT_EQ(elements[1], 1);
}

TYPED_TEST(TypedTensor, ChecksTheIndicesOfAt) {
  auto const x = this->template typed<float, matrix>();
  EXPECT_EQ(&x.at(1, 2), &x(1, 2));
  for (std::int64_t const wrong : {-1, 3}) {
    try {
      x.at(1, wrong);
      FAIL() << wrong;
    } catch (std::out_of_range const& e) {
      EXPECT_EQ(e.what(), "index " + std::to_string(wrong) +
                              " is out of range for axis 1 with extent 3 of float32[2, 3] on cpu");
    }
  }
  try {
    x.at(SIZE_MAX, 0);
    FAIL();
  } catch (std::out_of_range const& e) {
    EXPECT_EQ(std::string(e.what()).find("index " + std::to_string(SIZE_MAX)), 0U) << e.what();
  }
}

TYPED_TEST(TypedTensor, OfRankZeroIsIndexedWithoutArguments) {
  this->t.ndim = 0;
  this->t.shape = nullptr;
  this->t.strides = nullptr;
  this->t.byte_offset = 12;
  auto const x = this->template typed<float const, shape<>>();
  EXPECT_EQ(x(), 3);
  EXPECT_EQ(x.rank(), 0);
  EXPECT_EQ(x.count(), 1);
}

TYPED_TEST(TypedTensor, OfDynamicRankReturnsItsShape) {
  this->t.strides = nullptr;
  auto const x = this->template typed<float>();
  EXPECT_EQ(x.data(), this->foreign->data);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.extent(1), 3);
  EXPECT_EQ(x.stride(0), 3);
  EXPECT_EQ(x.count(), 6);
  EXPECT_EQ(x.device(), dlbridge::cpu);
}

TYPED_TEST(TypedTensor, AcceptsMatchingStaticExtents) {
  EXPECT_EQ((this->template typed<float, shape<2, 3>>()(1, 0)), 3);
}

TYPED_TEST(TypedTensor, RefusesDifferentStaticExtents) {
  EXPECT_EQ((this->template refusal<float, shape<dynamic_extent, 4>>()),
            "extent_mismatch: expected float32[*, 4] on cpu, writable; got float32[2, 3] on cpu: "
            "extents differ");
}

TYPED_TEST(TypedTensor, RefusesAnotherRank) {
  EXPECT_EQ((this->template refusal<float, shape<dynamic_extent>>()),
            "rank_mismatch: expected float32[*] on cpu, writable; got float32[2, 3] on cpu: rank "
            "differs");
  EXPECT_EQ((this->template refusal<float, shape<>>()),
            "rank_mismatch: expected float32[] on cpu, writable; got float32[2, 3] on cpu: rank "
            "differs");
}

TYPED_TEST(TypedTensor, RefusesAnotherDtype) {
  EXPECT_EQ(this->template refusal<std::int32_t>(),
            "dtype_mismatch: expected int32[...] on cpu, writable; got float32[2, 3] on cpu: dtype "
            "differs");
}

TYPED_TEST(TypedTensor, AcceptsReadOnlyMemoryForConstElementsOnly) {
  this->raw->flags = dlbridge::flag_read_only;
  EXPECT_EQ((this->template typed<float const, matrix>()(1, 2)), 5);
  EXPECT_EQ(this->template refusal<float>(),
            "read_only: expected float32[...] on cpu, writable; got float32[2, 3] on cpu, "
            "read-only: writability differs. Pass a writable copy");
}

TYPED_TEST(TypedTensor, ConstElementsBecomeAReadOnlyView) {
  auto const constant = this->template typed<float const, matrix>();
  managed_tensor const target = dlbridge::build(std::vector<std::array<float, 3>>(2));
  for (dlbridge::tensor_view const& view : {constant.view(), tensor_view(constant)}) {
    EXPECT_TRUE(view.read_only());
    EXPECT_EQ(view.data(), constant.data());
    EXPECT_EQ(refusal_of([&] { dlbridge::copy(target, view); }).substr(0, 10), "read_only:");
    EXPECT_EQ(refusal_of([&] { return tensor_span<float, matrix>(view); }).substr(0, 10),
              "read_only:");
  }
}

TYPED_TEST(TypedTensor, WritableElementsBecomeAWritableView) {
  auto const x = this->template typed<float, matrix>();
  EXPECT_FALSE(x.view().read_only());
  EXPECT_FALSE(tensor_view(x).read_only());
}

TYPED_TEST(TypedTensor, RefusesMisalignedElements) {
  this->t.byte_offset = 6;
  EXPECT_EQ(this->template refusal<float const>(),
            "misaligned: expected float32[...] on cpu, aligned to 4 bytes; got float32[2, 3] on "
            "cpu, aligned to 2 bytes: alignment differs. Pass an aligned copy");
}

TYPED_TEST(TypedTensor, OneMessageListsEveryMismatch) {
  this->raw->flags = dlbridge::flag_read_only;
  this->t.device = {kDLROCM, 2};
  this->t.byte_offset = 1;
  this->set_layout({3, 2}, {1, 3});
  EXPECT_EQ((this->template refusal<double, shape<dynamic_extent, 3>, dlbridge::row_major>()),
            "dtype_mismatch: expected float64[*, 3] on cpu, row-major, writable, aligned to 8 "
            "bytes; got float32[3, 2] on rocm:2 with strides [1, 3], read-only, aligned to 1 "
            "byte: dtype, extents, device, layout, writability, alignment differ. Pass a "
            "writable copy");
}

// Constraints beyond dtype and shape, each with tensors that meet it and tensors that do not.
TYPED_TEST(TypedTensor, RequiresTheLayoutOfItsType) {
  struct {
    std::vector<std::int64_t> sizes, strides;
    bool row_major, column_major, compact;
    char const* text;
  } const cases[] = {
      {{2, 3}, {3, 1}, true, false, true, "[2, 3] on cpu with strides [3, 1]"},
      {{2, 3}, {1, 2}, false, true, true, "[2, 3] on cpu with strides [1, 2]"},
      {{2, 3}, {4, 1}, false, false, false, "[2, 3] on cpu with strides [4, 1]"},
      {{2, 1, 3}, {1, 9, 2}, false, true, true, "[2, 1, 3] on cpu with strides [1, 9, 2]"},
      {{2, 2, 3}, {3, 6, 1}, false, false, true, "[2, 2, 3] on cpu with strides [3, 6, 1]"},
      {{0, 3}, {-5, 0}, true, true, true, "[0, 3] on cpu with strides [-5, 0]"},
  };
  for (auto const& each : cases) {
    this->set_layout(each.sizes, each.strides);
    auto const expected = [&](bool holds, char const* layout) {
      return holds
                 ? std::string("accepted")
                 : std::string("layout_mismatch: expected float32[...] on cpu, ") + layout +
                       "; got float32" + each.text + ": layout differs. Pass a copy in that layout";
    };
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::row_major>()),
              expected(each.row_major, "row-major"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::column_major>()),
              expected(each.column_major, "column-major"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::compact>()),
              expected(each.compact, "compact"));
  }
}

TYPED_TEST(TypedTensor, RequiresTheAlignmentOfItsType) {
  using aligned = dlbridge::aligned<128>;
  EXPECT_EQ((this->template refusal<float const, dynamic_rank, aligned>()), "accepted");
  this->t.byte_offset = 64;
  EXPECT_EQ((this->template refusal<float const, dynamic_rank, aligned>()),
            "misaligned: expected float32[...] on cpu, aligned to 128 bytes; got float32[2, 3] on "
            "cpu, aligned to 64 bytes: alignment differs. Pass an aligned copy");
}

TYPED_TEST(TypedTensor, AnAlignmentBelowThatOfTheElementTypeHasNoEffect) {
  this->t.byte_offset = 2;
  EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::aligned<1>>()),
            "misaligned: expected float32[...] on cpu, aligned to 4 bytes; got float32[2, 3] on "
            "cpu, aligned to 2 bytes: alignment differs. Pass an aligned copy");
}

TYPED_TEST(TypedTensor, OnAHostDeviceCanBeIndexed) {
  EXPECT_EQ((this->template typed<float, matrix, dlbridge::on<kDLCPU>>()(1, 2)), 5);
  this->t.device = {kDLCUDAHost, 0};
  EXPECT_EQ((this->template typed<float, matrix, dlbridge::on<kDLCUDAHost>>()(1, 2)), 5);
}

TYPED_TEST(TypedTensor, RequiresTheDeviceOfItsType) {
  struct {
    DLDeviceType type;
    char const* name;
    bool host, cuda, rocm;
  } const devices[] = {
      {kDLCPU, "cpu:1", true, false, false},
      {kDLCUDA, "cuda:1", false, true, false},
      {kDLCUDAHost, "cuda_host:1", true, false, false},
      {kDLCUDAManaged, "cuda_managed:1", true, false, false},
      {kDLROCM, "rocm:1", false, false, true},
      {kDLROCMHost, "rocm_host:1", true, false, false},
      {kDLOneAPI, "oneapi:1", false, false, false},
      {kDLMetal, "metal:1", false, false, false},
  };
  for (auto const& each : devices) {
    this->t.device = {each.type, 1};
    auto const expected = [&](bool holds, char const* filter) {
      return holds ? std::string("accepted")
                   : std::string("device_mismatch: expected float32[...] on ") + filter +
                         "; got float32[2, 3] on " + each.name + ": device differs";
    };
    EXPECT_EQ(this->template refusal<float const>(), expected(each.host, "cpu"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::on_host>()),
              expected(each.host, "cpu"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::on_cuda>()),
              expected(each.cuda, "cuda"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::on_rocm>()),
              expected(each.rocm, "rocm"));
    EXPECT_EQ((this->template refusal<float const, dynamic_rank, dlbridge::anywhere>()),
              "accepted");
  }
}

struct Tensor : ForeignTensor {};

TEST_F(Tensor, FreesItsTensorOnce) {
  {
    tensor<float, matrix> const x{managed_tensor::steal(raw)};
    EXPECT_EQ(deleted(), 0);
  }
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Tensor, FreesARefusedTensor) {
  managed_tensor m = managed_tensor::steal(raw);
  EXPECT_NE(refusal_of([&] { return tensor<double>(std::move(m)); }), "accepted");
  EXPECT_FALSE(m);
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Tensor, MovingDoesNotFree) {
  tensor<float, matrix> first{managed_tensor::steal(raw)};
  tensor<float, matrix> const second = std::move(first);
  EXPECT_EQ(deleted(), 0);
  EXPECT_EQ(second(1, 2), 5);
}

TEST_F(Tensor, AssignmentFreesThePreviousTensor) {
  foreign_ptr const other = make_foreign();
  other->data[5] = 50;
  tensor<float, matrix> x{managed_tensor::steal(raw)};
  x = tensor<float, matrix>{managed_tensor::steal(foreign_versioned(other.get()))};
  EXPECT_EQ(deleted(), 1);
  EXPECT_EQ(other->deleter_calls, 0);
  EXPECT_EQ(x(1, 2), 50);
}

TEST_F(Tensor, ReleaseDoesNotFree) {
  managed_tensor m;
  {
    tensor<float, matrix> x{managed_tensor::steal(raw)};
    m = std::move(x).release();
  }
  EXPECT_EQ(m.get_versioned(), raw);
  EXPECT_EQ(deleted(), 0);
}

TEST_F(Tensor, ConvertsToViewsOfItsElements) {
  using row = dlbridge::shape<dlbridge::dynamic_extent>;
  dlbridge::tensor<double, row> numbers(dlbridge::build(std::vector<double>{1, 2}));
  auto const sum = [](dlbridge::tensor_span<double const, row> x) { return x(0) + x(1); };
  EXPECT_EQ(sum(numbers.span()), 3);
  dlbridge::managed_tensor const copied = copy_of(numbers);
  copy(numbers, numbers.span());
  EXPECT_EQ(copied.view().extent(0), 2);
  EXPECT_EQ(visit(numbers, [](auto x) { return x.count(); }), 2);
  EXPECT_EQ((dlbridge::tensor_span<double const>(numbers).rank()), 1);
  using reader = dlbridge::tensor_span<double const, row>;
  static_assert(std::is_nothrow_constructible_v<reader, dlbridge::tensor_span<double, row>>);
  static_assert(!std::is_convertible_v<reader, dlbridge::tensor_span<double, row>>);
  static_assert(!std::is_convertible_v<dlbridge::tensor<double, row>, dlbridge::tensor_view>,
                "the view of a temporary would dangle");
}

TEST_F(Tensor, ReturnsASpanAndAView) {
  tensor<float, matrix> const x{managed_tensor::steal(raw)};
  tensor_span<float, matrix> const span = x.span();
  EXPECT_EQ(&span(1, 2), &x(1, 2));
  EXPECT_EQ(x.view().data(), foreign->data);
  EXPECT_EQ(span.view().rank(), 2);
}

TEST_F(Tensor, BecomesOneThatRequiresLess) {
  tensor<float, shape<2, 3>, dlbridge::row_major> first{managed_tensor::steal(raw)};
  tensor_span<float const, matrix> const span = first.span();
  EXPECT_EQ(span(1, 2), 5);
  EXPECT_EQ(span.stride(0), 3);
  tensor<float const, matrix> const second = std::move(first);
  EXPECT_EQ(&second(1, 2), foreign->data + 5);
  EXPECT_EQ(deleted(), 0);
  EXPECT_EQ(refusal_of([&] { return tensor<float const>(std::move(first)); }),  // NOLINT
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

// trust makes no check: it accepts a tensor that the constructors refuse.
TEST(Trust, DoesNotCheckTheTensorAgain) {
  foreign_ptr const foreign = make_foreign();
  DLManagedTensorVersioned* const raw = foreign_versioned(foreign.get());
  using span = tensor_span<std::int32_t, matrix>;
  using owner = tensor<std::int32_t, matrix>;
  static_assert(noexcept(span::trust(std::declval<tensor_view>())));
  static_assert(noexcept(owner::trust(std::declval<managed_tensor>())));

  managed_tensor m = managed_tensor::steal(raw);
  EXPECT_NE(refusal_of([&] { return span(m.view()); }), "accepted");
  span const elements = span::trust(m.view());
  EXPECT_EQ(static_cast<void*>(elements.data()), foreign->data);
  EXPECT_EQ(elements.stride(0), 3);
  EXPECT_EQ(static_cast<void*>(&elements(1, 2)), foreign->data + 5);
  {
    owner first = owner::trust(std::move(m));
    EXPECT_EQ(static_cast<void*>(first.data()), foreign->data);
    EXPECT_EQ(first.extent(1), 3);
    owner const second = std::move(first);
    EXPECT_EQ(second.view().data(), foreign->data);
    EXPECT_EQ(foreign->deleter_calls, 0);
  }
  EXPECT_EQ(foreign->deleter_calls, 1);
}

TEST_F(Tensor, AnEmptyOwnerIsRefused) {
  EXPECT_EQ(refusal_of([] { return tensor<float>(managed_tensor()); }),
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

// Its span still has the address of memory that another owner may have freed.
TEST_F(Tensor, OneThatWasMovedFromIsNoView) {
  tensor<float> first{dlbridge::build(std::vector<float>{1, 2, 3})};
  tensor<float> second = std::move(first);
  EXPECT_EQ(
      refusal_of([&] { return dlbridge::copy_of(first); }),  // NOLINT(bugprone-use-after-move)
      "null_data: tensor without data: expected an owner of a tensor; got an empty one");
  managed_tensor const released = std::move(second).release();
  EXPECT_EQ(refusal_of([&] { return dlbridge::copy_of(second); }),  // NOLINT
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

// A reference to the view of a temporary span stays valid.
static_assert(std::is_same_v<decltype(std::declval<tensor_span<float>>().view()), tensor_view>);

}  // namespace
