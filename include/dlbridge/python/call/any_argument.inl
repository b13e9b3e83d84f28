// The inline bodies of any_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

inline any_argument any_argument::allocate(python::origin const& from, dlbridge::dtype type,
                                           dims const& extents, dlbridge::device where) {
  python::gil_hold const gil;
  python::ref object;
  managed_tensor memory = from.allocate(type, extents, where, object);
  if (!memory) {
    throw python::python_error();
  }
  return any_argument(std::move(memory), from, std::move(object));
}

DLBRIDGE_END_NAMESPACE
