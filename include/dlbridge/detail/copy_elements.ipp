// The bodies of copy_elements.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/detail/copy_elements.hpp>
#include <dlbridge/detail/copy_gather.ipp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/detail/copy_registers.ipp>
#include <dlbridge/detail/copy_rows.ipp>
#include <dlbridge/detail/copy_tiles.ipp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
DLBRIDGE_API copy_method copy_method::best() noexcept {
  return {best_copy_kernel(), has_streaming_stores ? std::int64_t{16} << 20 : INT64_MAX};
}

DLBRIDGE_API copy_method copy_method::to_new_memory() noexcept {
  copy_method method = best();
  method.is_new = true;
  return method;
}

DLBRIDGE_API bool copy_method::streams_block(std::int64_t bytes) const noexcept {
  bool const is_cleared =
      is_new && bytes >= std::int64_t{30} << 20 && bytes < std::int64_t{256} << 20;
  return streams(bytes) && !is_cleared;
}

// A plan whose last two dimensions become rows, for each combination of the others.
struct row_plan {
  copy_plan& all;
  int outer;  // number of the other dimensions
  copy_dimension rows{1, 0, 0};

  // Takes dimension `which` out of the others.
  void take(int which) noexcept {
    rows = all.dimensions[which];
    for (--outer; which < outer; ++which) {
      all.dimensions[which] = all.dimensions[which + 1];
    }
  }
};

// Copies elements whose innermost dimension is not contiguous.
template <int Bytes>
void copy_scattered(copy_plan& plan, char const* source, char* destination,
                    copy_method const& method, std::int64_t bytes) noexcept {
  copy_kernel const kernel = method.kernel;
  copy_dimension inner = plan.dimensions[plan.rank - 1];
  row_plan rest{plan, plan.rank - 1};
  if (rest.outer > 0) {
    auto const advance = [&](int i) noexcept {
      std::int64_t const step = length(plan.dimensions[i].source);
      return step == 0 ? INT64_MAX : step;
    };
    int nearest = rest.outer - 1;  // the dimension in which the source advances least
    for (int i = nearest - 1; i >= 0; --i) {
      nearest = advance(i) < advance(nearest) ? i : nearest;
    }
    bool const interleaves = advance(nearest) < length(inner.source);
    rest.take(interleaves ? nearest : rest.outer - 1);
  }
  if (rest.rows.source == -Bytes) {
    plan.reverse(rest.rows);
  }
  transposition matrix{source,
                       destination,
                       static_cast<std::ptrdiff_t>(inner.extent),
                       static_cast<std::ptrdiff_t>(rest.rows.extent),
                       static_cast<std::ptrdiff_t>(inner.source),
                       static_cast<std::ptrdiff_t>(rest.rows.destination)};
  if (inner.destination == Bytes && rest.rows.source == Bytes &&
      profits_from_tiles<Bytes>(matrix)) {
    for_each_offset(plan, rest.outer, [&](std::int64_t s, std::int64_t d) noexcept {
      matrix.source = source + s;
      matrix.destination = destination + d;
      transpose<Bytes>(matrix, kernel, method.streams(bytes));
    });
    return;
  }
  row_set rows{source, destination, rest.rows, inner};
  // The loops are exchanged for short rows of few bytes: each pass goes through the whole memory.
  std::int64_t const few_bytes = inner.source == 0 ? 48 : 32;
  if (inner.extent < 8 && inner.extent * Bytes < few_bytes && rest.rows.extent > inner.extent) {
    rows.inner = rest.rows;
    rows.outer = inner;
  }
  bool const fills = rows.inner.source == 0 && rows.inner.destination == Bytes;
  for_each_offset(plan, rest.outer, [&](std::int64_t s, std::int64_t d) noexcept {
    rows.source = source + s;
    rows.destination = destination + d;
    fills ? fill_rows<Bytes>(rows, kernel, method.streams_block(bytes))
          : gather_rows<Bytes>(rows, kernel);
  });
}

// Copies elements whose innermost dimension is contiguous, or whose size has no kernel.
inline void copy_contiguous(copy_plan& plan, char const* source, char* destination,
                            std::int64_t unit, bool streams) noexcept {
  std::int64_t bytes = unit;
  row_plan rest{plan, plan.rank};
  if (plan.rank > 0) {
    copy_dimension const& inner = plan.dimensions[plan.rank - 1];
    if (inner.source == unit && inner.destination == unit) {
      bytes *= inner.extent;
      --rest.outer;
    }
  }
  if (rest.outer > 0) {
    rest.take(rest.outer - 1);
  }
  row_set rows{source, destination, rest.rows, {}};
  for_each_offset(plan, rest.outer, [&](std::int64_t s, std::int64_t d) noexcept {
    rows.source = source + s;
    rows.destination = destination + d;
    copy_runs(rows, static_cast<std::size_t>(bytes), streams);
  });
}

DLBRIDGE_API void copy_elements(tensor_view const& source, tensor_view const& destination,
                                copy_method const& method) noexcept {
  std::int64_t const unit = element_bytes(source.dtype());
  std::int64_t const bytes = source.count() * unit;
  auto const* const from = static_cast<char const*>(source.data());
  auto* const to = static_cast<char*>(const_cast<void*>(destination.data()));
  if (source.is_row_major() && destination.is_row_major()) {
    if (!method.streams_block(bytes)) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
      return;
    }
    stream_bytes(to, from, static_cast<std::size_t>(bytes));
    return stream_fence();
  }
  copy_plan plan = plan_copy(source, destination, unit, unit);
  copy_dimension const* const inner = plan.rank == 0 ? nullptr : &plan.dimensions[plan.rank - 1];
  bool const is_contiguous =
      inner == nullptr || (inner->source == unit && inner->destination == unit);
  switch (is_contiguous ? 0 : unit) {
    case 1:
      copy_scattered<1>(plan, from, to, method, bytes);
      break;
    case 2:
      copy_scattered<2>(plan, from, to, method, bytes);
      break;
    case 4:
      copy_scattered<4>(plan, from, to, method, bytes);
      break;
    case 8:
      copy_scattered<8>(plan, from, to, method, bytes);
      break;
    case 16:
      copy_scattered<16>(plan, from, to, method, bytes);
      break;
    default:
      copy_contiguous(plan, from, to, unit, method.streams(bytes));
  }
  if (method.streams(bytes)) {
    stream_fence();
  }
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
