// The Python module nanobind_peer: an extension whose author chose nanobind, and knows nothing of
// ours. Its array is nanobind's ndarray, which takes any tensor and gives its own.
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
struct holding {
  Array array;
};
using writer = holding<nb::ndarray<nb::array_api>>;
using reader = holding<nb::ndarray<nb::array_api, nb::ro>>;

// Whatever was taken, as nanobind's own: returned as it is, it would be the object that it came of.
template <class Array>
Array give(nb::handle_t<holding<Array>> self) {
  Array const& array = nb::cast<holding<Array>&>(self).array;
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
  using held = holding<Array>;
  nb::class_<held>(m, name)
      .def_prop_ro("address",
                   [](held const& h) { return reinterpret_cast<std::uintptr_t>(h.array.data()); })
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
