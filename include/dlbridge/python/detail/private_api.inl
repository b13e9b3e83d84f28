// Selects the implementation of private_api.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/detail/private_api.hpp>

#if defined(Py_LIMITED_API)
#include <dlbridge/python/detail/limited_api.inl>
#else
#include <dlbridge/python/detail/full_api.inl>
#endif
