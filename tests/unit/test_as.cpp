// SPDX-License-Identifier: BSD-3-Clause
// as.hpp: a tensor becomes the caller's mdspan or span, or is refused with every mismatch.
#include <dlbridge/as.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include "foreign_fixture.hpp"
#include "refusal.hpp"
#include "tiny_mdspan.hpp"

namespace {

using dlbridge::as;
using dlbridge::managed_tensor;
using dlbridge::tensor_view;

constexpr std::size_t dyn = static_cast<std::size_t>(-1);

// The tests run with tiny::mdspan, and with std::mdspan where the standard library has it.
struct tiny_library {
  template <class Index, std::size_t... Extents>
  using extents = tiny::extents<Index, Extents...>;
  template <class T, class Extents, class Layout>
  using mdspan = tiny::mdspan<T, Extents, Layout>;
  using right = tiny::layout_right;
  using left = tiny::layout_left;
  using stride = tiny::layout_stride;
};
#if defined(__cpp_lib_mdspan)
struct std_library {
  template <class Index, std::size_t... Extents>
  using extents = std::extents<Index, Extents...>;
  template <class T, class Extents, class Layout>
  using mdspan = std::mdspan<T, Extents, Layout>;
  using right = std::layout_right;
  using left = std::layout_left;
  using stride = std::layout_stride;
};
using Libraries = testing::Types<tiny_library, std_library>;
#else
using Libraries = testing::Types<tiny_library>;
#endif

struct library_name {
  template <class Library>
  static std::string GetName(int) {
    return std::is_same_v<Library, tiny_library> ? "Tiny" : "Std";
  }
};

/// The mdspan of a library, by its layout. The names ending in 2 have two dynamic extents.
template <class Index, class L, class T, class Layout, std::size_t... Extents>
using indexed =
    typename L::template mdspan<T, typename L::template extents<Index, Extents...>, Layout>;
template <class L, class T, std::size_t... Extents>
using right = indexed<std::size_t, L, T, typename L::right, Extents...>;
template <class L, class T, std::size_t... Extents>
using left = indexed<std::size_t, L, T, typename L::left, Extents...>;
template <class L, class T, std::size_t... Extents>
using strided = indexed<std::size_t, L, T, typename L::stride, Extents...>;
template <class L>
using right2 = right<L, float, dyn, dyn>;
template <class L>
using left2 = left<L, float, dyn, dyn>;
template <class L>
using strided2 = strided<L, float, dyn, dyn>;

template <class Library>
struct As : ForeignTensor {
  template <class M>
  std::string refusal() const {
    return refusal_of([this] { return as<M>(view()); });
  }
};
TYPED_TEST_SUITE(As, Libraries, library_name);

/// The element of the mdspan at these indices.
template <class Mdspan, class... Index>
decltype(auto) at(Mdspan const& m, Index... i) {
  return m.data_handle()[m.mapping()(static_cast<typename Mdspan::index_type>(i)...)];
}

TYPED_TEST(As, LayoutRightRefersToTheForeignElements) {
  auto const m = as<right2<TypeParam>>(this->view());
  EXPECT_EQ(m.data_handle(), this->foreign->data);
  EXPECT_EQ(m.extent(0), 2U);
  EXPECT_EQ(m.extent(1), 3U);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(at(m, i, j), static_cast<float>(3 * i + j));
    }
  }
  at(m, 1, 2) = 50;
  EXPECT_EQ(this->foreign->data[5], 50);
}

TYPED_TEST(As, LayoutLeftReadsColumnMajorElements) {
  this->set_layout({2, 3}, {1, 2});
  auto const m = as<left2<TypeParam>>(this->view());
  EXPECT_EQ(at(m, 1, 0), 1);
  EXPECT_EQ(at(m, 0, 2), 4);
}

