// SPDX-License-Identifier: BSD-3-Clause
// The Python module nanobind_peer: an extension that uses nanobind and not dlbridge. It imports and
// exports tensors with nanobind's ndarray.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class Array>
struct array_holder {
  Array array;
};
using writer = array_holder<nb::ndarray<nb::array_api>>;
using reader = array_holder<nb::ndarray<nb::array_api, nb::ro>>;

// Exports the array as a new one. nanobind would return the imported Python object otherwise.
template <class Array>
Array give(nb::handle_t<array_holder<Array>> self) {
  Array const& array = nb::cast<array_holder<Array>&>(self).array;
  std::vector<std::size_t> shape(array.ndim());
  std::vector<std::int64_t> strides(array.ndim());
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape[i] = array.shape(i);
    strides[i] = array.stride(i);
  }
  return Array(array.data(), array.ndim(), shape.data(), self, strides.data(), array.dtype(),
               array.device_type(), array.device_id());
}

template <class Array>
void bind(nb::module_& m, char const* name) {
  using holder = array_holder<Array>;
  nb::class_<holder>(m, name)
      .def_prop_ro("address",
                   [](holder const& h) { return reinterpret_cast<std::uintptr_t>(h.array.data()); })
      .def("give", &give<Array>);
}

writer make(nb::bytes content, std::vector<std::size_t> const& shape, int code, int bits) {
  auto* const memory = new std::vector<std::uint64_t>(content.size() / sizeof(std::uint64_t) + 1);
  nb::capsule owner(memory,
                    [](void* p) noexcept { delete static_cast<std::vector<std::uint64_t>*>(p); });
  std::memcpy(memory->data(), content.c_str(), content.size());
  nb::dlpack::dtype const type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  return writer{
      nb::ndarray<nb::array_api>(memory->data(), shape.size(), shape.data(), owner, nullptr, type)};
}

}  // namespace

NB_MODULE(nanobind_peer, m) {
  bind<nb::ndarray<nb::array_api>>(m, "Writer");
  bind<nb::ndarray<nb::array_api, nb::ro>>(m, "Reader");
  m.def("make", &make, "content"_a, "shape"_a, "code"_a, "bits"_a);
  m.def("take", [](nb::ndarray<nb::array_api> array) { return writer{std::move(array)}; });
  m.def("read", [](nb::ndarray<nb::array_api, nb::ro> array) { return reader{std::move(array)}; });
}
