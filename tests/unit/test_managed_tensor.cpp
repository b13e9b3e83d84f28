// SPDX-License-Identifier: BSD-3-Clause
// managed_tensor.hpp: managed_tensor owns a struct of either kind and calls its deleter exactly
// once.
#include <dlbridge/managed_tensor.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "foreign.hpp"

namespace {

using dlbridge::errc;
using dlbridge::managed_tensor;
using dlbridge::report;
using dlbridge::struct_kind;
using dlbridge::tensor_view;

static_assert(sizeof(managed_tensor) == sizeof(void*));
static_assert(std::is_nothrow_default_constructible_v<managed_tensor>);
static_assert(std::is_nothrow_move_constructible_v<managed_tensor>);
static_assert(std::is_nothrow_move_assignable_v<managed_tensor>);
static_assert(!std::is_copy_constructible_v<managed_tensor>);
static_assert(!std::is_copy_assignable_v<managed_tensor>);
static_assert(!std::is_convertible_v<DLManagedTensorVersioned*, managed_tensor>);
static_assert(std::is_convertible_v<managed_tensor const&, tensor_view>);
static_assert(!std::is_convertible_v<managed_tensor, tensor_view>, "it would dangle");

template <class Managed>
struct ManagedTensor : testing::Test {
  foreign_ptr foreign = make_foreign();
  Managed* raw = struct_of<Managed>(foreign);
  int deleted() const { return foreign->deleter_calls; }
};
using StructKinds = testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
struct struct_kind_label {
  template <class Managed>
  static char const* GetName(int) {
    return std::is_same_v<Managed, DLManagedTensor> ? "Legacy" : "Versioned";
  }
};
TYPED_TEST_SUITE(ManagedTensor, StructKinds, struct_kind_label);

TYPED_TEST(ManagedTensor, IsEmptyByDefault) {
  managed_tensor const empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get_legacy(), nullptr);
  EXPECT_EQ(empty.get_versioned(), nullptr);
}

TYPED_TEST(ManagedTensor, ReturnsItsKindAndOnlyThatStruct) {
  managed_tensor const m = managed_tensor::adopt(this->raw);
  bool const legacy = std::is_same_v<TypeParam, DLManagedTensor>;
  EXPECT_EQ(m.kind(), legacy ? struct_kind::legacy : struct_kind::versioned);
  EXPECT_EQ(m.get_legacy(), legacy ? foreign_legacy(this->foreign.get()) : nullptr);
  EXPECT_EQ(m.get_versioned(), legacy ? nullptr : foreign_versioned(this->foreign.get()));
  EXPECT_EQ(&m.tensor(), &this->raw->dl_tensor);
  EXPECT_EQ(m.version(), legacy ? dlbridge::version{} : (dlbridge::version{1, 0}));
}

TYPED_TEST(ManagedTensor, TheDestructorCallsTheDeleterOnce) {
  {
    managed_tensor const m = managed_tensor::steal(this->raw);
  }
  EXPECT_EQ(this->deleted(), 1);
}

