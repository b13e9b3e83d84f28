// set_no_producer: the refusal of an object that has no __dlpack__, and what to pass in its place.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/import/import_request.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Whether an object is a list, a tuple or a range, which may hold numbers.
bool is_list(PyObject* object) noexcept;

// Whether a dtype is one of NumPy's numbers. An exception may be set if not.
bool is_numpy_number(PyObject* dtype) noexcept;

// Whether numpy.asarray() makes an array of numbers of an object, as far as that can be told
// without a conversion: of a list by its first item, of a sequence and of an object with __array__
// by its dtype, unless it is sparse, and of one with __array_interface__. An exception may be set
// if not.
DLBRIDGE_COLD bool is_array_like(PyObject* object) noexcept;

constexpr char const* remedy_of_array_like = "Pass numpy.asarray() of it";

// What to pass in place of an object that is no producer, null if that is not known. An exception
// may be set.
DLBRIDGE_COLD char const* remedy_for_object(PyObject* object) noexcept;

// Whether an object has no __dlpack__. A value of None states that it does not support DLPack. May
// return true with an exception of the lookup set.
bool lacks_dlpack(PyObject* object) noexcept;

// Raises not_a_producer, or what a lookup of an attribute raised.
// @param is_class whether the object is a class whose objects are producers
// @param remedy states what to pass instead; null for remedy_for_object
// @param others what the caller accepts beside producers, such as ", or a buffer"
void set_no_producer(PyObject* object, bool is_class, remedy_function* remedy,
                     char const* others = "") noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/no_producer.ipp>
#endif
