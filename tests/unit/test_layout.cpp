// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp: shape and stride arithmetic, compared with the offset of every element.
#include <dlbridge/layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "wide.hpp"

namespace {

constexpr std::int64_t most = INT64_MAX;
constexpr std::int64_t least = INT64_MIN;
constexpr std::int64_t huge = std::int64_t{1} << 62;

using numbers = std::vector<std::int64_t>;

// The arguments of the functions under test. Without strides the pointer is null. At rank 0 both
// pointers are invalid, so that a function that reads them crashes.
struct tensor_layout {
  numbers shape;
  numbers strides;
  bool has_strides = true;

  int rank() const { return static_cast<int>(shape.size()); }
  std::int64_t const* extents() const { return rank() == 0 ? invalid_pointer() : shape.data(); }
  std::int64_t const* steps() const {
    return !has_strides ? nullptr : rank() == 0 ? invalid_pointer() : strides.data();
  }
  static std::int64_t const* invalid_pointer() { return reinterpret_cast<std::int64_t const*>(8); }
};

std::ostream& operator<<(std::ostream& out, tensor_layout const& l) {
  out << "shape " << testing::PrintToString(l.shape);
  return l.has_strides ? out << " strides " << testing::PrintToString(l.strides)
                       : out << " without strides";
}

std::int64_t count(tensor_layout const& l) {
  return std::accumulate(l.shape.begin(), l.shape.end(), std::int64_t{1}, std::multiplies<>());
}

// The offset of every element, with the last index fastest, from the definition of a stride.
// Without strides the offsets count up.
numbers offsets_of(tensor_layout const& l) {
  numbers offsets;
  for (std::int64_t n = 0; n < count(l); ++n) {
    std::int64_t offset = l.has_strides ? 0 : n;
    std::int64_t rest = n;
    for (std::size_t i = l.has_strides ? l.shape.size() : 0; i-- > 0;) {
      offset += rest % l.shape[i] * l.strides[i];
      rest /= l.shape[i];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

// The same elements with the dimensions reversed: l is column-major when the result is row-major.
tensor_layout reversed(tensor_layout l) {
  if (!l.has_strides) {
    l.strides.resize(l.shape.size());
    dlbridge::fill_row_major(l.rank(), l.shape.data(), l.strides.data());
    l.has_strides = true;
  }
  std::reverse(l.shape.begin(), l.shape.end());
  std::reverse(l.strides.begin(), l.strides.end());
  return l;
}

bool count_up_from_zero(numbers const& offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return true;
}

// Generates small layouts: compact in some order of the dimensions, some with gaps, reversed,
// broadcast, overlapping or arbitrary strides. Strides that have no effect get extreme values.
class layout_generator {
 public:
  tensor_layout next() {
    tensor_layout l;
    int const rank = below(6);
    std::vector<int> order;
    for (int i = 0; i < rank; ++i) {
      l.shape.push_back(below(12) == 0 ? 0 : 1 + below(4));
      order.push_back(i);
    }
    l.strides.resize(l.shape.size());
    if (below(2) == 0) {
      std::shuffle(order.begin(), order.end(), random_);
    } else if (below(2) == 0) {
      std::reverse(order.begin(), order.end());
    }
    std::int64_t step = 1;
    for (std::size_t n = order.size(); n-- > 0;) {
      auto const i = static_cast<std::size_t>(order[n]);
      l.strides[i] = step;
      step *= std::max<std::int64_t>(l.shape[i], 1);
      step += below(16) == 0 ? 1 + below(3) : 0;  // gap
    }
    for (std::int64_t& stride : l.strides) {
      int const change = below(24);
      stride = change == 0 ? -stride : change == 1 ? 0 : change == 2 ? below(9) - 4 : stride;
    }
    bool const empty = std::count(l.shape.begin(), l.shape.end(), 0) != 0;
    for (std::size_t i = 0; i < l.shape.size(); ++i) {
      if (l.shape[i] == 1 || empty) {
        std::int64_t const extremes[] = {0, -1, least, most, huge, l.strides[i]};
        l.strides[i] = extremes[below(6)];
      }
    }
    l.has_strides = below(10) != 0;
    return l;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::mt19937 random_{3};
};

constexpr int rounds = 20000;

// Calls visit(layout, offsets of all its elements) for many layouts, and expects both true and
// false for at least one in twenty of them.
template <class Visit>
void for_many_layouts(Visit visit) {
  layout_generator generator;
  int positives = 0;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    tensor_layout const l = generator.next();
    SCOPED_TRACE(testing::PrintToString(l));
    positives += visit(l, offsets_of(l)) ? 1 : 0;
  }
  EXPECT_GT(positives, rounds / 20);
  EXPECT_LT(positives, rounds - rounds / 20);
}

TEST(Layout, RowMajorMeansThatOffsetsCountUpInIndexOrder) {
  for_many_layouts([](tensor_layout const& l, numbers const& offsets) {
    bool const expected = count_up_from_zero(offsets);
    EXPECT_EQ(dlbridge::is_row_major(l.rank(), l.extents(), l.steps()), expected);
    return expected;
  });
}

TEST(Layout, ColumnMajorIsRowMajorOfTheReversedDimensions) {
  for_many_layouts([](tensor_layout const& l, numbers const&) {
    bool const expected = count_up_from_zero(offsets_of(reversed(l)));
    EXPECT_EQ(dlbridge::is_column_major(l.rank(), l.extents(), l.steps()), expected);
    return expected;
  });
}

TEST(Layout, CompactMeansThatOffsetsFillOneBlockFromZero) {
  for_many_layouts([](tensor_layout const& l, numbers offsets) {
    std::sort(offsets.begin(), offsets.end());
    bool const expected = count_up_from_zero(offsets);
    EXPECT_EQ(dlbridge::is_compact(l.rank(), l.extents(), l.steps()), expected);
    return expected;
  });
}

TEST(Layout, ReachIsTheLowestAndTheHighestOffset) {
  for_many_layouts([](tensor_layout const& l, numbers const& offsets) {
    std::int64_t lowest = 77;
    std::int64_t highest = 77;
    EXPECT_TRUE(dlbridge::try_reach(l.rank(), l.extents(), l.steps(), lowest, highest));
    bool const empty = offsets.empty();
    EXPECT_EQ(lowest, empty ? 0 : *std::min_element(offsets.begin(), offsets.end()));
    EXPECT_EQ(highest, empty ? 0 : *std::max_element(offsets.begin(), offsets.end()));
    return lowest < 0;
  });
}

TEST(Layout, NoAliasMeansThatNoTwoElementsShareAnOffset) {
  int false_positives = 0;
  for_many_layouts([&](tensor_layout const& l, numbers const& offsets) {
    bool const shared =
        std::set<std::int64_t>(offsets.begin(), offsets.end()).size() != offsets.size();
    bool const alias = dlbridge::has_alias(l.rank(), l.extents(), l.steps());
    EXPECT_TRUE(alias || !shared) << "an alias that has_alias does not report";
    false_positives += alias && !shared ? 1 : 0;
    return alias;
  });
  EXPECT_LT(false_positives, rounds / 50)
      << "has_alias may report interleaved strides without an alias, and no others";
}

TEST(Layout, NestedStridesHaveNoAlias) {
  for_many_layouts([](tensor_layout const& l, numbers const&) {
    if (!dlbridge::is_compact(l.rank(), l.extents(), l.steps()) || !l.has_strides) {
      return false;
    }
    // With and without gaps, every second dimension reversed.
    for (std::int64_t const gap : {1, 3}) {
      numbers scaled = l.strides;
      for (std::size_t i = 0; i < scaled.size(); ++i) {
        bool const has_no_effect = l.shape[i] == 1 || count(l) == 0;
        scaled[i] *= has_no_effect ? 1 : i % 2 == 0 ? gap : -gap;
      }
      EXPECT_FALSE(dlbridge::has_alias(l.rank(), l.extents(), scaled.data()));
    }
    return true;
  });
}

TEST(Layout, CountIsTheNumberOfElements) {
  for_many_layouts([](tensor_layout const& l, numbers const& offsets) {
    std::int64_t counted = -1;
    EXPECT_TRUE(dlbridge::try_count(l.rank(), l.extents(), counted));
    EXPECT_EQ(counted, static_cast<std::int64_t>(offsets.size()));
    EXPECT_EQ(dlbridge::count_of(l.rank(), l.extents()), counted);
    return counted == 0;
  });
}

TEST(Layout, FilledStridesAreCompactAndNeverZero) {
  for_many_layouts([](tensor_layout const& l, numbers const&) {
    tensor_layout filled{l.shape, l.shape, true};
    dlbridge::fill_row_major(l.rank(), l.extents(), filled.strides.data());
    EXPECT_TRUE(count_up_from_zero(offsets_of(filled)));
    for (int i = 0; i < l.rank(); ++i) {
      EXPECT_EQ(dlbridge::row_major_stride(l.rank(), l.extents(), i),
                filled.strides[static_cast<std::size_t>(i)]);
    }
    EXPECT_TRUE(std::all_of(filled.strides.begin(), filled.strides.end(),
                            [](std::int64_t s) { return s > 0; }));
    numbers columns(l.shape.size());
    dlbridge::fill_column_major(l.rank(), l.extents(), columns.data());
    tensor_layout const mirrored = reversed({l.shape, columns, true});
    numbers expected(l.shape.size());
    dlbridge::fill_row_major(l.rank(), mirrored.extents(), expected.data());
    EXPECT_EQ(mirrored.strides, expected);
    return count(l) == 0;
  });
}

// Values at which 64-bit arithmetic overflows, and others between them.
numbers edges() {
  numbers values = {least, least + 1, least / 2, -huge, -3037000500, -3, -2, -1, 0, 1, 2, 3};
  for (std::int64_t const value :
       {std::int64_t{3037000499}, std::int64_t{3037000500}, std::int64_t{1} << 32, huge - 1, huge,
        most / 2, most - 1, most}) {
    values.push_back(value);
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    values.push_back(static_cast<std::int64_t>(random() >> random() % 64));
    values.push_back(-values.back());
  }
  return values;
}

bool fits(wide value) { return value >= least && value <= most; }

// A compiler uses one of the two implementations; both are tested.
TEST(Layout, BuiltinAndPortableArithmeticDetectOverflow) {
  using operation = bool (*)(std::int64_t, std::int64_t, std::int64_t&) noexcept;
  constexpr operation multiply[] = {dlbridge::try_multiply,
                                    dlbridge::detail::try_multiply_portable};
  constexpr operation add[] = {dlbridge::try_add, dlbridge::detail::try_add_portable};
  numbers const values = edges();
  for (std::int64_t const a : values) {
    for (std::int64_t const b : values) {
      std::int64_t out = 77;
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(multiply[i](a, b, out), fits(wide{a} * b)) << a << " * " << b;
        ASSERT_TRUE(!fits(wide{a} * b) || out == wide{a} * b) << a << " * " << b;
        ASSERT_EQ(add[i](a, b, out), fits(wide{a} + b)) << a << " + " << b;
        ASSERT_TRUE(!fits(wide{a} + b) || out == wide{a} + b) << a << " + " << b;
      }
    }
  }
}

TEST(Layout, AnOverflowingCountIsRefusedUnlessTheTensorIsEmpty) {
  struct row {
    numbers shape;
    bool fits;
    std::int64_t count;
  };
  row const rows[] = {
      {{most}, true, most},
      {{huge, 1, 1}, true, huge},
      {{huge, 2}, false, 0},
      {{most, most, most}, false, 0},
      {{3037000500, 3037000500}, false, 0},
      {{std::int64_t{1} << 32, std::int64_t{1} << 32}, false, 0},  // 0 in 64 bits
      {{huge, huge, 0}, true, 0},
      {{0, huge, huge}, true, 0},
      {{huge, huge, 0, huge}, true, 0},
      {numbers(62, 2), true, huge},
      {numbers(63, 2), false, 0},
      {numbers(64, most), false, 0},
  };
  for (row const& each : rows) {
    int const rank = static_cast<int>(each.shape.size());
    std::int64_t counted = 77;
    ASSERT_EQ(dlbridge::try_count(rank, each.shape.data(), counted), each.fits)
        << testing::PrintToString(each.shape);
    if (each.fits) {
      EXPECT_EQ(counted, each.count);
      EXPECT_EQ(dlbridge::count_of(rank, each.shape.data()), each.count);
    }
  }
}

TEST(Layout, OnlyAnOverflowingReachIsRefused) {
  numbers const values = edges();
  for (std::int64_t const extent : values) {
    for (std::int64_t const stride : values) {
      if (extent <= 0) {
        continue;
      }
      // A second dimension extends the reach to the limit, or one element beyond it.
      for (std::int64_t const second : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, huge}) {
        wide const first = wide{extent - 1} * stride;
        wide const highest = (first > 0 ? first : 0) + (second > 0 ? second : 0);
        wide const lowest = (first < 0 ? first : 0) + (second < 0 ? second : 0);
        std::int64_t const shape[] = {extent, 2};
        std::int64_t const strides[] = {stride, second};
        std::int64_t low = 77;
        std::int64_t high = 77;
        ASSERT_EQ(dlbridge::try_reach(2, shape, strides, low, high), fits(lowest) && fits(highest))
            << extent << " by " << stride << " and " << second;
        ASSERT_TRUE(!fits(lowest) || !fits(highest) || (low == lowest && high == highest))
            << extent << " by " << stride << " and " << second;
      }
    }
  }
}

TEST(Layout, TheReachOfAnEmptyTensorIsZeroForAnyExtents) {
  std::int64_t const shape[] = {huge, huge, 0};
  std::int64_t const strides[] = {most, least, most};
  for (std::int64_t const* const argument : {static_cast<std::int64_t const*>(nullptr), strides}) {
    std::int64_t low = 77;
    std::int64_t high = 77;
    EXPECT_TRUE(dlbridge::try_reach(3, shape, argument, low, high));
    EXPECT_EQ(low, 0);
    EXPECT_EQ(high, 0);
    EXPECT_TRUE(dlbridge::is_row_major(3, shape, argument));
    EXPECT_TRUE(dlbridge::is_column_major(3, shape, argument));
    EXPECT_TRUE(dlbridge::is_compact(3, shape, argument));
    EXPECT_FALSE(dlbridge::has_alias(3, shape, argument));
  }
}

TEST(Layout, WithoutStridesAnOverflowingCountHasNoReach) {
  std::int64_t const shape[] = {huge, 2};
  std::int64_t low = 0;
  std::int64_t high = 0;
  EXPECT_FALSE(dlbridge::try_reach(2, shape, nullptr, low, high));
}

TEST(Layout, TheLargestRankIsClassified) {
  numbers shape(dlbridge::max_rank, 1);
  numbers strides(dlbridge::max_rank, least);
  int const rank = dlbridge::max_rank;
  for (std::size_t i = 0; i < 62; ++i) {  // 2^62 elements, the fastest dimension in the middle
    std::size_t const at = i % 2 == 0 ? 31 - i / 2 : 32 + i / 2;
    shape[at] = 2;
    strides[at] = std::int64_t{1} << i;
  }
  EXPECT_TRUE(dlbridge::is_compact(rank, shape.data(), strides.data()));
  EXPECT_FALSE(dlbridge::is_row_major(rank, shape.data(), strides.data()));
  EXPECT_FALSE(dlbridge::has_alias(rank, shape.data(), strides.data()));
  strides[31] = -1;
  EXPECT_FALSE(dlbridge::is_compact(rank, shape.data(), strides.data()))
      << "one dimension is reversed";
  EXPECT_FALSE(dlbridge::has_alias(rank, shape.data(), strides.data()));
  strides[31] = 2;
  EXPECT_TRUE(dlbridge::has_alias(rank, shape.data(), strides.data()));
}

TEST(Layout, TheSmallestInt64IsAValidStride) {
  std::int64_t const shape[] = {2, 3};
  std::int64_t const strides[] = {least, 1};
  EXPECT_FALSE(dlbridge::has_alias(2, shape, strides));
  EXPECT_FALSE(dlbridge::is_compact(2, shape, strides));
  std::int64_t low = 0;
  std::int64_t high = 0;
  EXPECT_TRUE(dlbridge::try_reach(2, shape, strides, low, high));
  EXPECT_EQ(low, least);
  EXPECT_EQ(high, 2);
}

TEST(Layout, FilledStridesOfAnEmptyTensorWithHugeExtentsArePositive) {
  for (numbers const& shape : {numbers{0, std::int64_t{1} << 32, std::int64_t{1} << 32, 2},
                               numbers{2, std::int64_t{1} << 32, std::int64_t{1} << 32, 0},
                               numbers{huge, 2, 0, 2, huge}, numbers{most, most, most, 0, most}}) {
    int const rank = static_cast<int>(shape.size());
    for (auto* const fill : {&dlbridge::fill_row_major, &dlbridge::fill_column_major}) {
      numbers strides(shape.size());
      fill(rank, shape.data(), strides.data());
      EXPECT_GT(*std::min_element(strides.begin(), strides.end()), 0)
          << testing::PrintToString(strides);
    }
  }
}

}  // namespace