TYPED_TEST(As, LayoutStrideReadsElementsWithGapsInAnyOrder) {
  this->set_layout({2, 3}, {2, 9});
  auto const m = as<strided2<TypeParam>>(this->view());
  EXPECT_EQ(at(m, 1, 0), 2);
  EXPECT_EQ(at(m, 1, 2), 20);
}

TYPED_TEST(As, ManyDimensionsKeepTheirOrder) {
  this->set_layout({2, 3, 2, 2}, {});
  auto const m = as<right<TypeParam, float const, dyn, dyn, dyn, dyn>>(this->view());
  EXPECT_EQ(at(m, 1, 2, 0, 1), 12 + 8 + 1);
}

TYPED_TEST(As, RankZeroIsOneElement) {
  this->t.ndim = 0;
  this->t.byte_offset = 12;
  this->t.shape = nullptr;
  this->t.strides = nullptr;
  EXPECT_EQ(at(as<right<TypeParam, float const>>(this->view())), 3);
  EXPECT_EQ(at(as<strided<TypeParam, float const>>(this->view())), 3);
}

TYPED_TEST(As, NullStridesAreRowMajorAndTheByteOffsetIsApplied) {
  this->t.strides = nullptr;
  this->t.byte_offset = 8;
  EXPECT_EQ(at(as<right2<TypeParam>>(this->view()), 1, 1), 2 + 4);
  EXPECT_EQ(at(as<strided2<TypeParam>>(this->view()), 1, 1), 2 + 4);
  EXPECT_EQ(
      this->template refusal<left2<TypeParam>>(),
      "layout_mismatch: expected float32[*, *] on cpu, writable, in the layout of the mdspan; "
      "got float32[2, 3] on cpu with strides [3, 1]: layout differs. Pass a copy in that layout");
}

TYPED_TEST(As, MatchingStaticExtentsAreAccepted) {
  EXPECT_EQ(at(as<right<TypeParam, float, 2, 3>>(this->view()), 1, 1), 4);
  EXPECT_EQ(at(as<strided<TypeParam, float, dyn, 3>>(this->view()), 1, 1), 4);
}

TYPED_TEST(As, DifferentStaticExtentsAreRefused) {
  EXPECT_EQ((this->template refusal<right<TypeParam, float, 2, 4>>()),
            "extent_mismatch: expected float32[2, 4] on cpu, writable; got float32[2, 3] on cpu: "
            "extents differ");
}

TYPED_TEST(As, AnotherLayoutIsRefused) {
  this->set_layout({2, 3}, {1, 2});
  EXPECT_EQ(
      this->template refusal<right2<TypeParam>>(),
      "layout_mismatch: expected float32[*, *] on cpu, writable, in the layout of the mdspan; "
      "got float32[2, 3] on cpu with strides [1, 2]: layout differs. Pass a copy in that layout");
}

// Strides that violate the preconditions of layout_stride::mapping.
TYPED_TEST(As, LayoutStrideRefusesStridesThatBreakItsPreconditions) {
  struct {
    std::vector<std::int64_t> strides;
    char const* text;
  } const cases[] = {
      {{0, 1}, "[0, 1]"},    // broadcast
      {{3, 0}, "[3, 0]"},    //
      {{3, -1}, "[3, -1]"},  // reversed
      {{1, 1}, "[1, 1]"},    // sliding windows, which share elements
      {{2, 1}, "[2, 1]"},    //
      {{3, 2}, "[3, 2]"},    // interleaved, but without shared elements
  };
  for (auto const& each : cases) {
    this->set_layout({2, 3}, each.strides);
    this->t.byte_offset = 16;
    EXPECT_EQ(this->template refusal<strided2<TypeParam>>(),
              std::string("layout_mismatch: expected float32[*, *] on cpu, writable, strides above "
                          "0, each at least the span of the dimensions that vary faster; got "
                          "float32[2, 3] on cpu with strides ") +
                  each.text + ": layout differs. Pass a copy in that layout");
  }
}

