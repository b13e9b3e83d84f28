// give_container: converts a C++ container of tensors, a result, to a Python object.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Sets an item of a new list or tuple. Returns false with an exception set.
bool set_item(PyObject* sequence, Py_ssize_t i, ref item) noexcept;
}  // namespace detail

/// Converts a C++ container of tensors to a Python object: a list, a tuple, a dict, None, or one of
/// its elements. Each tensor becomes an object of the library that give_result selects.
/// @param result the container, as an rvalue: see is_container_result
/// @param first_argument the first tensor argument, or null
/// @param as as of give_result
/// @param object the object whose memory each member_view refers to, or null
/// @return the object, or an empty ref with a Python exception set
/// @throws error if the memory of a view is described wrongly
/// @pre The caller holds the GIL.
template <class Container>
ref give_container(Container&& result, PyObject* first_argument, result_choice as,
                   PyObject* object = nullptr);
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/container_result.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/container_result.ipp>
#endif
