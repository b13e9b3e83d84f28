// tensor_head: the first members of a Tensor, which functions of other modules read without a call.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// The object of every Tensor begins with these members.
struct tensor_head {
  PyObject_HEAD PyObject* weak_references;
  tensor_view view;    // the description, with the caller's readonly= applied
  kept_stream stream;  // on which the elements are ready
};

// @pre has_tensor_head of the object's type
inline tensor_view const& view_of_tensor(PyObject* object) noexcept {
  return reinterpret_cast<tensor_head const*>(object)->view;
}

// The name of the capsule by which a type states that its objects begin with a tensor_head. Modules
// of several versions meet in one process, and another version may have other members: it uses the
// exchange table.
#define DLBRIDGE_TEXT(number) #number
#define DLBRIDGE_TEXT_OF(macro) DLBRIDGE_TEXT(macro)
constexpr char const* tensor_head_name =
    "dlbridge tensor_head " DLBRIDGE_TEXT_OF(DLBRIDGE_VERSION_MAJOR) "." DLBRIDGE_TEXT_OF(
        DLBRIDGE_VERSION_MINOR) "." DLBRIDGE_TEXT_OF(DLBRIDGE_VERSION_PATCH);
#undef DLBRIDGE_TEXT_OF
#undef DLBRIDGE_TEXT

// States so of a type, whose address the capsule has: a copy of the capsule states it of no other.
// Returns false with an exception set on failure.
DLBRIDGE_COLD bool add_tensor_head(PyTypeObject* type) noexcept;
// Whether a type states so.
DLBRIDGE_COLD bool has_tensor_head(PyTypeObject* type) noexcept;

// The stream on which the elements of a Tensor of any module are ready. Returns false for another
// object, for a Tensor without a stream, and for the per-thread default stream: modules number
// threads differently, so that only the module of the Tensor knows whose stream it is.
DLBRIDGE_COLD bool read_stream_of_tensor(PyObject* object, stream_ref& out) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/tensor_head.ipp>
#endif
