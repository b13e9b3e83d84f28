// read_integer, read_pair, text_in, read_version, read_copy: read integers, texts and simple
// keywords that Python callers pass.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/error.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/version.hpp>

// Every read_* function returns false, with ValueError set, for a value that it does not accept.
// TypeError is never set: a consumer would treat it as the sign of an old producer (spec 2.4). The
// caller holds the GIL.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_COLD bool refuse_value(PyObject* value, char const* name, char const* expected,
                                errc code = errc::bad_argument,
                                char const* advice = nullptr) noexcept;

// An object with __index__, or with __int__, such as a handle of cuda-python. Returns false, with
// or without an exception set, for others, such as bytes, whose digits PyNumber_Long would read.
bool read_integer(PyObject* value, std::int64_t& out) noexcept;

// A pair of integers, the first of which may be a member of an Enum. With may_lack_second, None as
// the second is read as 0.
bool read_pair(PyObject* value, std::int64_t& first, std::int64_t& second,
               bool may_lack_second = false) noexcept;

// The characters of a str; null, with or without an exception set, for other objects and for a str
// without a UTF-8 form or with a null character inside.
char const* text_in(PyObject* value) noexcept;

// Whether a str has these characters, which are UTF-8.
bool is_text(PyObject* text, char const* characters) noexcept;

// A str itself, also one of a subclass, whose __str__ may return another text; the str() of other
// objects. Empty with an exception set.
ref text_of(PyObject* value) noexcept;
}  // namespace detail

/// Whether an object is a sequence with a length, in contrast to a number, a text and bytes. An
/// array of NumPy is sequence and number by its type.
/// @return false, with an exception set, if its length raises one that is not suppressible.
bool is_sized_sequence(PyObject* value) noexcept;

/// Reads max_version: a pair of integers from 0.
/// @return false, with ValueError set, for any other value.
bool read_version(PyObject* value, version& out) noexcept;

/// Reads copy: the objects True, False and None; no other object counts as one of them.
/// @return false, with ValueError set, for any other value.
bool read_copy(PyObject* value, copy_policy& out) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/read_values.ipp>
#endif
