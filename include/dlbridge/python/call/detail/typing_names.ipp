// The bodies of typing_names.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
// The stub of jax.Array states no more than this of DLPack. Without the attributes that Python's
// typing adds, which stub generators would take for members of the protocol; the base class has
// them.
constexpr char const* typing_source = R"(
import typing
class SupportsDLPack(typing.Protocol):
    "An array of any library that supports DLPack, such as NumPy, PyTorch and JAX."
    def __dlpack__(self) -> typing.Any: ...
own = "__module__", "__doc__", "__dict__", "__weakref__", "__dlpack__"
for name in set(vars(SupportsDLPack)).difference(own):
    delattr(SupportsDLPack, name)
)";

// Runs the source in a namespace with the name of the module.
inline ref make_typing_class(PyObject* module) noexcept {
  ref const name = ref::steal(api<PyModule_GetNameObject>(module));
  ref const space = name ? ref::steal(api<PyDict_New>()) : ref();
  if (!space || api<PyDict_SetItemString>(space.get(), "__name__", name.get()) != 0 ||
      !ref::steal(api<PyRun_String>(typing_source, Py_file_input, space.get(), space.get()))) {
    return ref();
  }
  return ref::borrow(api<PyDict_GetItemString>(space.get(), "SupportsDLPack"));
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool add_typing_names(PyObject* scope) noexcept {
  constexpr char const* name = "SupportsDLPack";
  static lazy_object type;
  ref module = PyModule_Check(scope) ? ref::borrow(scope) : ref();
  if (!module) {
    ref const of = optional_attribute(scope, names::get().module);
    module = of ? ref::steal(api<PyImport_GetModule>(of.get())) : ref();
  }
  if (!module || PyErr_Occurred() != nullptr) {
    return PyErr_Occurred() == nullptr;
  }
  if (ref const existing = optional_attribute(module.get(), name);
      existing || PyErr_Occurred() != nullptr) {
    return static_cast<bool>(existing);
  }
  PyObject* const found = type.get([&]() noexcept { return make_typing_class(module.get()); });
  return found != nullptr && api<PyObject_SetAttrString>(module.get(), name, found) == 0;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
