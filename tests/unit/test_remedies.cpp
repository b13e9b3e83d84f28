// SPDX-License-Identifier: BSD-3-Clause
// The remedies that messages name for authors of C++: the refusal, and then the remedy for the same
// object. Those for callers from Python are in tests/python/test_remedies.py, which has the list of
// all remedies.
#include <dlbridge/as.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/tensor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "refusal.hpp"
#include "tiny_mdspan.hpp"

namespace {
using dlbridge::build;
using dlbridge::build_on;
using dlbridge::copy_of;
using dlbridge::description;
using dlbridge::dims;
using dlbridge::layout;
using dlbridge::managed_tensor;
using dlbridge::read_only_policy;
using dlbridge::struct_kind;
using dlbridge::tensor_span;

// Whether a call is refused with the advice.
template <class Call>
testing::AssertionResult advises(char const* advice, Call call) {
  std::string const text = refusal_of(call);
  return text.find(std::string(". ") + advice) != std::string::npos
             ? testing::AssertionSuccess()
             : testing::AssertionFailure() << text;
}

std::vector<float> three() { return {1, 2, 3}; }

managed_tensor matrix() {
  managed_tensor m = dlbridge::build_empty(dlbridge::dtype_of<float>(), {2, 3});
  auto* const elements = static_cast<float*>(m.view().mutable_data());
  for (int i = 0; i < 6; ++i) {
    elements[i] = static_cast<float>(i);
  }
  return m;
}

managed_tensor read_only_vector(struct_kind kind = struct_kind::versioned,
                                read_only_policy policy = read_only_policy::refuse) {
  auto owner = std::make_unique<float[]>(3);
  owner[0] = 7;
  float const* const elements = owner.get();
  return build_on(std::move(owner), description::of(elements, {3}), kind, policy);
}

TEST(Remedies, BuildAVersionedTensorCopyItOrDropTheFlag) {
  char const* const advice = "Build a versioned tensor, copy it, or pass read_only_policy::drop";
  EXPECT_TRUE(advises(advice, [] { return read_only_vector(struct_kind::legacy); }));
  managed_tensor const versioned = read_only_vector();
  EXPECT_TRUE(versioned.view().read_only());
  managed_tensor const copied = copy_of(versioned, layout::row_major, struct_kind::legacy);
  managed_tensor const dropped = read_only_vector(struct_kind::legacy, read_only_policy::drop);
  for (managed_tensor const* each : {&copied, &dropped}) {
    EXPECT_NE(each->get_legacy(), nullptr);
    EXPECT_EQ(static_cast<float const*>(each->view().data())[0], 7);
  }
}

TEST(Remedies, BuildAVersionedTensorOfPaddedElements) {
  auto const padded = [](struct_kind kind) {
    auto owner = std::make_unique<std::int8_t[]>(3);
    description d = description::of(owner.get(), {3});
    d.type = dlbridge::dtype(kDLInt, 4);
    d.flags = dlbridge::flag_padded;
    return build_on(std::move(owner), d, kind);
  };
  EXPECT_TRUE(advises("Build a versioned tensor", [&] { return padded(struct_kind::legacy); }));
  EXPECT_TRUE(padded(struct_kind::versioned).flags() & dlbridge::flag_padded);
}

TEST(Remedies, CorrectTheDescription) {
  auto const built = [](dims const& strides) {
    auto owner = std::make_unique<float[]>(3);
    float* const elements = owner.get();
    return build_on(std::move(owner), description::of(elements, {3}, strides));
  };
  EXPECT_TRUE(advises("Correct the description of the array", [&] { return built({1, 1}); }));
  managed_tensor const corrected = built({1});
  EXPECT_EQ(corrected.view().count(), 3);
}

// Describes itself in another rank after a move, as an array that points into itself would.
template <bool IsCorrect>
struct moving {
  moving() = default;
  moving(moving&& other) noexcept : values(std::move(other.values)), is_moved(true) {}
  moving& operator=(moving&&) = delete;
  std::vector<float> values = three();
  bool is_moved = false;
};

}  // namespace

template <bool IsCorrect>
struct dlbridge::array_traits<moving<IsCorrect>> {
  static description describe(moving<IsCorrect>& m) noexcept {
    return m.is_moved && !IsCorrect ? description::of(m.values.data(), {1, 3})
                                    : description::of(m.values.data(), {3});
  }
};