TYPED_TEST(As, StridesOfOneElementDoNotMatter) {
  this->set_layout({1, 3, 1}, {-7, 1, 0});
  auto const row = as<right<TypeParam, float, dyn, dyn, dyn>>(this->view());
  auto const column = as<left<TypeParam, float, dyn, dyn, dyn>>(this->view());
  auto const gaps = as<strided<TypeParam, float, dyn, dyn, dyn>>(this->view());
  EXPECT_EQ(at(row, 0, 2, 0), 2);
  EXPECT_EQ(at(column, 0, 2, 0), 2);
  EXPECT_EQ(at(gaps, 0, 2, 0), 2);
  EXPECT_GT(gaps.stride(0), 0U);
  EXPECT_GT(gaps.stride(2), 0U);
}

TYPED_TEST(As, StridesOfAnEmptyTensorDoNotMatter) {
  this->set_layout({0, 3}, {0, -5});
  this->t.data = nullptr;
  EXPECT_EQ(as<right2<TypeParam>>(this->view()).extent(1), 3U);
  EXPECT_EQ(as<left2<TypeParam>>(this->view()).extent(1), 3U);
  EXPECT_EQ(as<strided2<TypeParam>>(this->view()).extent(1), 3U);
}

TYPED_TEST(As, EmptyTensorsOfAnyExtentsGetValidStrides) {
  for (auto const& shape : {std::vector<std::int64_t>{0, 5, 7}, {5, 0, 7}, {5, 7, 0}, {0, 0, 9}}) {
    this->set_layout(shape, {0, 0, 0});
    EXPECT_EQ((as<strided<TypeParam, float, dyn, dyn, dyn>>(this->view()).extent(2)),
              static_cast<std::size_t>(shape[2]));
  }
}

TYPED_TEST(As, AnEmptyTensorMayHaveAnyPointer) {
  this->set_layout({0, 3}, {});
  this->t.data = reinterpret_cast<void*>(1);
  EXPECT_EQ(as<right2<TypeParam>>(this->view()).extent(0), 0U);
  this->t.data = nullptr;
  this->t.byte_offset = 3;
  EXPECT_EQ(as<right2<TypeParam>>(this->view()).extent(0), 0U);
  this->t.byte_offset = UINT64_MAX;
  EXPECT_EQ(as<right2<TypeParam>>(this->view()).extent(0), 0U);
}

TYPED_TEST(As, ConstElementsAcceptReadOnlyMemory) {
  this->raw->flags = dlbridge::flag_read_only;
  auto const m = as<right<TypeParam, float const, dyn, dyn>>(this->view());
  EXPECT_EQ(at(m, 1, 2), 5);
  EXPECT_EQ(this->template refusal<right2<TypeParam>>(),
            "read_only: expected float32[*, *] on cpu, writable; got float32[2, 3] on cpu, "
            "read-only: writability differs. Pass a writable copy");
}

TYPED_TEST(As, OneMessageListsEveryMismatch) {
  this->raw->flags = dlbridge::flag_read_only;
  this->t.device = {kDLCUDA, 1};
  this->t.byte_offset = 2;
  using vector = right<TypeParam, double, dyn>;
  EXPECT_EQ(this->template refusal<vector>(),
            "dtype_mismatch: expected float64[*] on cpu, writable, aligned to 8 bytes; got "
            "float32[2, 3] on cuda:1, read-only, aligned to 2 bytes: dtype, rank, device, "
            "writability, alignment differ. Pass a writable copy");
}

TYPED_TEST(As, HostAccessibleMemoryIsAccepted) {
  for (DLDeviceType const type : {kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged}) {
    this->t.device = {type, 0};
    EXPECT_EQ(at(as<right2<TypeParam>>(this->view()), 0, 1), 1);
  }
}

