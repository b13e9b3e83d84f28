// cast, make_iterator: import tensors of any Python object, and iterate over tensors in Python.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>

#include <dlbridge/python/call/cast.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Imports the tensor of any Python object: an element of nb::args, nb::kwargs, a list, an
/// attribute: cast<tensor<float const>>(kwargs["x"], "x").
/// @tparam P an owning parameter type: tensor, argument, any_tensor, managed_tensor, an optional of
/// these, which is empty for None, or a container of these that def converts
/// @param object the object
/// @param name what messages call the object, or null
/// @return the tensor, which keeps its memory alive
/// @throws nanobind::python_error TypeError when the tensor does not fit, with the same text as the
/// refusal of an argument; the producer's exception when that is no refusal, such as
/// KeyboardInterrupt
/// @pre The caller holds the GIL.
template <class P>
P cast(::nanobind::handle object, char const* name = nullptr);

/// Converts a tensor to a Python object for an attribute, an element of a dict, an argument of a
/// Python function or of an exception: to_python(build(table), library::numpy).
/// @param tensor an owning tensor, as an rvalue, or an empty optional for None
/// @param as the library; without it, that of the call whose C++ function runs, the one that init
/// states, or dlbridge, as a Tensor
/// @return the object
/// @throws nanobind::python_error with the exception of the library, such as ImportError
/// @par Ownership
/// Takes the tensor, and frees it on failure.
/// @pre The caller holds the GIL.
template <class Tensor>
::nanobind::object to_python(Tensor&& tensor, result_choice as = {});

namespace python::on_nanobind {
// An item of an iterator over the tensors of an object.
template <class Tensor>
nb::object item_of(Tensor&& value, nb::handle owner, result_choice as);
}  // namespace python::on_nanobind

/// Makes a Python iterator over the tensors at(0), at(1), ..., at(count - 1), for `__iter__`.
/// @param owner the Python object whose memory the tensors are. The iterator keeps it alive
/// @param count the number of tensors
/// @param at a copyable function of an index that returns a member_view of the owner's memory, or
/// an owning tensor. The iterator calls it once for each item
/// @param as the library of the items; without it they are Tensors
/// @return the iterator, which signatures state as Iterator[Any]
/// @par Thread and GIL
/// The caller holds the GIL, and so does every call of at.
template <class At>
::nanobind::typed<::nanobind::iterator, ::nanobind::any> make_iterator(::nanobind::object owner,
                                                                       std::size_t count, At at,
                                                                       result_choice as = {});

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/objects.inl>
