// The bodies of any_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/python/call/any_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

DLBRIDGE_API any_argument any_argument::empty_like(dlbridge::dtype type,
                                                   dims const& extents) const {
  return allocate(origin_, type, extents, detail::require_owner(tensor_).view().device());
}

DLBRIDGE_API any_argument any_argument::empty_like(dlbridge::dtype type) const {
  tensor_view const own = detail::require_owner(tensor_).view();
  return empty_like(type, dims::from(own.shape(), static_cast<std::size_t>(own.rank())));
}

DLBRIDGE_API any_argument any_argument::empty_like() const {
  return empty_like(detail::require_owner(tensor_).view().dtype());
}

DLBRIDGE_API python::ref any_argument::give(result_choice as) && noexcept {
  return origin_.give_back(std::move(tensor_), object_.release(), as);
}

DLBRIDGE_END_NAMESPACE