// An index type must hold the number of elements and the span of the strides ([mdspan.layout]).
TYPED_TEST(As, SizesBeyondTheIndexTypeAreRefused) {
  using compact = indexed<std::int8_t, TypeParam, float, typename TypeParam::right, dyn, dyn>;
  using gaps = indexed<std::int8_t, TypeParam, float, typename TypeParam::stride, dyn, dyn>;
  struct {
    std::vector<std::int64_t> shape, strides;
    bool fits;
  } const cases[] = {
      {{1, 127}, {127, 1}, true}, {{1, 128}, {128, 1}, false}, {{2, 63}, {63, 1}, true},
      {{2, 64}, {64, 1}, false},  {{2, 2}, {125, 1}, true},    {{2, 2}, {126, 1}, false},
      {{2, 2}, {128, 1}, false},  {{0, 127}, {127, 1}, true},  {{0, 128}, {128, 1}, false},
      {{128, 0}, {1, 1}, false},  {{1, 1}, {1000, -1}, true},
  };
  for (auto const& each : cases) {
    this->set_layout(each.shape, each.strides);
    dlbridge::view_text const name = name_of(this->view());
    std::string const overflow =
        std::string("overflow: size overflows: expected a tensor whose indices fit 8 bits; got ") +
        name.c_str() + ". Use a view type with a wider index";
    EXPECT_EQ(this->template refusal<gaps>(), each.fits ? "accepted" : overflow) << name.c_str();
    if (this->view().is_row_major()) {
      EXPECT_EQ(this->template refusal<compact>(), each.fits ? "accepted" : overflow)
          << name.c_str();
    }
  }
}

TYPED_TEST(As, SizesBelowTheFirstElementCountForTheIndexType) {
  for (std::int64_t const stride : {-125, -128}) {  // as Eigen's Map accepts them
    this->set_layout({2, 2}, {stride, 1});
    EXPECT_EQ(dlbridge::detail::fits_index<std::int8_t>(this->view()), stride == -125);
  }
}

/// A user's view type, which refers to the first element.
struct first_element {
  float const* element;
};

}  // namespace

template <>
struct dlbridge::view_traits<first_element> {
  static first_element view(tensor_view const& of) {
    requirement need;
    need.type = dtype_of<float>();
    require_view(of, need);
    return {static_cast<float const*>(of.data())};
  }
};

namespace {

struct AsUserView : ForeignTensor {};

TEST_F(AsUserView, UsesItsViewTraits) {
  EXPECT_EQ(as<first_element>(view()).element, foreign->data);
  t.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal_of([this] { return as<first_element>(view()); }).substr(0, 15),
            "device_mismatch");
}

#if defined(__cpp_lib_span)
using dlbridge::as_span;

struct AsSpan : ForeignTensor {};

TEST_F(AsSpan, ListsTheElementsOfARowMajorTensorInOrder) {
  std::span<float> const s = as_span<float>(view());
  EXPECT_EQ(s.data(), foreign->data);
  ASSERT_EQ(s.size(), 6U);
  s[5] = 50;
  EXPECT_EQ(foreign->data[5], 50);
}

TEST_F(AsSpan, AcceptsAnyRankAndNullStrides) {
  set_layout({2, 2, 1, 3}, {});
  t.strides = nullptr;
  EXPECT_EQ(as_span<float const>(view()).size(), 12U);
  t.ndim = 0;
  EXPECT_EQ(as_span<float const>(view()).size(), 1U);
}

TEST_F(AsSpan, OfAnEmptyTensorIsEmpty) {
  set_layout({3, 0}, {-1, 7});
  t.data = nullptr;
  EXPECT_TRUE(as_span<float>(view()).empty());
}

TEST_F(AsSpan, RefusesTensorsThatAreNotRowMajor) {
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ(refusal_of([&] { return as_span<float>(view()); }),
            "layout_mismatch: expected float32[...] on cpu, row-major, writable; got float32[2, 3] "
            "on cpu with strides [1, 2]: layout differs. Pass a copy in that layout");
}

