// SPDX-License-Identifier: BSD-3-Clause
// fuzz_structs: imports managed structs with arbitrary fields, and compares what dlbridge accepts,
// reads and reports with naive arithmetic; every deleter runs once.
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include "enumerate.hpp"
#include "hostile_struct.hpp"
#include "input.hpp"

namespace {

using dlbridge::dynamic_extent;
using dlbridge::errc;
using dlbridge::layout;
using dlbridge::managed_tensor;
using dlbridge::report;
using dlbridge::requirement;
using dlbridge::struct_kind;
using dlbridge::tensor_view;

constexpr oracle::wide most_enumerated = 48;  // elements; larger tensors are not enumerated

/// What the fuzzer knows about a struct, apart from dlbridge.
struct facts {
  DLTensor t{};
  std::uint64_t flags = 0;
  oracle::wide count = 0;
  bool is_readable = false;  // all elements lie inside `memory`, which the CPU can access
  unsigned char const* first = nullptr;
  std::int64_t strides[64] = {};  // row-major if the struct has none; unspecified if it is empty

  int type() const { return static_cast<int>(t.device.device_type); }
  std::int64_t bytes() const { return oracle::bytes_of(t.dtype); }
  bool is_enumerable() const { return count > 0 && count <= most_enumerated; }
  /// The offset of an index, in elements.
  std::int64_t offset(std::int64_t const* index) const {
    std::int64_t sum = 0;
    for (int i = 0; i < t.ndim; ++i) {
      sum += index[i] * strides[i];
    }
    return sum;
  }
  /// The offsets of all elements, in row-major order of the indices.
  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> all;
    all.reserve(static_cast<std::size_t>(most_enumerated));
    for_each_index(t.ndim, t.shape, [&](std::int64_t const* i) { all.push_back(offset(i)); });
    return all;
  }
};

template <class Managed>
facts facts_of(hostile<Managed>& h) {
  facts f;
  f.t = h.tensor();
  if constexpr (hostile<Managed>::is_versioned) {
    f.flags = h.managed.flags;
  }
  f.count = oracle::count(f.t);
  f.first = static_cast<unsigned char const*>(f.t.data);
  if (f.count > 0) {
    for (int i = 0; i < f.t.ndim; ++i) {
      f.strides[i] = static_cast<std::int64_t>(oracle::stride(f.t, i));
    }
    auto const [low, high] = oracle::reach(f.t);
    auto const base = reinterpret_cast<std::uintptr_t>(h.memory.get());
    auto const data = oracle::wide{reinterpret_cast<std::uintptr_t>(f.t.data)} + f.t.byte_offset;
    f.is_readable = oracle::device_of_host(f.type()) && data + low * f.bytes() >= base &&
                    data + (high + 1) * f.bytes() <= base + h.memory_size;
    if (f.is_readable) {
      f.first += f.t.byte_offset;
    }
  }
  return f;
}

void check_message(report const& why) {
  expect(!why.ok(), "a refusal has a reason");
  auto const text = dlbridge::message(why);
  expect(std::strlen(text.c_str()) == text.size() && text.size() > 10, "a message has an end");
  expect(std::strstr(text.c_str(), dlbridge::row(why.code()).noun) != nullptr || text.size() == 639,
         "a message names the first reason");
}

void check_view_of(facts const& f, tensor_view const& view) {
  bool const has_address = oracle::device_with_addresses(f.type());
  auto const address = reinterpret_cast<std::uintptr_t>(f.t.data) +
                       (has_address && f.t.data != nullptr ? f.t.byte_offset : 0);
  expect(reinterpret_cast<std::uintptr_t>(view.data()) == address, "data");
  expect(view.byte_offset() == (has_address ? 0 : f.t.byte_offset), "byte_offset");
  expect(view.rank() == f.t.ndim && view.count() == static_cast<std::int64_t>(f.count), "count");
  std::int64_t strides[64];
  view.copy_strides(strides);
  for (int i = 0; i < f.t.ndim; ++i) {
    expect(view.extent(i) == f.t.shape[i], "extent");
    expect(view.stride(i) == strides[i], "stride and copy_strides");
    if (f.count != 0) {
      expect(strides[i] == f.strides[i], "stride");
    }
  }
  auto const text = dlbridge::name_of(view);
  expect(std::strlen(text.c_str()) == text.size(), "the name of a view has an end");
}