TYPED_TEST(ManagedTensor, ResetCallsTheDeleterOnceAfterMoves) {
  managed_tensor first = managed_tensor::steal(this->raw);
  managed_tensor second(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  managed_tensor third;
  third = std::move(second);
  EXPECT_FALSE(second);
  EXPECT_EQ(this->deleted(), 0);
  third.reset();
  third.reset();
  EXPECT_EQ(this->deleted(), 1);
}

TYPED_TEST(ManagedTensor, AssignmentFreesThePreviousTensor) {
  foreign_ptr const other = make_foreign();
  managed_tensor m = managed_tensor::steal(this->raw);
  m = managed_tensor::steal(struct_of<TypeParam>(other));
  EXPECT_EQ(this->deleted(), 1);
  EXPECT_EQ(other->deleter_calls, 0);
  m = managed_tensor();
  EXPECT_EQ(other->deleter_calls, 1);
}

TYPED_TEST(ManagedTensor, SelfAssignmentKeepsTheTensor) {
  managed_tensor m = managed_tensor::steal(this->raw);
  managed_tensor& same = m;
  m = std::move(same);
  EXPECT_EQ(this->deleted(), 0);
  EXPECT_TRUE(m);
}

TYPED_TEST(ManagedTensor, SwapExchangesOwnership) {
  managed_tensor full = managed_tensor::steal(this->raw);
  managed_tensor empty;
  swap(full, empty);
  EXPECT_FALSE(full);
  EXPECT_TRUE(empty);
  EXPECT_EQ(this->deleted(), 0);
}

TYPED_TEST(ManagedTensor, ReleaseDoesNotCallTheDeleter) {
  managed_tensor m = managed_tensor::steal(this->raw);
  bool const legacy = m.kind() == struct_kind::legacy;
  EXPECT_EQ(legacy ? static_cast<void*>(m.release_versioned()) : m.release_legacy(), nullptr)
      << "release of the other struct kind returns null";
  ASSERT_TRUE(m) << "and keeps ownership";
  void* const released = legacy ? static_cast<void*>(m.release_legacy()) : m.release_versioned();
  EXPECT_EQ(released, this->raw);
  EXPECT_FALSE(m);
  EXPECT_EQ(this->deleted(), 0);
}

TYPED_TEST(ManagedTensor, AcceptsANullDeleter) {
  this->raw->deleter = nullptr;
  {
    managed_tensor const m = managed_tensor::steal(this->raw);
  }
  EXPECT_EQ(this->deleted(), 0);
}

TYPED_TEST(ManagedTensor, StealOfNullIsEmpty) {
  EXPECT_FALSE(managed_tensor::steal(static_cast<TypeParam*>(nullptr)));
  EXPECT_FALSE(managed_tensor::adopt(static_cast<TypeParam*>(nullptr)));
}

TYPED_TEST(ManagedTensor, StealFreesARefusedTensorOnceAndThrows) {
  this->raw->dl_tensor.ndim = -1;
  try {
    static_cast<void>(managed_tensor::steal(this->raw));
    FAIL() << "a negative rank was accepted";
  } catch (dlbridge::error const& e) {
    EXPECT_EQ(e.code(), errc::malformed);
    EXPECT_STREQ(e.what(),
                 "malformed tensor: expected ndim from 0 to 64; got ndim -1. The producer is "
                 "broken; dlbridge cannot read this tensor");
  }
  EXPECT_EQ(this->deleted(), 1);
}

TYPED_TEST(ManagedTensor, TryStealFreesARefusedTensorOnceAndReports) {
  this->raw->dl_tensor.ndim = 65;
  report why;
  managed_tensor const result = managed_tensor::try_steal(this->raw, why);
  EXPECT_FALSE(result);
  EXPECT_TRUE(why.has(errc::malformed));
  EXPECT_EQ(this->deleted(), 1);
}

TYPED_TEST(ManagedTensor, ViewRefersToTheForeignMemory) {
  managed_tensor const m = managed_tensor::steal(this->raw);
  tensor_view const view = m;
  EXPECT_EQ(view.data(), this->foreign->data);
  EXPECT_EQ(view.rank(), 2);
  EXPECT_EQ(view.extent(1), 3);
}

TEST(ManagedTensorVersion, AnUnreadableMajorIsFreedAndItsFieldsAreNotRead) {
  for (std::uint32_t major : {0U, 2U, 77U}) {
    foreign_ptr const foreign = make_foreign();
    DLManagedTensorVersioned* const raw = foreign_versioned(foreign.get());
    raw->version.major = major;
    // Reading these fields would crash. They have no meaning when the version is unknown.
    raw->dl_tensor.ndim = 1000;
    raw->dl_tensor.shape = reinterpret_cast<std::int64_t*>(16);
    report why;
    EXPECT_FALSE(managed_tensor::try_steal(raw, why));
    EXPECT_EQ(why.code(), errc::version_mismatch);
    EXPECT_EQ(foreign->deleter_calls, 1);
  }
}

TEST(ManagedTensorVersion, AnyMinorAndUnknownFlagsAreAccepted) {
  foreign_ptr const foreign = make_foreign();
  DLManagedTensorVersioned* const raw = foreign_versioned(foreign.get());
  raw->version.minor = 99;
  raw->flags = std::uint64_t{1} << 40 | dlbridge::flag_read_only;
  managed_tensor const m = managed_tensor::steal(raw);
  EXPECT_EQ(m.flags(), raw->flags) << "unknown bits do not change";
  EXPECT_TRUE(m.view().read_only());
  EXPECT_EQ(m.version(), (dlbridge::version{1, 99}));
}

}  // namespace
