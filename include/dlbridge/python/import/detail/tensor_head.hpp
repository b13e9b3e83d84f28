// tensor_head: the first members of a Tensor, which functions of other modules read without a call.
// layer: import · the fields of a Tensor
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
/// The object of every Tensor begins with these members.
struct tensor_head {
  PyObject_HEAD PyObject* weak_references;
  tensor_view view;  // the description, with the caller's readonly= applied
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
DLBRIDGE_COLD inline bool add_tensor_head(PyTypeObject* type) noexcept {
  ref const capsule = ref::steal(api<PyCapsule_New>(type, tensor_head_name, nullptr));
  return capsule && api<PyObject_SetAttr>(reinterpret_cast<PyObject*>(type),
                                          names::get().tensor_head, capsule.get()) == 0;
}
// Whether a type states so.
DLBRIDGE_COLD inline bool has_tensor_head(PyTypeObject* type) noexcept {
  ref const capsule = type_attribute(type, names::get().tensor_head);
  return capsule && PyCapsule_IsValid(capsule.get(), tensor_head_name) != 0 &&
         api<PyCapsule_GetPointer>(capsule.get(), tensor_head_name) == type;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
