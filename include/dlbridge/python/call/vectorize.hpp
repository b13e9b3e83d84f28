// vectorize: makes of a function of numbers one of arrays, which dlbridge::def binds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Makes a function object that calls a function for each element of its operands, for
/// def(m, "f", vectorize([](double x, double y) { ... })).
///
/// Operands are the parameters of an arithmetic type T, of a std::complex, or of a number of 16 or
/// 8 bits, by value or by reference to const. Each accepts what or_other<convert<T>> accepts in
/// host memory; to bool and integers it converts by_value. Others are passed on as they are.
///
/// Operands broadcast by the rules of NumPy. Only one whose dtype is not T is copied. Operands
/// without dimensions give one number: of Python, if Python has the type. Others give a new array
/// in host memory, in the order of the dimensions of the first compact operand with all extents, or
/// row-major: of the library that `returns` names, or that of the first operand that is an array. A
/// function that returns nothing gives None.
/// @param function a function, a function object, which may change itself, or a pointer to a member
/// function, whose object is the first parameter
/// @return the function object. Its call throws error extent_mismatch, when the operands do not
/// broadcast; overflow or out_of_memory, when no array has the result; and what function throws
/// @par Thread and GIL
/// A call holds the GIL while it calls function, unless a call_guard of def releases it.
template <class F>
auto vectorize(F function);

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/vectorize.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/vectorize.ipp>
#endif
