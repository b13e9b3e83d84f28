// SPDX-License-Identifier: BSD-3-Clause
// constraints.hpp: the requirement that the template arguments of a typed tensor make.
#include <dlbridge/tensor.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using dlbridge::dtype;
using dlbridge::dynamic_extent;
using dlbridge::dynamic_rank;
using dlbridge::shape;
using dlbridge::tensor;
using dlbridge::tensor_span;

using matrix = shape<dynamic_extent, dynamic_extent>;

TEST(Constraints, MakeARequirement) {
  dlbridge::requirement const need =
      tensor<float, shape<dynamic_extent, 3>, dlbridge::on_cuda>::required();
  EXPECT_EQ(need.type, dtype(kDLFloat, 32));
  EXPECT_EQ(need.rank, 2);
  EXPECT_EQ(need.extents[0], dynamic_extent);
  EXPECT_EQ(need.extents[1], 3);
  EXPECT_EQ(need.where.type, kDLCUDA);
  EXPECT_TRUE(need.writable);
  EXPECT_EQ(tensor_span<double const>::required().extents, nullptr);
  EXPECT_EQ(tensor_span<double const>::required().rank, dlbridge::requirement::any_rank);
}

// Which spans become which without a check: those whose rules include the rules of the other.
template <class From, class To>
constexpr bool is_widened = std::is_convertible_v<From, To>;
template <class... Parameters>
using to_write = tensor_span<float, Parameters...>;
template <class... Parameters>
using to_read = tensor_span<float const, Parameters...>;
static_assert(is_widened<to_write<shape<2, 3>>, to_read<shape<2, dynamic_extent>>>);
static_assert(is_widened<to_read<shape<2, 3>>, to_read<dynamic_rank>>);
static_assert(is_widened<to_read<matrix, dlbridge::row_major>, to_read<matrix, dlbridge::compact>>);
static_assert(is_widened<to_read<matrix, dlbridge::compact>, to_read<matrix>>);
static_assert(is_widened<to_read<dynamic_rank, dlbridge::on_cuda>,
                         to_read<dynamic_rank, dlbridge::anywhere>>);
static_assert(is_widened<to_read<dynamic_rank, dlbridge::aligned<64>>, to_read<>>);
static_assert(!is_widened<to_read<>, to_read<matrix>>);
static_assert(!is_widened<to_read<matrix>, to_read<shape<2, dynamic_extent>>>);
static_assert(!is_widened<to_read<shape<2>>, to_read<matrix>>);
static_assert(
    !is_widened<to_read<shape<2, 2>>, to_read<shape<dlbridge::named<'n'>, dlbridge::named<'n'>>>>);
static_assert(
    !is_widened<to_read<matrix, dlbridge::compact>, to_read<matrix, dlbridge::row_major>>);
static_assert(
    !is_widened<to_read<matrix, dlbridge::row_major>, to_read<matrix, dlbridge::column_major>>);
static_assert(!is_widened<to_read<dynamic_rank, dlbridge::anywhere>, to_read<>>);
static_assert(!is_widened<to_read<>, to_read<dynamic_rank, dlbridge::aligned<64>>>);
static_assert(!is_widened<to_read<>, to_write<>>);
static_assert(!is_widened<to_write<>, tensor_span<double const>>);

}  // namespace
