// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_containers.hpp.
#include "signatures_containers.hpp"

#include "signatures_parts.hpp"

void add_containers(py::module_& m) {
  signatures::add_containers(signatures::binder{m});
  signatures::add_container_results(signatures::binder{m});
}
