// The inline bodies of device.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>

DLBRIDGE_BEGIN_NAMESPACE

// device_rows uses integers, because an older dlpack.h lacks the enumerators of newer types.
static_assert(kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3 && kDLOpenCL == 4 && kDLVulkan == 7 &&
              kDLMetal == 8 && kDLVPI == 9 && kDLROCM == 10 && kDLROCMHost == 11 &&
              kDLExtDev == 12 && kDLCUDAManaged == 13 && kDLOneAPI == 14 && kDLWebGPU == 15 &&
              kDLHexagon == 16 && kDLMAIA == 17);
#if DLBRIDGE_DLPACK_AT_LEAST(2)
static_assert(kDLTrn == 18);
#endif

constexpr device_row const* find_row(device where) noexcept {
  if (where.type == kDLCPU) {
    return &device_rows[0];
  }
  for (device_row const& each : device_rows) {
    if (each.type == where.type) {
      return &each;
    }
  }
  return nullptr;
}

namespace detail {
// Sets of device types, in which bit n stands for type n.
template <class Predicate>
constexpr std::uint32_t types_where(Predicate is_in) noexcept {
  std::uint32_t types = 0;
  for (device_row const& each : device_rows) {
    types |= std::uint32_t{is_in(each)} << each.type;
  }
  return types;
}
constexpr bool is_type_in(std::uint32_t types, device where) noexcept {
  return static_cast<std::uint32_t>(where.type) < 32 && (types >> where.type & 1) != 0;
}
constexpr std::uint32_t address_types =
    types_where([](device_row const& row) { return row.data != data_kind::handle; });
constexpr std::uint32_t allocation_types =
    types_where([](device_row const& row) { return row.data == data_kind::allocation; });
constexpr std::uint32_t host_types =
    types_where([](device_row const& row) { return row.host_accessible(); });
constexpr std::uint32_t pinned_types =
    types_where([](device_row const& row) { return row.memory == memory_kind::pinned; });
constexpr std::uint32_t cuda_types =
    types_where([](device_row const& row) { return row.runtime == runtime_kind::cuda; });
constexpr std::uint32_t hip_types =
    types_where([](device_row const& row) { return row.runtime == runtime_kind::hip; });
constexpr runtime_kind runtime_among(std::uint32_t types, device where) noexcept {
  return where.type == kDLCPU                    ? runtime_kind::none
         : is_type_in(cuda_types & types, where) ? runtime_kind::cuda
         : is_type_in(hip_types & types, where)  ? runtime_kind::hip
                                                 : runtime_kind::none;
}
}  // namespace detail

constexpr bool has_address(device where) noexcept {
  return where.type == kDLCPU || detail::is_type_in(detail::address_types, where);
}

constexpr bool keeps_data(device where) noexcept {
  return where.type != kDLCPU && detail::is_type_in(detail::allocation_types, where);
}

constexpr bool is_host_accessible(device where) noexcept {
  return where.type == kDLCPU || detail::is_type_in(detail::host_types, where);
}

constexpr memory_kind memory_of(device where) noexcept {
  device_row const* const row = find_row(where);
  return row == nullptr ? memory_kind::device : row->memory;
}

constexpr runtime_kind runtime_of_memory(device where) noexcept {
  return detail::runtime_among(~std::uint32_t{0}, where);
}

constexpr runtime_kind runtime_of(device where) noexcept {
  return detail::runtime_among(~detail::pinned_types, where);
}

constexpr device stream_device(device where) noexcept {
  runtime_kind const runtime = runtime_of_memory(where);
  return memory_of(where) != memory_kind::pinned || runtime == runtime_kind::none
             ? where
             : device(runtime == runtime_kind::cuda ? kDLCUDA : kDLROCM, 0);
}

template <class Text>
constexpr Text& append_name(Text& text, device where) noexcept {
  for (device_row const& each : device_rows) {
    if (each.type == where.type) {
      text.append(each.name);
      return where == cpu ? text : text.append(":").append(std::int64_t{where.id});
    }
  }
  return text.append("(device type ")
      .append(std::int64_t{where.type})
      .append(", id ")
      .append(std::int64_t{where.id})
      .append(")");
}

DLBRIDGE_END_NAMESPACE
