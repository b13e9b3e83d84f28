// SPDX-License-Identifier: BSD-3-Clause
// pair: copies one tensor to another with dlbridge and with memcpy, for copies.py. The object holds
// the tensors, so that a call does not import them again.
#include <dlbridge/pybind11.hpp>

#include <dlbridge/copy.hpp>

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace {

struct pair {
  dlbridge::managed_tensor source;
  dlbridge::managed_tensor destination;

  void copy() const { dlbridge::copy(source.view(), destination.view()); }
  void copy_bytes() const {  // both tensors are contiguous
    dlbridge::tensor_view const from = source.view();
    std::memcpy(const_cast<void*>(destination.view().data()), from.data(),
                static_cast<std::size_t>(from.count() * element_bytes(from.dtype())));
  }
};

}  // namespace

PYBIND11_MODULE(copies_dlbridge, m) {
  dlbridge::init(m);
  pybind11::class_<pair>(m, "pair")
      .def(
          pybind11::init([](dlbridge::managed_tensor source, dlbridge::managed_tensor destination) {
            return pair{std::move(source), std::move(destination)};
          }))
      .def("copy", &pair::copy)
      .def("memcpy", &pair::copy_bytes);
}
