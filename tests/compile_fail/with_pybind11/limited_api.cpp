// SPDX-License-Identifier: BSD-3-Clause
// pybind11 has no limited API. The message precedes the errors of its headers.
// says: pybind11 requires the full API of CPython
#include <dlbridge/abi.hpp>

#ifdef WRONG
#define Py_LIMITED_API 0x030B0000
#endif
#include <dlbridge/pybind11.hpp>
