// The bodies of cuda.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API cuda_table::cuda_table(driver_source const& source) noexcept
    : driver_source(source) {}

DLBRIDGE_API char const* cuda_table::error_name(driver_result result) const noexcept {
  char const* text = nullptr;
  return get_error_name && get_error_name(result, &text) == driver_success ? text : nullptr;
}

DLBRIDGE_API char const* cuda_table::error_text(driver_result result) const noexcept {
  char const* text = nullptr;
  return get_error_string && get_error_string(result, &text) == driver_success ? text : nullptr;
}

namespace detail {
DLBRIDGE_API loaded_driver<cuda_table> const& cuda_driver() noexcept {
#if defined(_WIN32)
  static constexpr char const* files[] = {"nvcuda.dll"};
#else
  static constexpr char const* files[] = {"libcuda.so.1", "libcuda.so"};
#endif
  static constexpr library_names names{
      "libcuda.so", files, sizeof files / sizeof files[0],
      "Install NVIDIA's driver, or use memory that the CPU can access"};
  return find_driver<cuda_table>(names);
}
}  // namespace detail

DLBRIDGE_API cuda_table const* cuda() noexcept {
  auto const& driver = detail::cuda_driver();
  return driver.status.ok() ? &driver.table : nullptr;
}

DLBRIDGE_API bool try_locate(cuda_table const& driver, void const* address, device& out) noexcept {
  auto const query = [&](auto* value, int attribute) {
    return succeeds(driver, driver.pointer_get_attribute, value, attribute, address);
  };
  constexpr unsigned type_host = 1;
  unsigned type = 0;
  if (!query(&type, detail::attribute_memory_type)) {
    return false;
  }
  unsigned is_managed = 0;
  int ordinal = 0;
  if (query(&is_managed, detail::attribute_is_managed) && is_managed != 0) {
    out = device(kDLCUDAManaged, 0);
  } else if (type == type_host) {
    out = device(kDLCUDAHost, 0);
  } else if (query(&ordinal, detail::attribute_device_ordinal)) {
    out = device(kDLCUDA, ordinal);
  } else {
    return false;
  }
  return true;
}

DLBRIDGE_END_NAMESPACE
