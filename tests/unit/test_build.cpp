// SPDX-License-Identifier: BSD-3-Clause
// build.hpp: one allocation owns an array of any type; a plain-C consumer reads and frees it.
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "counted_heap.hpp"
#include "foreign.hpp"
#include "refusal.hpp"
#include "struct_kinds.hpp"

namespace {

using dlbridge::build;
using dlbridge::build_on;
using dlbridge::description;
using dlbridge::device;
using dlbridge::dims;
using dlbridge::dtype;
using dlbridge::managed_tensor;
using dlbridge::no_owner;
using dlbridge::read_only_policy;
using dlbridge::struct_kind;

/// Counts the destructions of the object that contains it. Moving transfers the count.
class destruction_counter {
 public:
  explicit destruction_counter(int& destroyed) : destroyed_(&destroyed) {}
  destruction_counter(destruction_counter&& other) noexcept
      : moved_(true), destroyed_(std::exchange(other.destroyed_, nullptr)) {}
  ~destruction_counter() {
    if (destroyed_ != nullptr) {
      ++*destroyed_;
    }
  }
  /// Whether this object was move-constructed.
  bool moved() const { return moved_; }

 private:
  bool moved_ = false;
  int* destroyed_;
};

/// An array that contains its elements. The function `describe` of the test describes it.
template <std::size_t Alignment>
struct alignas(Alignment) array_inside {
  destruction_counter counter;
  description (*describe)(float* elements, bool moved) noexcept;
  std::array<float, 6> elements = {1, 2, 3, 4, 5, 6};
};
using small_array = array_inside<alignof(void*)>;

description two_by_three(float* elements, bool) noexcept {
  return description::of(elements, {2, 3});
}

}  // namespace

template <std::size_t Alignment>
struct dlbridge::array_traits<array_inside<Alignment>> {
  static description describe(array_inside<Alignment>& a) noexcept {
    return a.describe(a.elements.data(), a.counter.moved());
  }
};

namespace {

DLTensor const& tensor_of(managed_tensor const& m) { return m.tensor(); }

struct Build : testing::TestWithParam<struct_kind> {
  int destroyed = 0;
  struct_kind kind = GetParam();

