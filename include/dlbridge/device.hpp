// device: identifies the memory space of a tensor; device_rows lists the device types with their
// kind of memory and their runtime.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// A memory space (spec 1.3).
struct device {
  std::int32_t type = kDLCPU;  ///< The device type: a row of device_rows.
  std::int32_t id = 0;  ///< The ordinal in the numbering of the producer; libraries may differ.

  constexpr device() noexcept = default;                                   ///< The CPU.
  constexpr device(int type_, int id_) noexcept : type(type_), id(id_) {}  ///< A type, an ordinal.
  /// Converts the struct of dlpack.h; abi() converts back.
  explicit constexpr device(DLDevice abi) noexcept : type(abi.device_type), id(abi.device_id) {}
  /// Its struct.
  constexpr DLDevice abi() const noexcept { return {static_cast<DLDeviceType>(type), id}; }

  /// Whether type and ordinal are equal.
  friend constexpr bool operator==(device a, device b) noexcept {
    return a.type == b.type && a.id == b.id;
  }
  friend constexpr bool operator!=(device a, device b) noexcept { return !(a == b); }  ///< Not ==.
};

/// The CPU.
DLBRIDGE_LOCAL inline constexpr device cpu{kDLCPU, 0};

/// What DLTensor::data is (spec 1.6). dlbridge adds byte_offset to addresses only.
enum class data_kind : std::uint8_t {
  address,     ///< An address.
  allocation,  ///< An address by which consumers look up the allocation, at data itself (spec 4.8).
  handle       ///< An opaque handle. Also where no documentation of the device type defines data.
};

/// A device runtime. The headers in runtime/ load its library on first use.
enum class runtime_kind : std::uint8_t { none, cuda, hip };

/// Which processors can access the memory.
enum class memory_kind : std::uint8_t {
  host,     ///< The CPU.
  pinned,   ///< The CPU and the devices of a runtime; the memory stays in host memory.
  managed,  ///< The CPU and the devices of a runtime; the memory migrates between them.
  device    ///< The device only.
};

/// A row of device_rows.
struct device_row {
  std::int32_t type;     ///< The value of DLDeviceType.
  char const* name;      ///< The name in messages and in arguments.
  data_kind data;        ///< What DLTensor::data is.
  memory_kind memory;    ///< Which processors can access the memory.
  runtime_kind runtime;  ///< The runtime that allocates and copies the memory.

  /// Whether the CPU can access the memory.
  constexpr bool host_accessible() const noexcept { return memory != memory_kind::device; }
};
/// One row for each device type.
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
    {14, "oneapi", data_kind::allocation, memory_kind::device, runtime_kind::none},
    {15, "webgpu", data_kind::handle, memory_kind::device, runtime_kind::none},
    {16, "hexagon", data_kind::handle, memory_kind::device, runtime_kind::none},
    {17, "maia", data_kind::handle, memory_kind::device, runtime_kind::none},
    {18, "trn", data_kind::handle, memory_kind::device, runtime_kind::none},
    {19, "tpu", data_kind::handle, memory_kind::device, runtime_kind::none},
    {20, "tpu_host", data_kind::address, memory_kind::pinned, runtime_kind::none},
    {21, "ascend", data_kind::handle, memory_kind::device, runtime_kind::none},
};

/// The row of a device type, or null if the type is unknown.
constexpr device_row const* find_row(device where) noexcept;

/// Whether device_rows has the device type.
constexpr bool is_known(device where) noexcept { return find_row(where) != nullptr; }
/// Whether DLTensor::data is an address on the device.
constexpr bool has_address(device where) noexcept;
/// Whether dlbridge exports DLTensor::data and byte_offset as the producer wrote them, also of an
/// empty tensor: consumers look up the allocation at data (spec 4.8).
constexpr bool keeps_data(device where) noexcept;
/// Whether the CPU can read and write the memory.
constexpr bool is_host_accessible(device where) noexcept;
/// The kind of memory of a device; memory_kind::device if the type is unknown.
constexpr memory_kind memory_of(device where) noexcept;
/// The runtime that allocates and copies memory of a device.
constexpr runtime_kind runtime_of_memory(device where) noexcept;
/// The runtime whose streams order work on a device; none if DLPack defines no streams for it.
/// Pinned memory has none, because DLPack treats it as host memory (spec 4.4).
constexpr runtime_kind runtime_of(device where) noexcept;

/// The device whose streams can work on the memory of a device: itself, or for pinned memory device
/// 0 of its runtime. The handles of streams other than the default ones identify their device.
constexpr device stream_device(device where) noexcept;

/// The text that name_of returns.
using device_text = bounded_text<48>;

/// Appends the name of a device: "cpu", "cuda:0" or "oneapi:1". For an unknown type it appends the
/// numbers: "(device type 99, id 0)".
template <class Text>
constexpr Text& append_name(Text& text, device where) noexcept;
/// The name of a device, as append_name writes it.
DLBRIDGE_COLD device_text name_of(device where) noexcept;

/// Parses the name of a device, where "cuda" means "cuda:0"; the inverse of name_of for ordinals
/// that are not negative.
/// @param name A null-terminated name such as "cuda:1".
/// @param[out] out The device; unchanged if the name is not valid.
/// @return Whether the name is valid.
bool try_parse_device(char const* name, device& out) noexcept;

DLBRIDGE_END_NAMESPACE

#include <dlbridge/device.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/device.ipp>
#endif
