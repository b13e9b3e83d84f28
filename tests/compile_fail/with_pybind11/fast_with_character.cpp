// SPDX-License-Identifier: BSD-3-Clause
// def_fast converts numbers only, so that a char would be an integer there and text with def.
// lines: 80
// says: def_fast converts no text of one character
#include <dlbridge/pybind11.hpp>

#include <cstdint>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "next", [](char c) { return c + 1; });
#else
  dlbridge::def_fast(m, "next", [](std::int8_t c) { return c + 1; });
  dlbridge::def(m, "next_character", [](char c) { return static_cast<char>(c + 1); });
#endif
}
