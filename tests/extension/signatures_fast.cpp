// SPDX-License-Identifier: BSD-3-Clause
// The submodule `fast`: functions of the table of signatures by def_fast.
#include "signatures_arrays.hpp"
#include "signatures_buffers.hpp"
#include "signatures_choices.hpp"
#include "signatures_containers.hpp"
#include "signatures_numbers.hpp"
#include "signatures_parts.hpp"
#include "signatures_results.hpp"

namespace {
struct fast_binder {
  py::module_& m;
  template <class F, class... Names>
  void operator()(char const* name, F function, Names... names) const {
    dlbridge::def_fast(m, name, function, {names...});
  }
};
}  // namespace

void add_fast(py::module_& m) {
  py::module_ fast = m.def_submodule("fast");
  signatures::add_single(fast_binder{fast});
  signatures::add_results(fast_binder{fast});
  signatures::add_named_extents(fast_binder{fast});
  signatures::add_containers(fast_binder{fast});
  signatures::add_container_results(fast_binder{fast});
  signatures::add_arrays(fast_binder{fast});
  signatures::add_buffers(fast_binder{fast});
  signatures::add_numbers(fast_binder{fast});
  signatures::add_choices(fast_binder{fast});
}
