// The bodies of copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API bool may_overlap(tensor_view const& a, tensor_view const& b) noexcept {
  auto const ends = [](tensor_view const& v, std::uintptr_t& first, std::uintptr_t& last) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    static_cast<void>(try_reach(v.rank(), v.shape(), v.strides(), low, high));
    std::int64_t const bytes = element_bytes(v.dtype());
    auto const base = reinterpret_cast<std::uintptr_t>(v.data());
    first = base + static_cast<std::uintptr_t>(low * bytes);
    last = base + static_cast<std::uintptr_t>((high + 1) * bytes);
  };
  std::uintptr_t first_a = 0, last_a = 0, first_b = 0, last_b = 0;
  ends(a, first_a, last_a);
  ends(b, first_b, last_b);
  return first_a < last_b && first_b < last_a;
}

DLBRIDGE_API void require_destination(tensor_view const& source, tensor_view const& destination,
                                      device_filter where) {
  requirement need;
  need.type = source.dtype();
  need.rank = source.rank();
  need.extents = source.shape();
  need.where = where;
  need.writable = true;
  if (!meets(destination, need)) {
    report r = explain_mismatch(destination, need);
    if (r.has(errc::read_only)) {
      r.advice = "Pass a writable destination";
    }
    raise(r);
  }
  if (has_alias(destination.rank(), destination.shape(), destination.strides())) {
    std::int64_t strides[max_rank];
    destination.copy_strides(strides);
    report r = refusal(errc::layout_mismatch, "a destination whose elements share no memory",
                       name_of(destination).c_str());
    append_extents(r.got.append(" with strides "), destination.rank(), strides);
    r.got.append(", whose elements may share memory");
    raise(r);
  }
}

DLBRIDGE_API void copy_disjoint(tensor_view const& source, tensor_view const& destination,
                                copy_method const& method) noexcept {
  bool const packed =
      is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
  packed ? copy_packed(source, destination) : copy_elements(source, destination, method);
}
}  // namespace detail

DLBRIDGE_API void copy(tensor_view const& source, tensor_view const& destination) {
  require_view(source, requirement{});
  detail::require_destination(source, destination, device_filter{});
  if (source.empty()) {
    return;
  }
  if (detail::may_overlap(source, destination)) {
    managed_tensor const snapshot = copy_of(source);
    detail::copy_disjoint(snapshot.view(), destination);
    return;
  }
  detail::copy_disjoint(source, destination);
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor copy_of(tensor_view const& source, layout order,
                                                      struct_kind kind,
                                                      host_allocator const& memory) {
  managed_tensor result = detail::build_for_copy(source, order, kind, memory);
  if (!source.empty()) {
    detail::copy_disjoint(source, result.view(), detail::copy_method::to_new_memory());
  }
  return result;
}

DLBRIDGE_END_NAMESPACE
