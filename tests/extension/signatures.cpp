// SPDX-License-Identifier: BSD-3-Clause
// The modules `signatures_pybind11` and `signatures_nanobind`: the functions of the table of
// signatures, bound by dlbridge::def. Other source files add their parts, as they compile in
// parallel.
#include "signatures_containers.hpp"
#include "signatures_parts.hpp"
#include "signatures_results.hpp"

#if defined(WITH_NANOBIND)
NB_MODULE(signatures_nanobind, m) {
#else
PYBIND11_MODULE(signatures_pybind11, m, py::mod_gil_not_used()) {
#endif
  dlbridge::init(m);
  signatures::add_single(signatures::binder{m});
  signatures::add_results(signatures::binder{m});
  signatures::add_named_extents(signatures::binder{m});
  add_containers(m);
  add_types(m);
  add_others(m);
  add_choices(m);
  add_vectorized(m);
  add_values(m);
#if !defined(WITH_NANOBIND)
  add_fast(m);
#endif
}
