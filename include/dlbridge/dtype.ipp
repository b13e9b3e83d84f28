// The bodies of dtype.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API dtype_text name_of(dtype t) noexcept {
  dtype_text text;
  append_name(text, t);
  return text;
}

DLBRIDGE_API bool try_parse_dtype(char const* name, dtype& out) noexcept {
  std::size_t longest = 0;  // "float8_e4m3fn" begins with "float8_e4m3" and with "float"
  int code = -1;
  for (dtype_row const& each : dtype_rows) {
    std::size_t const length = std::strlen(each.name);
    if (length > longest && std::strncmp(name, each.name, length) == 0) {
      longest = length;
      code = each.code;
    }
  }
  if (code < 0) {
    return false;
  }
  char const* rest = name + longest;
  auto number = [&rest](unsigned limit, unsigned& value) {
    char const* const first = rest;
    for (value = 0; *rest >= '0' && *rest <= '9' && value <= limit; ++rest) {
      value = value * 10 + static_cast<unsigned>(*rest - '0');
    }
    return rest != first && *first != '0' && value <= limit;
  };
  bool const is_bare_bool = code == 6 && (*rest == '\0' || *rest == 'x');
  unsigned bits = is_bare_bool ? 8 : static_cast<unsigned>(dtype_rows[code].fixed_bits);
  unsigned lanes = 1;
  if (bits == 0 && !number(255, bits)) {
    return false;
  }
  bool const is_of_torch = dtype_rows[code].fixed_bits != 0 && rest[0] == '_' && rest[1] == 'x';
  rest += is_of_torch ? 1 : 0;
  if (*rest == 'x') {
    ++rest;
    if (!number(65535, lanes)) {
      return false;
    }
  }
  if (*rest != '\0') {
    return false;
  }
  out = dtype(code, static_cast<int>(bits), static_cast<int>(lanes));
  return true;
}

DLBRIDGE_END_NAMESPACE