TEST_F(AsSpan, ConstElementsAcceptReadOnlyMemory) {
  raw->flags = dlbridge::flag_read_only;
  EXPECT_EQ(as_span<float const>(view()).size(), 6U);
  EXPECT_EQ(refusal_of([&] { return as_span<float>(view()); }),
            "read_only: expected float32[...] on cpu, row-major, writable; got float32[2, 3] on "
            "cpu, read-only: writability differs. Pass a writable copy");
}

TEST_F(AsSpan, AcceptsAnLvalueManagedTensor) {
  managed_tensor const m = managed_tensor::adopt(raw);
  EXPECT_EQ(as_span<float const>(m).data(), foreign->data);
}
#endif

// The part of an mdspan that as<> uses, with an accessor like std::aligned_accessor of C++26.
template <std::size_t Bytes>
struct aligned_mdspan : tiny::mdspan<float, tiny::extents<int, tiny::dynamic_extent>> {
  struct accessor_type {
    static constexpr std::size_t byte_alignment = Bytes;
  };
  using tiny::mdspan<float, tiny::extents<int, tiny::dynamic_extent>>::mdspan;
};

TEST(AsMdspan, TheAlignmentOfAnAccessorIsRequired) {
  alignas(64) float elements[20] = {};
  std::int64_t const extent = 4;
  DLTensor t{};
  t.data = elements + 1;
  t.device = {kDLCPU, 0};
  t.ndim = 1;
  t.dtype = {kDLFloat, 32, 1};
  t.shape = const_cast<std::int64_t*>(&extent);
  EXPECT_EQ(refusal_of([&] {
              return dlbridge::as<aligned_mdspan<64>>(dlbridge::tensor_view(t));
            }).substr(0, 10),
            "misaligned");
  EXPECT_EQ(refusal_of([&] { return dlbridge::as<aligned_mdspan<2>>(dlbridge::tensor_view(t)); }),
            "accepted")
      << "the alignment of the element remains";
  t.data = elements + 16;
  EXPECT_EQ(refusal_of([&] { return dlbridge::as<aligned_mdspan<64>>(dlbridge::tensor_view(t)); }),
            "accepted");
}

// A mapping whose padding is known at run time takes the padding of the tensor.
TEST(AsMdspan, PaddedRowsAndColumnsAreAccepted) {
  using cube = tiny::extents<std::int8_t, dyn, dyn, dyn>;
  using rows = tiny::mdspan<float, cube, tiny::layout_padded<true>>;
  using columns = tiny::mdspan<float, cube, tiny::layout_padded<false>>;
  float elements[128];
  struct {
    dlbridge::dims shape, strides;
    bool pads_rows, pads_columns;
  } const cases[] = {
      {{2, 3, 4}, {12, 4, 1}, true, false},   {{2, 3, 4}, {15, 5, 1}, true, false},
      {{4, 3, 2}, {1, 5, 15}, false, true},   {{2, 3, 4}, {16, 5, 1}, false, false},
      {{2, 3, 4}, {9, 3, 1}, false, false},   {{2, 3, 4}, {-15, 5, 1}, false, false},
      {{2, 3, 1}, {15, 5, 1}, true, false},   {{1, 1, 1}, {99, 98, 97}, true, true},
      {{2, 0, 4}, {9, 9, 9}, true, true},     {{2, 2, 2}, {1, 2, 40}, false, false},
      {{2, 2, 2}, {80, 40, 1}, false, false},
  };
  for (auto const& each : cases) {
    managed_tensor const m = dlbridge::build(dlbridge::borrow(elements, each.shape, each.strides));
    dlbridge::view_text const name = name_of(m.view());
    EXPECT_EQ(refusal_of([&] { return as<rows>(m); }) == "accepted", each.pads_rows)
        << name.c_str();
    EXPECT_EQ(refusal_of([&] { return as<columns>(m); }) == "accepted", each.pads_columns)
        << name.c_str();
  }
  managed_tensor const m = dlbridge::build(dlbridge::borrow(elements, {2, 3, 4}, {15, 5, 1}));
  EXPECT_EQ(as<rows>(m).stride(0), 15);
  EXPECT_EQ(as<rows>(m).stride(1), 5);
}