/// Whether the strides have a layout, by enumeration. The tensor has elements.
bool has_layout(facts const& f, layout order) {
  std::vector<std::int64_t> offsets = f.offsets();
  if (order == layout::column_major) {  // visits the indices with the dimensions reversed
    std::int64_t reversed[64];
    std::reverse_copy(f.t.shape, f.t.shape + f.t.ndim, reversed);
    offsets.clear();
    for_each_index(f.t.ndim, reversed, [&](std::int64_t const* index) {
      std::int64_t forward[64];
      std::reverse_copy(index, index + f.t.ndim, forward);
      offsets.push_back(f.offset(forward));
    });
  } else if (order == layout::compact) {
    std::sort(offsets.begin(), offsets.end());
    for (int i = 0; i < f.t.ndim; ++i) {
      if (f.t.shape[i] > 1 && f.strides[i] < 0) {
        return false;
      }
    }
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (order != layout::strided && offsets[i] != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return true;
}

void check_layouts(facts const& f, tensor_view const& view) {
  if (f.is_enumerable()) {
    expect(view.is_row_major() == has_layout(f, layout::row_major), "is_row_major");
    expect(view.is_column_major() == has_layout(f, layout::column_major), "is_column_major");
    expect(view.is_compact() == has_layout(f, layout::compact), "is_compact");
    if (!dlbridge::has_alias(view.rank(), view.shape(), view.strides())) {
      std::vector<std::int64_t> offsets = f.offsets();
      std::sort(offsets.begin(), offsets.end());
      expect(std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end(), "has_alias");
    }
  }
}

void check_requirement(input& in, facts const& f, tensor_view const& view) {
  requirement need;
  std::int64_t extents[64];
  DLDataType const type = in.one_in(2) ? f.t.dtype : any_dtype(in);
  need.type = in.one_in(3) ? dlbridge::dtype() : dlbridge::dtype(type);
  need.rank = in.one_in(3) ? requirement::any_rank : in.one_in(4) ? in.between(0, 5) : f.t.ndim;
  for (int i = 0; i < 64; ++i) {
    bool const same = i < f.t.ndim && i < 8 && !in.one_in(8);
    extents[i] = same ? f.t.shape[i] : i < 8 ? in.between(-1, 6) : dynamic_extent;
  }
  need.extents = need.rank < 0 || in.one_in(2) ? nullptr : extents;
  need.order = static_cast<layout>(in.between(0, 3));
  need.where.type = in.between(-1, 21);
  need.where.id = need.where.type > 0 && in.one_in(2) ? 0 : dlbridge::device_filter::any_id;
  need.writable = in.one_in(2);
  need.alignment = std::size_t{1} << in.between(0, 8);

  report const why = dlbridge::check_view(view, need);
  auto const agrees = [&](errc code, bool is_broken, char const* what) {
    expect(why.has(code) == is_broken, what);
  };
  dlbridge::dtype const own(f.t.dtype);
  agrees(errc::dtype_mismatch, need.type.lanes != 0 && need.type != own, "dtype rule");
  bool const other_rank = need.rank >= 0 && need.rank != f.t.ndim;
  agrees(errc::rank_mismatch, other_rank, "rank rule");
  bool other_extents = false;
  for (int i = 0; need.extents != nullptr && !other_rank && i < f.t.ndim; ++i) {
    other_extents = other_extents || (extents[i] >= 0 && extents[i] != f.t.shape[i]);
  }
  agrees(errc::extent_mismatch, other_extents, "extent rule");
  bool const right_type =
      need.where.type == f.type() && (need.where.id < 0 || need.where.id == f.t.device.device_id);
  bool const right_device = need.where.type == 0    ? oracle::device_of_host(f.type())
                            : need.where.type == -1 ? true
                                                    : right_type;
  agrees(errc::device_mismatch, !right_device, "device rule");
  if (f.is_enumerable()) {
    agrees(errc::layout_mismatch, !has_layout(f, need.order), "layout rule");
  }
  agrees(errc::read_only, need.writable && (f.flags & 1) != 0, "read-only rule");
  std::uint64_t const position = oracle::device_with_addresses(f.type())
                                     ? reinterpret_cast<std::uintptr_t>(f.t.data) + f.t.byte_offset
                                     : f.t.byte_offset;
  agrees(errc::misaligned, f.count != 0 && position % need.alignment != 0, "alignment rule");
  // The fast path does not examine the flags.
  bool const may_write = !need.writable || (f.flags & 1) == 0;  // which the caller checks
  if (may_write && f.is_enumerable() && dlbridge::detail::fits_fast_path(f.t, need)) {
    expect(why.ok(), "the fast path accepts no more than check_view");
  }
  expect(dlbridge::meets(view, need) == why.ok(), "meets and check_view");
  if (!why.ok()) {
    check_message(why);
  }
}

/// Compares an element that dlbridge located with the bytes at the naive address.
template <class T>
void check_element(facts const& f, T const& element, std::int64_t const* index) {
  unsigned char const* const naive = f.first + f.offset(index) * f.bytes();
  expect(std::memcmp(&element, naive, sizeof(T)) == 0, "element");
  expect(reinterpret_cast<unsigned char const*>(&element) == naive, "address of an element");
}

template <class T, class Shape>
void check_span(facts const& f, tensor_view const& view) {
  dlbridge::tensor_span<T const, Shape> const span(view);
  for_each_index(f.t.ndim, f.t.shape, [&](std::int64_t const* i) {
    if constexpr (std::is_same_v<Shape, dlbridge::shape<>>) {
      check_element(f, span(), i);
    } else if constexpr (std::is_same_v<Shape, dlbridge::shape<dynamic_extent>>) {
      check_element(f, span(i[0]), i);
    } else {
      check_element(f, span(i[0], i[1]), i);
    }
  });
}

#if defined(__cpp_lib_mdspan)
template <class Mdspan>
void check_mdspan(facts const& f, tensor_view const& view) {
  try {
    auto const m = dlbridge::as<Mdspan>(view);
    for_each_index(f.t.ndim, f.t.shape, [&](std::int64_t const* i) {
      using index = typename Mdspan::index_type;
      check_element(f, m[static_cast<index>(i[0]), static_cast<index>(i[1])], i);
    });
  } catch (dlbridge::error const& e) {
    check_message(e.why());
  }
}
#endif

/// Reads every element of a typed view. The memory holds all of them.
template <class T>
void read_typed([[maybe_unused]] input& in, facts const& f, tensor_view const& view) {
  constexpr std::int64_t any = dynamic_extent;
  switch (f.t.ndim) {
    case 0:
      check_span<T, dlbridge::shape<>>(f, view);
      break;
    case 1:
      check_span<T, dlbridge::shape<any>>(f, view);
      break;
    case 2: {
      check_span<T, dlbridge::shape<any, any>>(f, view);
#if defined(__cpp_lib_mdspan)
      using wide = std::dextents<std::int64_t, 2>;
      using narrow = std::dextents<std::int8_t, 2>;
      switch (in.between(0, 3)) {
        case 0:
          check_mdspan<std::mdspan<T const, wide, std::layout_stride>>(f, view);
          break;
        case 1:
          check_mdspan<std::mdspan<T const, wide, std::layout_right>>(f, view);
          break;
        case 2:
          check_mdspan<std::mdspan<T const, narrow, std::layout_left>>(f, view);
          break;
        default:
          check_mdspan<std::mdspan<T const, std::extents<int, 2, 3>, std::layout_stride>>(f, view);
          break;
      }
#endif
      break;
    }
    default:
      break;
  }
#if defined(__cpp_lib_span)
  if (has_layout(f, layout::row_major)) {
    std::size_t position = 0;
    auto const all = dlbridge::as_span<T const>(view);
    for_each_index(f.t.ndim, f.t.shape,
                   [&](std::int64_t const* i) { check_element(f, all[position++], i); });
    expect(position == all.size(), "as_span covers all elements");
  }
#endif
}

bool is_arithmetic(DLDataType d) {
  bool const of_8_to_64 = d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64;
  return d.lanes == 1 && ((d.code <= 1 && of_8_to_64) || (d.code == 6 && d.bits == 8) ||
                          (d.code == 2 && (d.bits == 32 || d.bits == 64)));
}

void check_visit(input& in, facts const& f, dlbridge::any_tensor& tensor) {
  bool const for_writing = in.one_in(2);
  std::uint64_t const address = reinterpret_cast<std::uintptr_t>(f.t.data) + f.t.byte_offset;
  bool const is_aligned = f.count == 0 || address % static_cast<std::uint64_t>(f.bytes()) == 0;
  bool const expected = is_arithmetic(f.t.dtype) && oracle::device_of_host(f.type()) &&
                        is_aligned && (!for_writing || (f.flags & 1) == 0);
  bool accepted = false;
  auto const visitor = [&](auto const& span) {
    using T = std::remove_const_t<typename std::decay_t<decltype(span)>::element_type>;
    accepted = true;
    expect(span.rank() == f.t.ndim, "rank of a visited span");
    if (!f.is_readable || !f.is_enumerable()) {
      return;
    }
    for_each_index(f.t.ndim, f.t.shape, [&](std::int64_t const* index) {
      std::int64_t offset = 0;
      for (int i = 0; i < span.rank(); ++i) {
        offset += index[i] * span.stride(i);
      }
      if constexpr (std::is_same_v<T, bool>) {  // the bytes of a bool may have any value
        auto const* const bytes = reinterpret_cast<unsigned char const*>(span.data());
        check_element(f, bytes[offset], index);
      } else {
        check_element(f, span.data()[offset], index);
      }
    });
    if constexpr (!std::is_same_v<T, bool>) {
      read_typed<T>(in, f, span.view());
    }
  };
  try {
    for_writing ? dlbridge::visit(tensor, visitor)
                : dlbridge::visit(std::as_const(tensor), visitor);
  } catch (dlbridge::error const& e) {
    check_message(e.why());
  }
  expect(accepted == expected, "visit");
}

managed_tensor convert(input& in, facts const& f, managed_tensor owned) {
  bool const to_legacy = in.one_in(2);
  bool const drop = in.one_in(2);
  bool const was_legacy = owned.kind() == struct_kind::legacy;
  bool const is_padded = (f.flags & 4) != 0 && oracle::bits_of(f.t.dtype) % 8 != 0;
  bool const is_refused = to_legacy && !was_legacy && (is_padded || ((f.flags & 1) != 0 && !drop));
  try {
    managed_tensor result =
        to_legacy ? dlbridge::to_legacy(std::move(owned), drop ? dlbridge::read_only_policy::drop
                                                               : dlbridge::read_only_policy::refuse)
                  : dlbridge::to_versioned(std::move(owned));
    expect(!is_refused, "a conversion that the legacy struct forbids");
    expect(result.kind() == (to_legacy ? struct_kind::legacy : struct_kind::versioned), "kind");
    tensor_view const view = result.view();
    if (f.count != 0) {
      check_view_of(f, view);
    }
    expect(to_legacy || was_legacy || view.flags() == f.flags, "the flags survive");
    return result;
  } catch (dlbridge::error const& e) {
    expect(is_refused && static_cast<bool>(owned), "an unexpected refusal, or a lost owner");
    check_message(e.why());
    return owned;
  }
}

template <class Managed>
void import(input& in) {
  bool const no_deleter = in.one_in(16);
  hostile<Managed>* const h = make_hostile<Managed>(in, no_deleter);
  bool is_expected = true;
  if constexpr (hostile<Managed>::is_versioned) {
    if (h->managed.version.major != 1) {
      is_expected = false;
      h->poison();
    }
  }
  facts f;
  if (is_expected) {
    is_expected = oracle::is_valid(h->tensor());
    report const why = dlbridge::check_tensor(h->tensor());
    expect(why.ok() == is_expected, "check_tensor");
    if (is_expected) {
      f = facts_of(*h);
    } else {
      check_message(why);
    }
  }
  long const before = account::deleted;
  report why;
  managed_tensor owned;
  if (in.one_in(2)) {
    try {
      owned = managed_tensor::steal(&h->managed);
    } catch (dlbridge::error const& e) {
      why = e.why();
    }
  } else {
    owned = managed_tensor::try_steal(&h->managed, why);
  }
  expect(why.ok() == is_expected && static_cast<bool>(owned) == is_expected, "steal");
  if (!is_expected) {
    check_message(why);
  } else {
    expect(account::deleted == before, "an owner keeps its tensor");
    tensor_view const view = owned.view();
    check_view_of(f, view);
    check_layouts(f, view);
    check_requirement(in, f, view);
    managed_tensor moved = std::move(owned);
    expect(!owned, "a moved-from owner is empty");  // NOLINT(bugprone-use-after-move)
    if (in.one_in(2)) {
      moved = convert(in, f, std::move(moved));
    }
    dlbridge::any_tensor any(std::move(moved));
    f.flags = any.view().flags();  // a legacy struct has none
    check_visit(in, f, any);
  }
  owned = managed_tensor();
  expect(account::deleted == before + (no_deleter ? 0 : 1), "the deleter runs once");
  if (no_deleter) {
    hostile<Managed>::destroy(&h->managed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  input in(data, size);
  in.one_in(2) ? import <DLManagedTensor>(in) : import <DLManagedTensorVersioned>(in);
  return 0;
}
