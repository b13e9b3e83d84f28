// The inline bodies of objects.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/nanobind/objects.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class P>
P cast(::nanobind::handle object, char const* name) {
  return python::on_nanobind::throwing_pending([&] { return python::cast<P>(object.ptr(), name); });
}

template <class Tensor>
::nanobind::object to_python(Tensor&& tensor, result_choice as) {
  python::ref object = python::give_result(std::forward<Tensor>(tensor), nullptr, as);
  if (!object) {
    python::on_nanobind::throw_pending();
  }
  return ::nanobind::steal(object.release());
}

namespace python::on_nanobind {
template <class Tensor>
nb::object item_of(Tensor&& value, nb::handle owner, result_choice as) {
  ref item;
  if constexpr (std::is_same_v<std::decay_t<Tensor>, member_view>) {
    item = throwing_pending([&] { return give_view(value, owner.ptr(), nullptr, as); });
  } else {
    item = python::give_result(std::forward<Tensor>(value), nullptr, as);
  }
  if (!item) {
    throw_pending();
  }
  return nb::steal(item.release());
}
}  // namespace python::on_nanobind

template <class At>
::nanobind::typed<::nanobind::iterator, ::nanobind::any> make_iterator(::nanobind::object owner,
                                                                       std::size_t count, At at,
                                                                       result_choice as) {
  // The class of nanobind::make_iterator would belong to no module, of which CPython from 3.12 on
  // warns, and nanobind ends the process if warnings are errors.
  ::nanobind::handle const map(reinterpret_cast<PyObject*>(&PyMap_Type));
  ::nanobind::handle const range(reinterpret_cast<PyObject*>(&PyRange_Type));
  ::nanobind::object const item = ::nanobind::cpp_function([owner, count, at, as](std::size_t i) {
    if (i >= count) {  // threads that share the iterator may pass its end
      throw ::nanobind::stop_iteration();
    }
    return python::on_nanobind::item_of(at(i), owner, as);
  });
  return ::nanobind::borrow<::nanobind::iterator>(map(item, range(count)));
}

DLBRIDGE_END_NAMESPACE
