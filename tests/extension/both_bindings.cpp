// SPDX-License-Identifier: BSD-3-Clause
// One file that binds functions with pybind11 and with nanobind, after headers and beside a
// namespace of other code whose names are those that dlbridge uses. It is compiled only.
#include <Python.h>

#include <string>

// As torch/csrc/Exceptions.h declares it, and as Windows' objbase.h defines it.
inline void PyErr_SetString(PyObject* type, std::string const& text) {
  PyErr_SetString(type, text.c_str());
}
#define interface struct

#include <dlbridge/nanobind.hpp>
#include <dlbridge/pybind11.hpp>

#include <cstddef>
#include <cstdint>

// Argument-dependent lookup would find these functions, which do not compile.
namespace other {
struct half {
  std::uint16_t bits;
};
struct image {
  float pixels[4];
};
template <class... T>
void give_result(T&&...) = delete;
template <class... T>
void add_reasons(T&&...) = delete;
template <class... T>
void insert(T&&...) = delete;
template <class... T>
void name_of(T&&...) = delete;
}  // namespace other
template <>
struct dlbridge::dtype_traits<other::half> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};

namespace {
using halves = dlbridge::argument<other::half const>;

halves same(halves x) { return x; }
std::int64_t count_of(dlbridge::tensor_span<other::half const> x) { return x.count(); }
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
  dlbridge::def(m, "same", &same);
  dlbridge::def_fast<&same>(m, "fast_same", {"x"});
  dlbridge::def_fast<&count_of>(m, "fast_count_of", {"x"});
  pybind11::class_<other::image> image(m, "Image");
  dlbridge::def(image, pybind11::init<>());
  dlbridge::def(image, "set",
                [](other::image& i, dlbridge::tensor_span<float const, dlbridge::shape<4>> x) {
                  i.pixels[0] = x(0);
                });
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
  dlbridge::def(m, "same", &same);
  dlbridge::def_fast<&same>(m, "fast_same", {"x"});
  dlbridge::def_fast<&count_of>(m, "fast_count_of", {"x"});
  nanobind::class_<other::image> image(m, "Image");
  dlbridge::def(image, nanobind::init<>());
  dlbridge::def(image, "set",
                [](other::image& i, dlbridge::tensor_span<float const, dlbridge::shape<4>> x) {
                  i.pixels[0] = x(0);
                });
}
