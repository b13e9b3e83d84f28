// One file that binds functions with pybind11 and with nanobind. It is compiled only.
#include <dlbridge/nanobind.hpp>
#include <dlbridge/pybind11.hpp>

#include <cstddef>
#include <cstdint>

namespace {
std::int64_t size_of(dlbridge::tensor_span<float const> x) { return x.count(); }
}  // namespace

void add_to(pybind11::module_& m);
void add_to(pybind11::module_& m) {
  dlbridge::init(m);
  dlbridge::def(m, "size_of", &size_of, pybind11::arg("x"));
  dlbridge::def(m, "counts", [](pybind11::list const& x) {
    auto const first = dlbridge::cast<dlbridge::any_tensor>(x[0]);
    return dlbridge::make_iterator(x, static_cast<std::size_t>(first.view().count()),
                                   [x](std::size_t) { return dlbridge::build_empty({}, {}); });
  });
  dlbridge::def_fast<&size_of>(m, "fast_size_of", {"x"});
}

void add_to(nanobind::module_& m);
void add_to(nanobind::module_& m) {
  dlbridge::init(m);
  dlbridge::def(m, "size_of", &size_of, nanobind::arg("x"));
  dlbridge::def(m, "counts", [](nanobind::list const& x) {
    auto const first = dlbridge::cast<dlbridge::any_tensor>(x[0]);
    return dlbridge::make_iterator(x, static_cast<std::size_t>(first.view().count()),
                                   [x](std::size_t) { return dlbridge::build_empty({}, {}); });
  });
  dlbridge::def_fast<&size_of>(m, "fast_size_of", {"x"});
}
