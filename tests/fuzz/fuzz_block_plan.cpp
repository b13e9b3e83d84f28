// SPDX-License-Identifier: BSD-3-Clause
// fuzz_block_plan: carries out the plan of a device copy on addresses, and compares it with an
// enumeration of all elements.
#include <dlbridge/runtime/detail/block_plan.hpp>
#include <dlbridge/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bit_memory.hpp"
#include "input.hpp"

namespace {

using positions = std::vector<std::pair<std::int64_t, std::int64_t>>;  // (from, to), in bytes

/// The first bytes of all elements, in source and target.
positions enumerate(strided const& source, strided const& target) {
  positions all;
  all.reserve(40);
  for_each_index(source.rank, source.shape, [&](std::int64_t const* index) {
    all.emplace_back(source.offset(index) * source.bytes(), target.offset(index) * source.bytes());
  });
  std::sort(all.begin(), all.end());
  return all;
}

/// The same for the elements that the plan copies, in runs of whole elements.
positions carry_out(dlbridge::detail::block_plan const& plan, std::int64_t unit,
                    std::size_t elements) {
  expect(plan.width > 0 && plan.width % unit == 0, "a row consists of elements");
  positions all;
  all.reserve(40);
  std::int64_t copies = 0;
  dlbridge::detail::for_each_row(plan.outer, [&](std::int64_t from, std::int64_t to) {
    ++copies;
    for (std::int64_t row = 0; row < plan.rows.extent; ++row) {
      for (std::int64_t i = 0; i < plan.width; i += unit) {
        expect(all.size() < elements, "the plan copies too much");
        all.emplace_back(from + row * plan.rows.source + i, to + row * plan.rows.destination + i);
      }
    }
  });
  expect(copies == plan.copies, "the number of block copies");
  std::sort(all.begin(), all.end());
  return all;
}

/// Compares range_of with the range of the bits of all elements, in whole bytes.
void check_range(strided const& s, dlbridge::tensor_view const& view) {
  auto const range = dlbridge::detail::range_of(view);
  if (s.count() == 0) {
    expect(range.size == 0, "an empty tensor has no bytes");
    return;
  }
  auto const all = s.positions();
  auto const [low, high] = std::minmax_element(all.begin(), all.end());
  std::int64_t const end = *high + s.pitch();
  expect(range.first * 8 <= *low && range.first * 8 > *low - 8, "first byte of the range");
  std::int64_t const last = (range.first + range.size) * 8;
  expect(last >= end && last < end + 8, "last byte of the range");
}

void check_one_block(strided const& source, strided const& target, DLTensor const& a,
                     DLTensor const& b) {
  dlbridge::tensor_view const from(a, source.flags());
  dlbridge::tensor_view const to(b, target.flags());
  if (source.count() == 0) {
    return;
  }
  std::vector<std::int64_t> all = source.positions();
  bool is_one_block = all == target.positions();
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    is_one_block = is_one_block && all[i] == static_cast<std::int64_t>(i) * source.pitch();
  }
  bool const same_pitch = source.pitch() == target.pitch();
  expect(dlbridge::detail::is_one_block(from, to) == (is_one_block && same_pitch), "is_one_block");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  input in(data, size);
  strided source = any_strided(in);
  choose_strides(in, source);
  strided target = source;
  target.is_padded = in.one_in(3);
  choose_strides(in, target);
  if (in.one_in(6)) {  // pitches around the limit of block copies
    for (int i = 0; i < source.rank; ++i) {
      (in.one_in(2) ? source : target).strides[i] += in.between(0, 8) * (std::int64_t{1} << 28);
    }
    source.has_strides = target.has_strides = true;
  }
  unsigned char byte = 0;
  DLTensor const a = source.at(&byte);
  DLTensor const b = target.at(&byte);
  if (!dlbridge::check_tensor(a).ok() || !dlbridge::check_tensor(b).ok()) {
    return 0;  // such an element would have no address
  }
  check_range(source, dlbridge::tensor_view(a, source.flags()));
  check_range(target, dlbridge::tensor_view(b, target.flags()));
  check_one_block(source, target, a, b);
  if (source.count() == 0) {
    return 0;
  }
  source.is_padded = target.is_padded = true;  // the plan moves whole bytes
  auto const expected = enumerate(source, target);
  auto const plan = dlbridge::detail::plan_blocks(dlbridge::tensor_view(a, source.flags()),
                                                  dlbridge::tensor_view(b, target.flags()));
  expect(plan.rows.extent > 0, "a plan copies something");
  for (std::int64_t const pitch : {plan.rows.source, plan.rows.destination}) {
    expect(plan.rows.extent == 1 || (pitch >= plan.width && pitch <= INT32_MAX), "pitch of rows");
  }
  expect(carry_out(plan, source.bytes(), expected.size()) == expected,
         "elements that the plan copies");
  return 0;
}
