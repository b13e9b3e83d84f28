// The bodies of broadcast.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/broadcast.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report broadcast_refusal(errc code, tensor_view const& view,
                                                                dims const& extents) noexcept {
  report r = refusal(code, "extents that broadcast to ", name_of(view).c_str());
  append_extents(r.expected, extents.size(), extents.data());
  return r;
}

DLBRIDGE_API void require_extents(dims const& extents, std::int64_t bits) {
  report r = check_extents(extents.size(), extents.data());
  std::int64_t count = 0;
  if (r.ok() &&
      (!try_count(extents.size(), extents.data(), count) || !try_multiply(count, bits, count))) {
    r = refusal(errc::overflow, "a size that fits 64 bits", "shape ");
    append_extents(r.got, extents.size(), extents.data());
  }
  if (!r.ok()) {
    raise(r);
  }
}

DLBRIDGE_API void write_broadcast_strides(tensor_view const& source, dims const& extents,
                                          std::int64_t* strides) {
  int const added = extents.size() - source.rank();
  if (added < 0) {
    raise(broadcast_refusal(errc::rank_mismatch, source, extents));
  }
  std::int64_t own[max_rank];
  source.copy_strides(own);
  for (int i = 0; i < extents.size(); ++i) {
    std::int64_t const extent = i < added ? 1 : source.extent(i - added);
    if (extent != 1 && extent != extents[i]) {
      raise(broadcast_refusal(errc::extent_mismatch, source, extents));
    }
    strides[i] = extent == 1 ? 0 : own[i - added];
  }
}

DLBRIDGE_API dims broadcast_pair(dims const& a, dims const& b) {
  dims const& longer = a.size() < b.size() ? b : a;
  dims const& shorter = a.size() < b.size() ? a : b;
  int const added = longer.size() - shorter.size();
  std::int64_t all[max_rank] = {};
  for (int i = 0; i < longer.size(); ++i) {
    std::int64_t const other = i < added ? 1 : shorter[i - added];
    if (longer[i] != other && longer[i] != 1 && other != 1) {
      report r = refusal(errc::extent_mismatch, "extents that broadcast with ", "");
      append_extents(r.expected, a.size(), a.data());
      append_extents(r.got, b.size(), b.data());
      raise(r);
    }
    all[i] = longer[i] == 1 ? other : longer[i];
  }
  return dims::from(all, static_cast<std::size_t>(longer.size()));
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
