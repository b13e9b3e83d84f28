// The bodies of python/pybind11/, which units with DLBRIDGE_COMPILED link. Each extension compiles
// this file with its own options, and without pybind11 to nothing.
// SPDX-License-Identifier: BSD-3-Clause
#if !defined(DLBRIDGE_COMPILED)
#define DLBRIDGE_COMPILED
#endif

#if __has_include(<pybind11/pybind11.h>) && !defined(Py_LIMITED_API)
#include <dlbridge/python/pybind11/detail/bind.ipp>
#include <dlbridge/python/pybind11/detail/private_names.ipp>
#include <dlbridge/python/pybind11/detail/python_function.ipp>
#include <dlbridge/python/pybind11/errors.ipp>
#endif
