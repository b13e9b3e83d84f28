// cast<P>: imports the tensor of any Python object, for functions that no binding library binds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/tensor_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Imports the tensor of a Python object in a function that is written in Cython or against the C
/// API: cast<argument<float const>>(object, "x", "mean").
/// @tparam P an owning parameter type: tensor, argument, any_tensor, managed_tensor, an optional of
/// these, which is empty for None, or a container of these that def converts
/// @param object the object
/// @param name what messages call the object, or null
/// @param function the name of the function, with which messages begin, or null
/// @param convert whether a parameter that converts, such as argument<convert<float>>, may do so
/// @return the tensor, which keeps its memory alive
/// @throws python_error that owns a TypeError when the tensor does not fit, with the same text as
/// the refusal of an argument; or the producer's exception when that is no refusal, such as
/// KeyboardInterrupt
/// @pre The caller holds the GIL.
template <class P>
P cast(PyObject* object, char const* name = nullptr, char const* function = nullptr,
       bool convert = true);
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/cast.inl>
