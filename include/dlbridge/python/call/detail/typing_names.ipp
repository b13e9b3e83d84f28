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
// typing adds, which stub generators would take for members of the protocols; the base class has
// them.
constexpr char const* typing_source = R"(
import typing
class SupportsDLPack(typing.Protocol):
    "An array of any library that supports DLPack, such as NumPy, PyTorch and JAX."
    def __dlpack__(self) -> typing.Any: ...
class SupportsArray(typing.Protocol):
    "An object that NumPy converts, such as a column of pandas or an array of h5py."
    def __array__(self) -> typing.Any: ...
class SupportsArrowArray(typing.Protocol):
    "An array of Arrow, such as one of pyarrow."
    def __arrow_c_array__(self) -> typing.Any: ...
class SupportsArrowStream(typing.Protocol):
    "A column of Arrow, such as one of polars or DuckDB."
    def __arrow_c_stream__(self) -> typing.Any: ...
classes = SupportsDLPack, SupportsArray, SupportsArrowArray, SupportsArrowStream
own = "__module__", "__doc__", "__dict__", "__weakref__"
methods = "__dlpack__", "__array__", "__arrow_c_array__", "__arrow_c_stream__"
for each in classes:
    for name in set(vars(each)).difference(own + methods):
        delattr(each, name)
def add(module):
    for each in classes:
        if not hasattr(module, each.__name__):
            setattr(module, each.__name__, each)
)";

// Runs the source in a namespace with the name of the module, and returns its function `add`.
inline ref make_adder(PyObject* module) noexcept {
  ref const name = ref::steal(api<PyModule_GetNameObject>(module));
  ref const space = name ? ref::steal(api<PyDict_New>()) : ref();
  if (!space || api<PyDict_SetItemString>(space.get(), "__name__", name.get()) != 0 ||
      !ref::steal(api<detail::run_source>(typing_source, space.get()))) {
    return ref();
  }
  return ref::borrow(api<PyDict_GetItemString>(space.get(), "add"));
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool add_typing_names(PyObject* scope) noexcept {
  static lazy_object adder;
  ref module = PyModule_Check(scope) ? ref::borrow(scope) : ref();
  if (!module) {
    ref const of = optional_attribute(scope, names::get().module);
    module = of ? ref::steal(api<PyImport_GetModule>(of.get())) : ref();
  }
  if (!module || PyErr_Occurred() != nullptr) {
    return PyErr_Occurred() == nullptr;
  }
  if (ref const existing = optional_attribute(module.get(), "SupportsDLPack");
      existing || PyErr_Occurred() != nullptr) {
    return static_cast<bool>(existing);
  }
  PyObject* const add = adder.get([&]() noexcept { return make_adder(module.get()); });
  return add != nullptr && ref::steal(api<PyObject_CallFunctionObjArgs>(
                               add, module.get(), static_cast<PyObject*>(nullptr)));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
