// SPDX-License-Identifier: BSD-3-Clause
// The extension with nanobind.
// [nanobind]
#include <dlbridge/nanobind.hpp>

#include "signal.hpp"

namespace nb = nanobind;

NB_MODULE(with_nanobind, m) {
  dlbridge::init(m);
  dlbridge::def(m, "smooth", &signal_core::smooth, nb::arg("x"), "The mean of each three samples.");
  dlbridge::def(m, "scale", &signal_core::scale, nb::arg("x"), nb::arg("factor"));
  PyType_Slot const slots[] = {dlbridge::python::buffer_slot(), {0, nullptr}};
  nb::class_<signal_core::track> track(m, "Track", nb::type_slots(slots));
  track.def(nb::init<std::size_t>());
  dlbridge::def_dlpack(track);
}
// [/nanobind]
