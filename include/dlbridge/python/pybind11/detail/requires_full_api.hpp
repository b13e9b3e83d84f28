// Refuses Py_LIMITED_API, before the errors of pybind11's own headers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(Py_LIMITED_API)
#error \
    "dlbridge: pybind11 requires the full API of CPython, so that <dlbridge/pybind11.hpp> cannot be \
compiled with Py_LIMITED_API. For one binary for every CPython, use <dlbridge/nanobind.hpp>, \
<dlbridge/python.hpp> or Cython. With pybind11, build a wheel for each version of CPython."
#endif
