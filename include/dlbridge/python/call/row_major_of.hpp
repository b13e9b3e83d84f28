// row_major_of<P>: a tensor parameter of any dtype whose tensor is row-major, by a copy of others.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/parameter.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// A parameter of type P whose tensor is compact, with the last dimension fastest: one in another
/// layout is copied to a new row-major host tensor, with flag_is_copied, if the CPU can access its
/// memory. The function uses it as a P. What it writes to a copy is lost.
/// @tparam P any_tensor, any_argument or managed_tensor
/// @par Lifetime
/// As P.
template <class P>
class row_major_of : public P {
  static_assert(std::is_base_of_v<python::detail::untyped_parameter, python::parameter<P>> &&
                    !python::parameter<P>::optional,
                "dlbridge: row_major_of is of any_tensor, any_argument or managed_tensor. Write "
                "convert<T, shape<...>, row_major> for one dtype");

 public:
  row_major_of(P parameter) noexcept : P(std::move(parameter)) {}
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/row_major_of.inl>