// A mapping that is not always unique takes strides of 0; with an offset also negative ones.
template <bool HasOffset>
using relaxed =
    tiny::mdspan<float, tiny::extents<std::uint8_t, dyn, dyn>, tiny::layout_relaxed<HasOffset>>;

TEST(AsMdspan, ALayoutThatMayAliasTakesStridesOf0AndWithAnOffsetAnyStrides) {
  float elements[200];
  struct {
    dlbridge::dims shape, strides;
    int first;
    bool is_negative;
  } const cases[] = {
      {{3, 4}, {4, 1}, 0, false},    {{3, 4}, {0, 1}, 0, false},    {{3, 4}, {0, 0}, 7, false},
      {{2, 3}, {1, 1}, 0, false},    {{3, 4}, {-4, 1}, 8, true},    {{3, 4}, {4, -1}, 3, true},
      {{3, 4}, {-4, -1}, 11, true},  {{2, 2}, {-1, 0}, 4, true},    {{1, 4}, {-300, 1}, 0, false},
      {{0, 4}, {-300, 9}, 0, false}, {{2, 2}, {-99, 99}, 99, true},
  };
  for (auto const& each : cases) {
    managed_tensor const m =
        dlbridge::build(dlbridge::borrow(elements + each.first, each.shape, each.strides));
    auto const same_elements = [&](auto const& x) {
      for (int i = 0; i < each.shape[0]; ++i) {
        for (int j = 0; j < each.shape[1]; ++j) {
          EXPECT_EQ(&at(x, i, j), elements + each.first + i * each.strides[0] + j * each.strides[1])
              << name_of(m.view()).c_str();
        }
      }
    };
    same_elements(as<relaxed<true>>(m));
    if (each.is_negative) {
      EXPECT_NE(refusal_of([&] { return as<relaxed<false>>(m); }).find(", strides of 0 and above;"),
                std::string::npos);
    } else {
      same_elements(as<relaxed<false>>(m));
    }
  }
  managed_tensor const wide =
      dlbridge::build(dlbridge::borrow(elements + 128, {2, 2}, {-128, 128}));
  EXPECT_EQ(refusal_of([&] { return as<relaxed<true>>(wide); }).substr(0, 14), "overflow: size");
}

#if defined(__cpp_lib_span)
TEST_F(AsSpan, ARowMajorTensorOfRank1IsAStdSpan) {
  managed_tensor const m = dlbridge::build(std::vector<float>{1, 2, 3});
  std::span<float> const all = as<std::span<float>>(m);
  EXPECT_EQ(all.data(), m.view().data());
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ((as<std::span<float const, 3>>(m)[2]), 3);
  EXPECT_EQ((refusal_of([&] { return as<std::span<float const, 4>>(m); })),
            "extent_mismatch: expected float32[4] on cpu, row-major; got float32[3] on cpu: "
            "extents differ");
  managed_tensor const rows = dlbridge::build(std::vector<std::array<float, 2>>(2));
  EXPECT_EQ(refusal_of([&] { return as<std::span<float>>(rows); }),
            "rank_mismatch: expected float32[*] on cpu, row-major, writable; got float32[2, 2] on "
            "cpu: rank "
            "differs");
  float elements[4] = {};
  managed_tensor const gaps = dlbridge::build(dlbridge::borrow(elements, {2}, {2}));
  EXPECT_NE(refusal_of([&] { return as<std::span<float>>(gaps); }).find("layout differs"),
            std::string::npos);
}
#endif

}  // namespace