namespace {

TEST(Remedies, CorrectDescribe) {
  EXPECT_TRUE(
      advises("Correct array_traits<T>::describe. An array that points into itself, such "
              "as an Eigen::Ref to a copy of its own, cannot be exported",
              [] { return build(moving<false>()); }));
  managed_tensor const corrected = build(moving<true>());
  EXPECT_EQ(corrected.view().count(), 3);
}

TEST(Remedies, PassAPointerToAnOwnerThatHoldsItsElements) {
  std::string direct = "abc";
  description const inside = description::of(direct.data(), {3});
  EXPECT_TRUE(advises("Pass a std::unique_ptr or a std::shared_ptr of it",
                      [&] { return build_on(std::move(direct), inside); }));
  auto unique = std::make_unique<std::string>(direct);
  auto shared = std::make_shared<std::string>(direct);
  description const of_unique = description::of(unique->data(), {3});
  description const of_shared = description::of(shared->data(), {3});
  managed_tensor const by_unique = build_on(std::move(unique), of_unique);
  managed_tensor const by_shared = build_on(std::move(shared), of_shared);
  for (managed_tensor const* each : {&by_unique, &by_shared}) {
    EXPECT_EQ(static_cast<char const*>(each->view().data())[2], 'c');
  }
}

TEST(Remedies, PassAWritableDestination) {
  managed_tensor const source = build(three());
  managed_tensor const constant = read_only_vector();
  EXPECT_TRUE(advises("Pass a writable destination", [&] {
    dlbridge::copy(source, constant);
    return 0;
  }));
  managed_tensor const destination = copy_of(constant);
  dlbridge::copy(source, destination);
  EXPECT_EQ(static_cast<float const*>(destination.view().data())[2], 3);
}

TEST(Remedies, PassAWritableCopy) {
  managed_tensor const constant = read_only_vector();
  EXPECT_TRUE(advises("Pass a writable copy", [&] { return tensor_span<float>(constant.view()); }));
  managed_tensor const copied = copy_of(constant);
  EXPECT_EQ(tensor_span<float>(copied.view()).data()[0], 7);
}

TEST(Remedies, PassACopyInThatLayout) {
  using column_major = tensor_span<float const, dlbridge::dynamic_rank, dlbridge::column_major>;
  managed_tensor const m = matrix();
  EXPECT_TRUE(advises("Pass a copy in that layout", [&] { return column_major(m.view()); }));
  managed_tensor const copied = copy_of(m, layout::column_major);
  EXPECT_EQ(column_major(copied.view()).data()[1], 3);
}

TEST(Remedies, PassAnAlignedCopy) {
  using aligned = tensor_span<float const, dlbridge::dynamic_rank, dlbridge::aligned<64>>;
  managed_tensor const m = matrix();
  DLTensor shifted = m.view().to_dltensor();
  shifted.byte_offset = 4;
  std::int64_t const extents[] = {1, 3};
  shifted.shape = const_cast<std::int64_t*>(extents);
  dlbridge::tensor_view const view(shifted);
  EXPECT_TRUE(advises("Pass an aligned copy", [&] { return aligned(view); }));
  managed_tensor const copied = copy_of(view);
  EXPECT_EQ(aligned(copied.view()).data()[2], 3);
}

TEST(Remedies, CompareItWithZero) {
  managed_tensor const numbers = build(std::vector<int>{0, 2, 3});
  EXPECT_TRUE(advises("Compare it with 0 first",
                      [&] { return dlbridge::converted_copy_of<bool>(numbers.view()); }));
  std::array<bool, 3> truths{};
  tensor_span<int const, dlbridge::shape<3>> const x(numbers.view());
  for (std::size_t i = 0; i < 3; ++i) {
    truths[i] = x(i) != 0;
  }
  EXPECT_TRUE(!truths[0] && truths[1] && truths[2]);
}

TEST(Remedies, OfConversionsByValue) {
  using dlbridge::by_value;
  using dlbridge::converted_copy_of;
  managed_tensor const large = build(std::vector<int>{1, 300});
  EXPECT_TRUE(advises("Pass integers within these limits",
                      [&] { return converted_copy_of<std::uint8_t, by_value>(large.view()); }));
  managed_tensor const limits = build(std::vector<int>{0, 255});
  managed_tensor const bytes = converted_copy_of<std::uint8_t, by_value>(limits.view());
  EXPECT_EQ(tensor_span<std::uint8_t const>(bytes.view()).data()[1], 255);
  EXPECT_TRUE(advises("Pass 0 and 1, or compare it with 0 first",
                      [&] { return converted_copy_of<bool, by_value>(large.view()); }));
  managed_tensor const truths = build(std::vector<int>{0, 300 != 0 ? 1 : 0});
  managed_tensor const bools = converted_copy_of<bool, by_value>(truths.view());
  EXPECT_TRUE(tensor_span<bool const>(bools.view()).data()[1]);
  managed_tensor const fractions = build(std::vector<double>{0.1});
  EXPECT_TRUE(advises("Convert its dtype first if its values may be rounded",
                      [&] { return converted_copy_of<float, by_value>(fractions.view()); }));
  managed_tensor const floats = converted_copy_of<float>(fractions.view());
  EXPECT_EQ(tensor_span<float const>(floats.view()).data()[0], 0.1F);
}

template <class Index>
using vector_of = tiny::mdspan<float, tiny::extents<Index, tiny::dynamic_extent>>;

TEST(Remedies, UseAViewTypeWithAWiderIndex) {
  managed_tensor const m = dlbridge::build_empty(dlbridge::dtype_of<float>(), {200});
  EXPECT_TRUE(advises("Use a view type with a wider index",
                      [&] { return dlbridge::as<vector_of<std::int8_t>>(m.view()); }));
  EXPECT_EQ(dlbridge::as<vector_of<std::int16_t>>(m.view()).extent(0), 200);
}

}  // namespace