  small_array make(description (*describe)(float*, bool) noexcept = &two_by_three) {
    return {destruction_counter(destroyed), describe};
  }
};
INSTANTIATE_TEST_SUITE_P(StructKind, Build, both_struct_kinds, struct_kind_name);

struct BuildCounted : Build {
  void SetUp() override {
    if (!heap_is_counted()) {
      GTEST_SKIP() << "another operator new replaces the counting one";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(StructKind, BuildCounted, both_struct_kinds, struct_kind_name);

TEST_P(Build, AForeignConsumerReadsTheArrayAndFreesIt) {
  managed_tensor m = build(make(), kind);
  EXPECT_EQ(m.kind(), kind);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(consume_in_c(std::move(m)), 1 + 2 + 3 + 4 + 5 + 6);
  EXPECT_EQ(destroyed, 1);
}

TEST_P(BuildCounted, MakesOneAllocationAndFreesItOnce) {
  small_array owner = make();
  int const allocated = heap.allocated;
  int const freed = heap.freed;
  managed_tensor m = build(std::move(owner), kind);
  EXPECT_EQ(heap.allocated - allocated, 1);
  EXPECT_EQ(heap.freed - freed, 0);
  m.reset();
  EXPECT_EQ(heap.allocated - allocated, 1);
  EXPECT_EQ(heap.freed - freed, 1);
}

TEST_P(Build, DescribesTheArrayAfterTheMove) {
  small_array owner = make();
  float const* const before = owner.elements.data();
  managed_tensor const m = build(std::move(owner), kind);
  owner.elements.fill(0);  // the tensor does not refer to the moved-from array
  EXPECT_NE(tensor_of(m).data, before);
  EXPECT_EQ(foreign_sum(&tensor_of(m)), 21);
}

TEST_P(Build, WritesEveryFieldOfTheStruct) {
  managed_tensor const m = build(make(), kind);
  DLTensor const& t = tensor_of(m);
  EXPECT_EQ(t.device.device_type, kDLCPU);
  EXPECT_EQ(t.device.device_id, 0);
  EXPECT_EQ(t.ndim, 2);
  EXPECT_EQ(dtype(t.dtype), dtype(kDLFloat, 32));
  EXPECT_EQ(t.shape[0], 2);
  EXPECT_EQ(t.shape[1], 3);
  EXPECT_EQ(t.byte_offset, 0U);
  if (kind == struct_kind::versioned) {
    EXPECT_EQ(m.get_versioned()->version.major, 1U);
    EXPECT_EQ(m.get_versioned()->version.minor, dlbridge::stated_minor);
    EXPECT_LE(m.get_versioned()->version.minor, DLPACK_MINOR_VERSION);
    EXPECT_EQ(m.get_versioned()->flags, 0U);
  }
}

TEST_P(Build, TheDeleterMayRunOnAnotherThread) {
  managed_tensor m = build(make(), kind);
  auto const call = [](auto* raw) {
    ASSERT_NE(raw->deleter, nullptr);
    std::thread([raw] { raw->deleter(raw); }).join();
  };
  kind == struct_kind::legacy ? call(m.release_legacy()) : call(m.release_versioned());
  EXPECT_EQ(destroyed, 1);
}

TEST_P(BuildCounted, OverAlignedArraysStayAligned) {
  {
    managed_tensor const m =
        build(array_inside<128>{destruction_counter(destroyed), &two_by_three}, kind);
    auto const offset = offsetof(array_inside<128>, elements);
    auto const address = reinterpret_cast<std::uintptr_t>(tensor_of(m).data) - offset;
    EXPECT_EQ(address % 128, 0U);
    EXPECT_EQ(heap.alignment_allocated, 128U);
    EXPECT_EQ(foreign_sum(&tensor_of(m)), 21);
  }
  EXPECT_EQ(heap.alignment_freed, 128U) << "freed with the alignment of its allocation";
  EXPECT_EQ(destroyed, 1);
}

TEST_P(BuildCounted, AFailedAllocationLeavesTheArrayToTheCaller) {
  small_array owner = make();
  array_inside<128> aligned{destruction_counter(destroyed), &two_by_three};
  heap.fails = true;
  dlbridge::report why;
  dlbridge::report why_aligned;
  try {
    static_cast<void>(build(std::move(owner), kind));
  } catch (dlbridge::error const& e) {
    why = e.why();
  }
  try {
    static_cast<void>(build(std::move(aligned), kind));
  } catch (dlbridge::error const& e) {
    why_aligned = e.why();
  }
  heap.fails = false;
  EXPECT_STREQ(message(why).c_str(),
               "out of memory: expected memory for a managed tensor; got none");
  EXPECT_STREQ(message(why_aligned).c_str(), message(why).c_str());
  EXPECT_EQ(destroyed, 0);
  EXPECT_FALSE(owner.counter.moved());
  EXPECT_EQ(consume_in_c(build(std::move(owner), kind)), 21);
}

struct throws_when_moved {
  destruction_counter counter;
  explicit throws_when_moved(int& destroyed) : counter(destroyed) {}
  // Throws before it moves anything, as an array does when an allocation fails.
  throws_when_moved(throws_when_moved&& other)
      : counter(other.elements[0] == 1 ? throw std::length_error("cannot move")
                                       : std::move(other.counter)) {}
  std::array<float, 1> elements = {1};
};

}  // namespace

template <>
struct dlbridge::array_traits<throws_when_moved> {
  static description describe(throws_when_moved& a) noexcept {
    return description::of(a.elements.data(), {1});
  }
};

namespace {

TEST_P(Build, AThrowingMoveLeavesTheArrayToTheCaller) {
  {
    throws_when_moved owner(destroyed);
    int const allocated = heap.allocated;
    int const freed = heap.freed;
    EXPECT_THROW(static_cast<void>(build(std::move(owner), kind)), std::length_error);
    EXPECT_EQ(destroyed, 0);
    // The exception object may allocate memory, and frees it.
    EXPECT_EQ(heap.allocated - allocated, heap.freed - freed);
  }
  EXPECT_EQ(destroyed, 1);
}

// An invalid description and the text of its refusal.
struct wrong_description {
  char const* name;
  description (*describe)(float* elements, bool moved) noexcept;
  std::string refusal;
};
void PrintTo(wrong_description const& w, std::ostream* out) { *out << w.name; }

std::string const correct = ". Correct the description of the array";
// The refusals of strides of another rank than the shape, and of a rank that changes.
std::string wrong_strides(std::string const& shape, std::string const& strides) {
  return "bad_argument: bad argument: expected one stride for each dimension of " + shape +
         "; got strides " + strides + correct;
}
std::string changed_rank(std::string const& before, std::string const& after) {
  return "bad_argument: bad argument: expected rank " + before +
         ", as before the array moved into the tensor; got shape " + after +
         ". Correct array_traits<T>::describe. An array that points into itself, such as an "
         "Eigen::Ref to a copy of its own, cannot be exported";
}

wrong_description const wrong_descriptions[] = {
    {"RankGrowsWhenMoved",
     [](float* p, bool moved) noexcept {
       return description::of(p, moved ? dims{1, 2, 3} : dims{6});
     },
     changed_rank("1", "[1, 2, 3]")},
    {"RankShrinksWhenMoved",
     [](float* p, bool moved) noexcept {
       return description::of(p, moved ? dims{6} : dims{1, 2, 3});
     },
     changed_rank("3", "[6]")},
    {"TooFewStrides", [](float* p, bool) noexcept { return description::of(p, {2, 3}, {1}); },
     wrong_strides("[2, 3]", "[1]")},
    {"TooManyStrides", [](float* p, bool) noexcept { return description::of(p, {6}, {1, 1}); },
     wrong_strides("[6]", "[1, 1]")},
    {"StridesAtRankZero", [](float* p, bool) noexcept { return description::of(p, {}, {1}); },
     wrong_strides("[]", "[1]")},
    {"NegativeExtent", [](float* p, bool) noexcept { return description::of(p, {2, -3}); },
     "malformed: malformed tensor: expected extents of 0 and above; got shape [2, -3]" + correct},
    {"ExtentBeyondInt64", [](float* p, bool) noexcept { return description::of(p, {UINT64_MAX}); },
     "malformed: malformed tensor: expected extents of 0 and above; got shape [-1]" + correct},
    {"CountOverflows",
     [](float* p, bool) noexcept {
       return description::of(p, {std::int64_t{1} << 32, std::int64_t{1} << 32});
     },
     "overflow: size overflows: expected a size in bits that fits 64 bits; got shape [4294967296, "
     "4294967296]" +
         correct},
    {"ReachOverflows", [](float* p, bool) noexcept { return description::of(p, {6}, {INT64_MAX}); },
     "overflow: size overflows: expected bytes that can be addressed; got shape [6] with strides "
     "[9223372036854775807] and byte offset 0" +
         correct},
    {"NoData", [](float*, bool) noexcept { return description::of<float>(nullptr, {2, 3}); },
     "null_data: tensor without data: expected memory; got null data for float32[2, 3] on "
     "cpu" +
         correct},
    {"NoDataWithAByteOffset",
     [](float*, bool) noexcept {
       description d = description::of<float>(nullptr, {2, 3});
       d.byte_offset = 8;
       return d;
     },
     "null_data: tensor without data: expected memory; got null data for float32[2, 3] on "
     "cpu" +
         correct},
    {"OffsetOverflows",
     [](float* p, bool) noexcept {
       description d = description::of(p, {6});
       d.byte_offset = UINT64_MAX;
       return d;
     },
     "overflow: size overflows: expected bytes that can be addressed; got shape [6] with strides "
     "[1] and byte offset 18446744073709551615" +
         correct},
    {"NoBits",
     [](float* p, bool) noexcept {
       description d = description::of(p, {6});
       d.type.bits = 0;
       return d;
     },
     "dtype_mismatch: expected a dtype of DLPack 1.x; got (code 2, bits 0, lanes 1): dtype "
     "differs" +
         correct},
    {"UnknownDevice",
     [](float* p, bool) noexcept {
       description d = description::of(p, {6});
       d.device = device(99, 1);
       return d;
     },
     "device_mismatch: expected a device of DLPack 1.x; got (device type 99, id 1): device "
     "differs" +
         correct},
};

struct WrongDescription : testing::TestWithParam<std::tuple<wrong_description, struct_kind>> {};
INSTANTIATE_TEST_SUITE_P(Build, WrongDescription,
                         testing::Combine(testing::ValuesIn(wrong_descriptions), both_struct_kinds),
                         [](auto const& test) {
                           return std::get<0>(test.param).name +
                                  std::string(name_of(std::get<1>(test.param)));
                         });

TEST_P(WrongDescription, IsRefusedAndTheArrayDestroyedOnce) {
  wrong_description const& wrong = std::get<0>(GetParam());
  struct_kind const kind = std::get<1>(GetParam());
  int destroyed = 0;
  int const in_use = heap.allocated - heap.freed;
  EXPECT_EQ(refusal_of([&] {
              return build(small_array{destruction_counter(destroyed), wrong.describe}, kind);
            }),
            wrong.refusal);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(heap.allocated - heap.freed, in_use);
}

float numbers[6] = {1, 2, 3, 4, 5, 6};

/// A tensor that owns nothing; its memory must outlive it.
managed_tensor build_on_memory(description const& d, struct_kind kind = struct_kind::versioned) {
  return build_on(no_owner{}, d, kind);
}

struct Describe : Build {};
INSTANTIATE_TEST_SUITE_P(StructKind, Describe, both_struct_kinds, struct_kind_name);

TEST_P(Describe, StridesAreAlwaysExplicit) {
  struct {
    dims shape, expected;
  } const cases[] = {
      {{2, 3}, {3, 1}}, {{6}, {1}}, {{2, 1, 3}, {3, 3, 1}}, {{0, 3}, {3, 1}}, {{2, 0}, {1, 1}}};
  for (auto const& each : cases) {
    managed_tensor const m = build_on_memory(description::of(numbers, each.shape), kind);
    ASSERT_NE(tensor_of(m).strides, nullptr);
    for (int i = 0; i < each.expected.size(); ++i) {
      EXPECT_EQ(tensor_of(m).strides[i], each.expected[i]) << "dimension " << i;
    }
  }
}

TEST_P(Describe, ExplicitStridesAreStoredUnchanged) {
  managed_tensor m = build_on_memory(description::of(numbers + 5, {2, 2}, {-1, -3}), kind);
  EXPECT_EQ(tensor_of(m).strides[0], -1);
  EXPECT_EQ(tensor_of(m).strides[1], -3);
  EXPECT_EQ(consume_in_c(std::move(m)), 6 + 3 + 5 + 2);
}

TEST_P(Describe, RankZeroHasNullShapeAndStrides) {
  managed_tensor m = build_on_memory(description::of(numbers + 2, {}), kind);
  EXPECT_EQ(tensor_of(m).ndim, 0);
  EXPECT_EQ(tensor_of(m).shape, nullptr);
  EXPECT_EQ(tensor_of(m).strides, nullptr);
  EXPECT_EQ(consume_in_c(std::move(m)), 3);
}

TEST_P(Describe, AnEmptyTensorHasNullData) {
  for (dims const& empty : {dims{0}, dims{2, 0, 3}, dims{0, std::int64_t{1} << 62}}) {
    managed_tensor m = build_on_memory(description::of(numbers, empty), kind);
    EXPECT_EQ(tensor_of(m).data, nullptr);
    EXPECT_EQ(tensor_of(m).ndim, empty.size());
    EXPECT_EQ(consume_in_c(std::move(m)), 0);
  }
}

TEST_P(Describe, AByteOffsetIsAddedToAnAddress) {
  description d = description::of(numbers, {2});
  d.byte_offset = 3 * sizeof(float);
  managed_tensor m = build_on_memory(d, kind);
  EXPECT_EQ(tensor_of(m).data, numbers + 3);
  EXPECT_EQ(tensor_of(m).byte_offset, 0U);
  EXPECT_EQ(consume_in_c(std::move(m)), 4 + 5);
}

TEST_P(Describe, AByteOffsetIsKeptForAHandle) {
  description d = description::of(numbers, {2});
  d.device = device(kDLMetal, 1);
  d.byte_offset = 3 * sizeof(float);
  managed_tensor const m = build_on_memory(d, kind);
  EXPECT_EQ(tensor_of(m).data, numbers);
  EXPECT_EQ(tensor_of(m).byte_offset, 3 * sizeof(float));
  EXPECT_EQ(tensor_of(m).device.device_type, kDLMetal);
  EXPECT_EQ(tensor_of(m).device.device_id, 1);
}

TEST_P(Describe, AnEmptyTensorHasANullHandle) {
  description d = description::of(numbers, {0, 3});
  d.device = device(kDLOpenCL, 0);
  d.byte_offset = 16;
  managed_tensor const m = build_on_memory(d, kind);
  EXPECT_EQ(tensor_of(m).data, nullptr);
  EXPECT_EQ(tensor_of(m).byte_offset, 0U);
}

TEST_P(Describe, OnOneApiDataAndByteOffsetAreKept) {
  for (dims const& shape : {dims{2}, dims{0, 3}}) {
    description d = description::of(numbers, shape);
    d.device = device(kDLOneAPI, 1);
    d.byte_offset = 16;
    managed_tensor const m = build_on_memory(d, kind);
    EXPECT_EQ(tensor_of(m).data, numbers);
    EXPECT_EQ(tensor_of(m).byte_offset, 16U);
  }
}

TEST_P(Describe, MoreThan64DimensionsAreRefused) {
  std::vector<int> const shape(65, 1);
  description d = description::of(numbers, dims::from(shape.data(), 64));
  EXPECT_EQ(tensor_of(build_on_memory(d, kind)).ndim, 64);
  d.shape = dims::from(shape.data(), 65);
  EXPECT_EQ(refusal_of([&] { return build_on_memory(d, kind); }),
            "malformed: malformed tensor: expected ndim from 0 to 64; got ndim above 64" + correct);
  d.shape = dims{1};
  d.strides = dims::from(shape.data(), 65);
  EXPECT_EQ(refusal_of([&] { return build_on_memory(d, kind); }),
            wrong_strides("[1]", "of more than 64 dimensions"));
}

TEST_P(Describe, AnEmptyManagedTensorIsRefused) {
  EXPECT_EQ(refusal_of([&] { return build(managed_tensor(), kind); }),
            "null_data: tensor without data: expected an owner of an array; got an empty one");
}

// A short std::string holds its characters itself.
/// An array whose elements exist once it is prepared.
struct deferred_array {
  bool can_prepare;
  std::vector<float> elements{};
};

}  // namespace

template <>
struct dlbridge::array_traits<deferred_array> {
  static void prepare(deferred_array& a) {
    if (!a.can_prepare) {
      throw std::runtime_error("no elements");
    }
    a.elements = {1, 2, 3};
  }
  static description describe(deferred_array& a) noexcept {
    return description::of(a.elements.data(), {a.elements.size()});
  }
};

namespace {

TEST_P(Describe, AnArrayIsPreparedFirst) {
  managed_tensor const moved = build(deferred_array{true}, GetParam());
  EXPECT_EQ(moved.view().count(), 3);
  auto const array = std::make_shared<deferred_array>(deferred_array{true});
  managed_tensor const shared = build(std::shared_ptr<deferred_array>(array), GetParam());
  EXPECT_EQ(shared.view().data(), array->elements.data());
  EXPECT_EQ(shared.view().count(), 3);
}

TEST_P(Describe, AnArrayThatCannotBePreparedStaysTheCallers) {
  deferred_array array{false, {7}};
  EXPECT_THROW(static_cast<void>(build(std::move(array), GetParam())), std::runtime_error);
  EXPECT_EQ(array.elements, std::vector<float>{7});
  auto pointer = std::make_shared<deferred_array>(deferred_array{false});
  EXPECT_THROW(static_cast<void>(build(std::move(pointer), GetParam())), std::runtime_error);
  EXPECT_EQ(pointer.use_count(), 1);
}

TEST(BuildOn, RefusesElementsThatMoveWithTheirOwner) {
  std::string owner = "abc";
  description const d = description::of(owner.data(), {3});
  EXPECT_EQ(refusal_of([&] { return build_on(std::move(owner), d); }),
            "bad_argument: bad argument: expected elements that stay where they are when their "
            "owner moves; got the address of elements in the owner itself. Pass a "
            "std::unique_ptr or a std::shared_ptr of it");
  EXPECT_EQ(owner, "abc");  // NOLINT(bugprone-use-after-move)

  std::string long_owner(100, 'x');
  char const* const characters = long_owner.data();
  description const of_long = description::of(long_owner.data(), {100});
  managed_tensor const m = build_on(std::move(long_owner), of_long);
  EXPECT_EQ(m.view().data(), characters);
}

// Its author may name its elements as he likes, so that its type does not show that it is a view.
struct handle {
  float* pixels;
  int count;
};
}  // namespace

template <>
struct dlbridge::array_traits<handle> {
  static description describe(handle& h) noexcept { return description::of(h.pixels, {h.count}); }
};

namespace {
TEST_P(Describe, AViewThatOwnsNothingIsRefused) {
  float pixels[] = {1, 2, 3};
  EXPECT_EQ(refusal_of([&] { return build(handle{pixels, 3}, GetParam()); }),
            "bad_argument: bad argument: expected an array that owns its elements; got a view, "
            "whose destructor frees nothing. Name the owner, build_on(std::move(owner), "
            "describe(view)); or state borrows in its array_traits, if the caller keeps the memory "
            "valid");
  managed_tensor const empty = build(handle{nullptr, 0}, GetParam());
  EXPECT_EQ(empty.view().count(), 0);

  auto owner = std::make_unique<std::vector<float>>(2, 4.0F);  // the remedy
  handle view{owner->data(), 2};
  EXPECT_EQ(consume_in_c(build_on(std::move(owner), dlbridge::describe(view), GetParam())), 8);
}

TEST(BuildOn, RefusesAnEmptyOwnerOfMemory) {
  char const* const refusal =
      "null_data: tensor without data: expected an owner of the memory; got an empty one. Pass "
      "no_owner{} for memory that outlives the tensor";
  int number = 7;
  description const d = description::of(&number, {1});
  EXPECT_EQ(refusal_of([&] { return build_on(std::unique_ptr<int>(), d); }), refusal);
  EXPECT_EQ(refusal_of([&] { return build_on(std::shared_ptr<int>(), d); }), refusal);
  EXPECT_EQ(refusal_of([&] { return build_on(managed_tensor(), d); }), refusal);
  // It shares the ownership of nothing.
  std::shared_ptr<int> aliasing(std::shared_ptr<int>(), &number);
  EXPECT_EQ(refusal_of([&] { return build_on(std::move(aliasing), d); }), refusal);

  int freed = 0;
  std::shared_ptr<void> of_null(nullptr, [&freed](void*) { ++freed; });
  EXPECT_EQ(consume_in_c(build_on(std::move(of_null), d)), 7);
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(consume_in_c(build_on(no_owner{}, d)), 7);  // the remedy
  int* const none = nullptr;
  managed_tensor const of_nothing = build_on(std::unique_ptr<int>(), description::of(none, {0}));
  EXPECT_TRUE(of_nothing.view().empty());
}

TEST(BuildOn, KeepsTheOwnerUntilTheTensorIsFreed) {
  auto const owner = std::make_shared<int>(7);
  managed_tensor m = build_on(std::shared_ptr<int>(owner), description::of(owner.get(), {1}));
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(consume_in_c(std::move(m)), 7);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(BuildFlags, AVersionedTensorHasAllFlags) {
  description d = description::of(std::as_const(numbers), {6});
  d.flags |= dlbridge::flag_is_copied | dlbridge::flag_padded | std::uint64_t{1} << 63;
  managed_tensor const m = build_on_memory(d);
  EXPECT_EQ(m.get_versioned()->flags, std::uint64_t{1} << 63 | 7);
}

char const* const legacy_read_only =
    "read_only: expected writable memory, as a legacy tensor has no read-only flag; got "
    "read-only memory: writability differs. Build a versioned tensor, copy it, or pass "
    "read_only_policy::drop";

TEST(BuildFlags, ReadOnlyMemoryIsNotExportedAsLegacy) {
  int destroyed = 0;
  small_array owner{destruction_counter(destroyed), [](float* p, bool) noexcept {
                      return description::of(const_cast<float const*>(p), {6});
                    }};
  EXPECT_EQ(refusal_of([&] { return build(std::move(owner), struct_kind::legacy); }),
            legacy_read_only);
  EXPECT_EQ(destroyed, 0) << "the caller still owns the array";
  managed_tensor m = build(std::move(owner), struct_kind::legacy, read_only_policy::drop);
  EXPECT_EQ(consume_in_c(std::move(m)), 21);
  EXPECT_EQ(destroyed, 1);
}

TEST(BuildFlags, PaddedSubByteElementsAreNotExportedAsLegacy) {
  description d = description::of(numbers, {6});
  d.flags = dlbridge::flag_padded;
  EXPECT_EQ(consume_in_c(build_on_memory(d, struct_kind::legacy)), 21)
      << "the flag has no meaning for whole bytes";
  d.type = dtype(kDLInt, 4);
  EXPECT_EQ(refusal_of([&] { return build_on_memory(d, struct_kind::legacy); }),
            "version_mismatch: unreadable DLPack version: expected a versioned tensor for padded "
            "sub-byte elements; got a request for a legacy one. Build a versioned tensor");
  EXPECT_EQ(build_on_memory(d).flags(), dlbridge::flag_padded);
}

// An imported tensor is exported again, for every pair of struct kinds.
struct Reexport : testing::TestWithParam<std::tuple<struct_kind, struct_kind>> {
  struct_kind in = std::get<0>(GetParam());
  struct_kind out = std::get<1>(GetParam());
  foreign_ptr foreign = make_foreign();
  DLTensor& foreign_tensor() {
    return in == struct_kind::legacy ? foreign_legacy(foreign.get())->dl_tensor
                                     : foreign_versioned(foreign.get())->dl_tensor;
  }
  managed_tensor import() {
    return in == struct_kind::legacy ? managed_tensor::steal(foreign_legacy(foreign.get()))
                                     : managed_tensor::steal(foreign_versioned(foreign.get()));
  }
  static managed_tensor convert(struct_kind kind, managed_tensor&& m,
                                read_only_policy policy = read_only_policy::refuse) {
    return kind == struct_kind::legacy ? to_legacy(std::move(m), policy)
                                       : to_versioned(std::move(m));
  }
};
INSTANTIATE_TEST_SUITE_P(StructKind, Reexport,
                         testing::Combine(both_struct_kinds, both_struct_kinds),
                         [](auto const& test) {
                           return name_of(std::get<0>(test.param)) + "As" +
                                  name_of(std::get<1>(test.param));
                         });

TEST_P(Reexport, AnEmptyOwnerIsRefused) {
  EXPECT_EQ(refusal_of([this] { return convert(out, managed_tensor()); }),
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

TEST_P(Reexport, ABuiltTensorOwnsTheForeignOne) {
  foreign_tensor().strides = nullptr;
  foreign_tensor().byte_offset = 8;
  managed_tensor m = build(import(), out);
  EXPECT_EQ(m.kind(), out);
  EXPECT_EQ(tensor_of(m).data, foreign->data + 2);
  EXPECT_EQ(tensor_of(m).byte_offset, 0U);
  EXPECT_EQ(tensor_of(m).strides[0], 3) << "explicit, although they were null";
  EXPECT_EQ(foreign->deleter_calls, 0);
  EXPECT_EQ(consume_in_c(std::move(m)), 2 + 3 + 4 + 5 + 6 + 7);
  EXPECT_EQ(foreign->deleter_calls, 1);
}

TEST_P(Reexport, ConversionToTheSameKindReusesTheStruct) {
  int const before = heap.allocated;
  managed_tensor m = convert(out, import());
  int const allocated = heap.allocated - before;
  EXPECT_EQ(allocated, in == out || !heap_is_counted() ? 0 : 1);
  EXPECT_EQ(m.kind(), out);
  EXPECT_EQ(&tensor_of(m) == &foreign_tensor(), in == out)
      << "the struct is reused when the kind stays the same";
  EXPECT_EQ(consume_in_c(std::move(m)), 0 + 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(foreign->deleter_calls, 1);
}

TEST_P(Reexport, FlagsAreCopiedFromVersionedToVersionedOnly) {
  std::uint64_t const flags = dlbridge::flag_is_copied | std::uint64_t{1} << 40;
  foreign_versioned(foreign.get())->flags = flags;
  managed_tensor const m = build(import(), out);
  EXPECT_EQ(m.flags(), in == struct_kind::versioned && out == struct_kind::versioned ? flags : 0);
}

TEST_P(Reexport, ReadOnlyMemoryBecomesLegacyOnlyWithThePolicyDrop) {
  foreign_versioned(foreign.get())->flags = dlbridge::flag_read_only;
  managed_tensor m = import();
  bool const loses_the_flag = in == struct_kind::versioned && out == struct_kind::legacy;
  if (loses_the_flag) {
    EXPECT_EQ(refusal_of([&] { return convert(out, std::move(m)); }), legacy_read_only);
    EXPECT_TRUE(m) << "the caller still owns it";
    EXPECT_EQ(foreign->deleter_calls, 0);
  }
  managed_tensor const converted = convert(out, std::move(m), read_only_policy::drop);
  EXPECT_EQ(converted.view().read_only(),
            in == struct_kind::versioned && out == struct_kind::versioned);
}

TEST_P(Reexport, CanBeRepeated) {
  managed_tensor m = import();
  for (int i = 0; i < 4; ++i) {
    m = build(std::move(m), i % 2 == 0 ? out : in);
  }
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
  EXPECT_EQ(foreign->deleter_calls, 1);
}

TEST_P(Reexport, KeepsAHandleAndItsByteOffset) {
  foreign_tensor().device = {kDLOpenCL, 0};
  foreign_tensor().byte_offset = 16;
  managed_tensor const m = build(import(), out);
  EXPECT_EQ(tensor_of(m).data, foreign->data);
  EXPECT_EQ(tensor_of(m).byte_offset, 16U);
}

// Consumers look up the allocation at data, also of an empty tensor (spec 4.8).
TEST_P(Reexport, OnOneApiKeepsDataAndByteOffset) {
  foreign_tensor().device = {kDLOneAPI, 0};
  foreign_tensor().byte_offset = 16;
  managed_tensor const m = build(import(), out);
  EXPECT_EQ(tensor_of(m).data, foreign->data);
  EXPECT_EQ(tensor_of(m).byte_offset, 16U);
}

TEST_P(Reexport, OnOneApiAnEmptyTensorKeepsItsPointer) {
  std::int64_t const shape[] = {0, 3};
  foreign_set_shape(foreign.get(), 2, shape);
  foreign_tensor().device = {kDLOneAPI, 0};
  managed_tensor const m = build(import(), out);
  EXPECT_EQ(tensor_of(m).data, foreign->data);
}

TEST_P(Reexport, AnEmptyTensorGetsANullPointer) {
  std::int64_t const shape[] = {0, 3};
  foreign_set_shape(foreign.get(), 2, shape);
  foreign_tensor().data = reinterpret_cast<void*>(1);
  EXPECT_EQ(tensor_of(build(import(), out)).data, nullptr);
  EXPECT_EQ(foreign->deleter_calls, 1);
}

TEST_P(Reexport, TheShapeOfRankZeroIsNotRead) {
  foreign_tensor().ndim = 0;
  foreign_tensor().shape = reinterpret_cast<std::int64_t*>(8);
  foreign_tensor().strides = reinterpret_cast<std::int64_t*>(8);
  EXPECT_EQ(consume_in_c(build(import(), out)), 0);
}

}  // namespace
