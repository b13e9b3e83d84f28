// The value type device and the one table of device types: name, address or handle, who may touch
// the memory, whose streams order it.
// layer: values · where the elements live
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Kind of memory space, and the producer's ordinal in it (spec 1.3). Ordinals of two libraries
/// need not agree.
struct device {
  std::int32_t type = kDLCPU;
  std::int32_t id = 0;

  constexpr device() noexcept = default;
  constexpr device(int type_, int id_) noexcept : type(type_), id(id_) {}
  explicit constexpr device(DLDevice abi) noexcept : type(abi.device_type), id(abi.device_id) {}
  constexpr DLDevice abi() const noexcept { return {static_cast<DLDeviceType>(type), id}; }

  friend constexpr bool operator==(device a, device b) noexcept {
    return a.type == b.type && a.id == b.id;
  }
  friend constexpr bool operator!=(device a, device b) noexcept { return !(a == b); }
};

constexpr device cpu{kDLCPU, 0};

/// What DLTensor::data is: an address that may be added to, or an opaque handle (spec 1.6). Where
/// nothing is documented we take it for a handle, which is never folded, never dereferenced.
enum class data_kind : std::uint8_t { address, handle };

/// A device runtime that is loaded when it is first needed.
enum class runtime_kind : std::uint8_t { none, cuda, hip };

/// Who can reach the memory: the CPU (host), the CPU and the devices of a runtime (pinned: it stays
/// in host memory; managed: it migrates), or the device alone.
enum class memory_kind : std::uint8_t { host, pinned, managed, device };

/// One row for each device type. runtime is the one that allocates and copies the memory; the
/// streams of that runtime order work on it unless the memory is pinned (runtime_of).
struct device_row {
  std::int32_t type;
  char const* name;
  data_kind data;
  memory_kind memory;
  runtime_kind runtime;

  constexpr bool host_accessible() const noexcept { return memory != memory_kind::device; }
};
DLBRIDGE_LOCAL inline constexpr device_row device_rows[] = {
    {1, "cpu", data_kind::address, memory_kind::host, runtime_kind::none},
    {2, "cuda", data_kind::address, memory_kind::device, runtime_kind::cuda},
    {3, "cuda_host", data_kind::address, memory_kind::pinned, runtime_kind::cuda},
    {4, "opencl", data_kind::handle, memory_kind::device, runtime_kind::none},
    {7, "vulkan", data_kind::handle, memory_kind::device, runtime_kind::none},
    {8, "metal", data_kind::handle, memory_kind::device, runtime_kind::none},
    {9, "vpi", data_kind::handle, memory_kind::device, runtime_kind::none},
    {10, "rocm", data_kind::address, memory_kind::device, runtime_kind::hip},
    {11, "rocm_host", data_kind::address, memory_kind::pinned, runtime_kind::hip},
    {12, "ext_dev", data_kind::handle, memory_kind::device, runtime_kind::none},
    {13, "cuda_managed", data_kind::address, memory_kind::managed, runtime_kind::cuda},
    {14, "oneapi", data_kind::address, memory_kind::device, runtime_kind::none},
    {15, "webgpu", data_kind::handle, memory_kind::device, runtime_kind::none},
    {16, "hexagon", data_kind::handle, memory_kind::device, runtime_kind::none},
    {17, "maia", data_kind::handle, memory_kind::device, runtime_kind::none},
    {18, "trn", data_kind::handle, memory_kind::device, runtime_kind::none},
    {19, "tpu", data_kind::handle, memory_kind::device, runtime_kind::none},
    {20, "tpu_host", data_kind::address, memory_kind::pinned, runtime_kind::none},
    {21, "ascend", data_kind::handle, memory_kind::device, runtime_kind::none},
};

/// The row of a device type, or null for a type that is not known.
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

constexpr bool is_known(device where) noexcept { return find_row(where) != nullptr; }
constexpr bool has_address(device where) noexcept {
  device_row const* const row = find_row(where);
  return row != nullptr && row->data == data_kind::address;
}
constexpr bool is_host_accessible(device where) noexcept {
  device_row const* const row = find_row(where);
  return row != nullptr && row->host_accessible();
}
/// The kind of memory of a device; device for a type that is not known.
constexpr memory_kind memory_of(device where) noexcept {
  device_row const* const row = find_row(where);
  return row == nullptr ? memory_kind::device : row->memory;
}
/// The runtime that allocates and copies memory of a device.
constexpr runtime_kind runtime_of_memory(device where) noexcept {
  device_row const* const row = find_row(where);
  return row == nullptr ? runtime_kind::none : row->runtime;
}
/// The runtime whose streams order work on a device; none where the protocol knows no stream.
/// Pinned memory is the CPU's, which has no streams (spec 4.4).
constexpr runtime_kind runtime_of(device where) noexcept {
  device_row const* const row = find_row(where);
  return row == nullptr || row->memory == memory_kind::pinned ? runtime_kind::none : row->runtime;
}

using device_text = bounded_text<48>;

/// Appends "cpu", "cuda:0", "oneapi:1"; the ordinal is left out for the CPU's one device. A type
/// that is not known shows its numbers: "(device type 99, id 0)".
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
DLBRIDGE_COLD inline device_text name_of(device where) noexcept {
  device_text text;
  return append_name(text, where);
}

/// The device that a name stands for, "cuda" meaning "cuda:0"; the inverse of name_of for ordinals
/// from 0. False, and nothing written, when there is none.
inline bool try_parse_device(char const* name, device& out) noexcept {
  char const* const colon = std::strchr(name, ':');
  std::size_t const length =
      colon != nullptr ? static_cast<std::size_t>(colon - name) : std::strlen(name);
  std::int64_t id = 0;
  if (colon != nullptr) {
    char const* digit = colon + 1;
    for (; *digit >= '0' && *digit <= '9' && id <= INT32_MAX; ++digit) {
      id = id * 10 + (*digit - '0');
    }
    if (*digit != '\0' || digit == colon + 1 || id > INT32_MAX) {
      return false;
    }
  }
  for (device_row const& each : device_rows) {
    if (std::strlen(each.name) == length && std::strncmp(each.name, name, length) == 0) {
      out = device(each.type, static_cast<std::int32_t>(id));
      return true;
    }
  }
  return false;
}

static_assert(kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3 && kDLOpenCL == 4 && kDLVulkan == 7 &&
              kDLMetal == 8 && kDLVPI == 9 && kDLROCM == 10 && kDLROCMHost == 11 &&
              kDLExtDev == 12 && kDLCUDAManaged == 13 && kDLOneAPI == 14 && kDLWebGPU == 15 &&
              kDLHexagon == 16 && kDLMAIA == 17);
#if DLBRIDGE_DLPACK_AT_LEAST(2)
static_assert(kDLTrn == 18);
#endif

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
