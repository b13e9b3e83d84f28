// The bodies of validate.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/layout.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Whether all bytes of the elements have valid addresses, and whether their offsets in bits, which
// packed elements need, fit 64 bits.
inline bool has_addressable_reach(DLTensor const& t) noexcept {
  constexpr std::int64_t most = INT64_MAX / 8;
  std::int64_t const bytes = element_bytes(dtype(t.dtype));
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (t.byte_offset > static_cast<std::uint64_t>(most) ||
      !try_reach(t.ndim, t.shape, t.strides, low, high) || !try_add(high, 1, high) ||
      !try_multiply(low, bytes, low) || !try_multiply(high, bytes, high) || low < -most ||
      high > most) {
    return false;
  }
  if (!has_address(device(t.device)) || t.data == nullptr) {
    return true;
  }
  auto const offset = static_cast<std::int64_t>(t.byte_offset);
  low += offset;
  high += offset;
  std::uint64_t const base = reinterpret_cast<std::uintptr_t>(t.data);  // may have 32 bits
  return (low >= 0 || base >= 0 - static_cast<std::uint64_t>(low)) &&
         (high <= 0 || static_cast<std::uint64_t>(high) <= UINTPTR_MAX - base);
}

DLBRIDGE_NOINLINE DLBRIDGE_API flaw find_flaw_slow(DLTensor const& t) noexcept {
  if (t.ndim < 0 || t.ndim > max_rank) {
    return flaw::rank;
  }
  if (t.ndim > 0 && t.shape == nullptr) {
    return flaw::null_shape;
  }
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) {
      return flaw::extent;
    }
  }
  if (!is_sound(dtype(t.dtype))) {
    return flaw::dtype;
  }
  device_row const* const where = find_row(device(t.device));
  if (where == nullptr) {
    return flaw::device;
  }
  std::int64_t count = 0;
  std::int64_t size = 0;
  if (!try_count(t.ndim, t.shape, count) ||
      !try_multiply(count, element_bits(dtype(t.dtype)), size)) {
    return flaw::count;
  }
  if (count != 0 && !has_addressable_reach(t)) {
    return flaw::reach;
  }
  if (count != 0 && t.data == nullptr && where->data != data_kind::handle) {
    return flaw::null_data;
  }
  return flaw::none;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report explain(flaw what, DLTensor const& t) noexcept {
  constexpr char const* broken = "The producer is broken; dlbridge cannot read this tensor";
  report r;
  r.advice = broken;
  switch (what) {
    case flaw::none:
      break;
    case flaw::rank:
      r = refusal(errc::malformed, "ndim from 0 to 64", "ndim ", broken);
      r.got.append(std::int64_t{t.ndim});
      break;
    case flaw::null_shape:
      r = refusal(errc::malformed, "a shape", "a null shape with ndim ", broken);
      r.got.append(std::int64_t{t.ndim});
      break;
    case flaw::extent:
      r = refusal(errc::malformed, "extents of 0 and above", "shape ", broken);
      append_extents(r.got, t.ndim, t.shape);
      break;
    case flaw::dtype:
      r = refusal(errc::dtype_mismatch, "a dtype of DLPack 1.x", "",
                  t.dtype.bits == 0 || t.dtype.lanes == 0
                      ? broken
                      : "Ask the producer for another dtype, or use a newer dlbridge");
      append_name(r.got, dtype(t.dtype));
      break;
    case flaw::device:
      r = refusal(errc::device_mismatch, "a device of DLPack 1.x", "",
                  "Move the tensor to a device that dlbridge supports, or use a newer dlbridge");
      append_name(r.got, device(t.device));
      break;
    case flaw::count:
      r = refusal(errc::overflow, "a size in bits that fits 64 bits", "shape ",
                  "Pass a view of fewer elements");
      append_extents(r.got, t.ndim, t.shape);
      break;
    case flaw::reach:
      r = refusal(errc::overflow, "bytes that can be addressed", "shape ", broken);
      append_extents(r.got, t.ndim, t.shape);
      if (t.ndim != 0 && t.strides != nullptr) {
        r.got.append(" with strides ");
        append_extents(r.got, t.ndim, t.strides);
      }
      r.got.append(" and byte offset ").append_unsigned(t.byte_offset);
      break;
    case flaw::null_data:
      r = refusal(errc::null_data, "memory", "null data for ",
                  "Give the tensor storage first: fake, meta and lazy tensors have none");
      append_name(r.got, tensor_view(t));
      break;
  }
  return r;
}
}  // namespace detail

DLBRIDGE_API report check_tensor(DLTensor const& t) noexcept {
  detail::flaw const flaw = detail::find_flaw(t);
  return flaw == detail::flaw::none ? report{} : detail::explain(flaw, t);
}

DLBRIDGE_API tensor_view view_of(DLTensor const& t, std::uint64_t flags) {
  detail::flaw const flaw = detail::find_flaw(t);
  if (flaw != detail::flaw::none) {
    raise(detail::explain(flaw, t));
  }
  return tensor_view(t, flags);
}

DLBRIDGE_END_NAMESPACE
