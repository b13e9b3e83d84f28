// traits.hpp: the hooks of array_traits.
#include <dlbridge/builder.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/traits.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "foreign.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::description;
using dlbridge::managed_tensor;

// A user's array type, for which array_traits is specialized.
struct matrix {
  std::vector<double> elements;
  std::size_t rows;
};

}  // namespace

template <>
struct dlbridge::array_traits<matrix> {
  static description describe(matrix& m) noexcept {
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
  EXPECT_EQ(d.shape.size(), 2);
  EXPECT_EQ(d.shape[0], 3);
  EXPECT_EQ(d.shape[1], 2);
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

TEST(Traits, ATensorThatTheHookRefusesIsFreedOnce) {
  foreign_ptr const foreign = make_foreign();
  DLManagedTensorVersioned* const raw = foreign_versioned(foreign.get());
  raw->dl_tensor.dtype = {kDLInt, 32, 1};
  EXPECT_EQ(refusal_of([&] { return dlbridge::adopt_as<matrix>(managed_tensor::steal(raw)); }),
            "dtype_mismatch: expected float32; got int32[2, 3] on cpu: dtype differs");
  EXPECT_EQ(foreign->deleter_calls, 1);
}

}  // namespace
