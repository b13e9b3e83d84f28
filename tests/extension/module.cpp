// The module `extension`, put together of its parts.
#include <dlbridge/pybind11.hpp>

#include "parts.hpp"

PYBIND11_MODULE(extension, m) {
  dlbridge::init(m);
  add_arguments(m);
  add_constraints(m);
  add_results(m);
  add_overloads(m);
  add_fast(m);
  add_classes(m);
}
