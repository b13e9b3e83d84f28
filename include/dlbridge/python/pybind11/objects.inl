// The inline bodies of objects.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/pybind11/objects.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class P>
P cast(pybind11::handle object, char const* name) {
  return python::on_pybind11::throwing_pending([&] { return python::cast<P>(object.ptr(), name); });
}

template <class Tensor>
pybind11::object to_python(Tensor&& tensor, result_choice as) {
  return python::on_pybind11::checked(
      python::give_result(std::forward<Tensor>(tensor), nullptr, as));
}

namespace python::on_pybind11 {
template <class Tensor>
py::object item_of(Tensor&& value, py::handle owner, result_choice as) {
  if constexpr (std::is_same_v<std::decay_t<Tensor>, member_view>) {
    return checked(give_view(value, owner.ptr(), nullptr, as));
  } else {
    return checked(python::give_result(std::forward<Tensor>(value), nullptr, as));
  }
}
}  // namespace python::on_pybind11

template <class At>
tensor_iterator make_iterator(pybind11::object owner, std::size_t count, At at, result_choice as) {
  // Not pybind11::make_iterator: its state is not protected where several threads use one iterator
  // without the GIL, and two threads that use it first register its class twice.
  pybind11::handle const map(reinterpret_cast<PyObject*>(&PyMap_Type));
  pybind11::handle const range(reinterpret_cast<PyObject*>(&PyRange_Type));
  pybind11::cpp_function const item([owner, count, at, as](std::size_t i) {
    if (i >= count) {  // threads that share the iterator may pass its end
      throw pybind11::stop_iteration();
    }
    return python::on_pybind11::item_of(at(i), owner, as);
  });
  return tensor_iterator(map(item, range(count)));
}

DLBRIDGE_END_NAMESPACE
