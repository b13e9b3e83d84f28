// SPDX-License-Identifier: BSD-3-Clause
// The classes of visible.hpp, with buffers and with an __array__ of their author.
#include <dlbridge/nanobind.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "visible.hpp"

namespace nb = nanobind;

void add_visible(nb::module_& parent);

namespace {
template <class T, class... Tags>
nb::class_<T> bind(nb::module_& m, char const* name, Tags const&... tags) {
  nb::class_<T> bound(m, name, tags...);
  bound.def(nb::init<std::size_t>(), nb::arg("count"));
  visible::add_methods<T>(bound);
  return bound;
}
int refuse_buffer(PyObject*, Py_buffer* out, int) {
  out->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, "the author's");
  return -1;
}
}  // namespace

void add_visible(nb::module_& parent) {
  using namespace visible;
  nb::module_ m = parent.def_submodule("visible");
  // [buffer]
  static PyType_Slot const slots[] = {dlbridge::python::buffer_slot(), {0, nullptr}};
  nb::type_slots const buffers(slots);
  auto grows = bind<samples>(m, "Samples", buffers);
  dlbridge::def_dlpack(grows);
  // [/buffer]
  auto shared = bind<shared_samples>(m, "SharedSamples", buffers);
  dlbridge::def_dlpack(shared, dlbridge::shares<>());
  auto owned = bind<owned_samples>(m, "OwnedSamples", buffers);
  dlbridge::def_dlpack(owned, dlbridge::shares<&owned_samples::block>());
  nb::class_<foreign_samples> foreign(m, "ForeignSamples");
  foreign.def(nb::init<std::size_t>());
  dlbridge::def_dlpack(foreign, dlbridge::shares<&foreign_samples::owner>());
  auto copied = bind<copied_samples>(m, "CopiedSamples");
  dlbridge::def_dlpack(copied, dlbridge::shares<>());

  nb::class_<raw> of_any_dtype(m, "Raw", buffers);
  of_any_dtype.def(nb::init<int, int, std::uintptr_t, std::vector<std::int64_t>, int>());
  dlbridge::def_dlpack(of_any_dtype);

  nb::class_<operands> mathematics(m, "Operands");
  mathematics.def(nb::init<std::vector<double>>());
  add_operators<operands>(mathematics);
  dlbridge::def_dlpack(mathematics);
  nb::class_<own_operands> own(m, "OwnOperands");
  own.def(nb::init<std::vector<double>>());
  add_operators<own_operands>(own);
  dlbridge::def_dlpack(own, dlbridge::no_ufuncs());

  // What the author adds before and after.
  auto const array_of_author = [](nb::object const&, nb::args const&, nb::kwargs const&) {
    return nb::module_::import_("numpy").attr("full")(2, "the author's");
  };
  auto without_slot = bind<other_samples<0>>(m, "WithoutBuffer");
  dlbridge::def_dlpack(without_slot);
  static PyType_Slot const own_slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(&refuse_buffer)}, {0, nullptr}};
  auto before = bind<other_samples<1>>(m, "WithOwnBefore", nb::type_slots(own_slots));
  before.def("__array__", array_of_author);
  dlbridge::def_dlpack(before);
  auto after = bind<other_samples<2>>(m, "WithOwnAfter", nb::type_slots(own_slots));
  dlbridge::def_dlpack(after);
  after.def("__array__", array_of_author);
  nb::class_<other_samples<3>, samples> derived(m, "Derived");
  derived.def(nb::init<std::size_t>());
  dlbridge::def_dlpack(derived);
}
