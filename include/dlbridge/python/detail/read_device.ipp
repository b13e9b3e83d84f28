// The bodies of read_device.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Reads the name of a device that PyTorch names otherwise than DLPack.
inline bool read_torch_name(char const* text, device& out) noexcept {
  struct {
    char const* theirs;
    char const* ours;
  } const rows[] = {{"xpu", "oneapi"}, {"mps", "metal"}};
  for (auto const& row : rows) {
    std::size_t const length = std::strlen(row.theirs);
    if (std::strncmp(text, row.theirs, length) == 0) {
      return try_parse_device(bounded_text<48>(row.ours).append(text + length).c_str(), out);
    }
  }
  return false;
}

// Reads a dlbridge.device of any module by its numbers: the id may be negative, which no name has.
// Returns false, with or without an exception set, for other values.
inline bool read_own_device(PyObject* value, device& out) noexcept {
  if (!PyUnicode_Check(value) || PyUnicode_CheckExact(value)) {
    return false;
  }
  std::int64_t type = 0;
  std::int64_t id = 0;
  ref const code = optional_attribute(value, "code");
  ref const ordinal = code ? optional_attribute(value, "id") : ref();
  bool const is_read = ordinal && read_integer(code.get(), type) &&
                       read_integer(ordinal.get(), id) && type == static_cast<std::int32_t>(type) &&
                       id == static_cast<std::int32_t>(id);
  out = is_read ? device(static_cast<int>(type), static_cast<int>(id)) : out;
  return is_read;
}
}  // namespace detail

DLBRIDGE_API bool read_device_pair(PyObject* value, char const* name, device& out,
                                   errc code) noexcept {
  std::int64_t type = 0;
  std::int64_t id = 0;
  if (!detail::read_pair(value, type, id, true) || type != static_cast<std::int32_t>(type) ||
      id != static_cast<std::int32_t>(id)) {
    return detail::refuse_value(
        value, name, "a pair (device type, device id) of integers of 32 bits", code,
        code == errc::producer_failed ? "Its __dlpack_device__ is broken" : nullptr);
  }
  out = device(static_cast<int>(type), static_cast<int>(id));
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool read_device(PyObject* value, device& out) noexcept {
  constexpr char const* expected =
      "a device that DLPack has: a name such as 'cpu' or 'cuda:0', a pair (device type, device "
      "id), or a framework's device";
  if (PyTuple_Check(value)) {
    return read_device_pair(value, "device", out);
  }
  if (detail::read_own_device(value, out)) {
    return true;
  }
  ref platform = PyUnicode_Check(value) ? ref() : optional_attribute(value, "platform");
  if (platform && PyUnicode_Check(platform.get())) {  // jax: platform "gpu", id 0
    std::int64_t id = 0;
    ref const number = optional_attribute(value, "id");
    char const* const text = detail::text_in(platform.get());
    bounded_text<48> name(text == nullptr ? "" : std::strcmp(text, "gpu") == 0 ? "cuda" : text);
    if (number && text != nullptr && detail::read_integer(number.get(), id) &&
        try_parse_device(name.append(":").append(id).c_str(), out)) {
      return true;
    }
  }
  ref const text = PyErr_Occurred() != nullptr ? ref() : detail::text_of(value);
  char const* const name = text ? detail::text_in(text.get()) : nullptr;
  return (name != nullptr && (try_parse_device(name, out) || detail::read_torch_name(name, out))) ||
         detail::refuse_value(value, "device", expected);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
