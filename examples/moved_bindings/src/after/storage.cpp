// The same array in Python with dlbridge: every DLPack library reads and writes its memory.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <memory>
#include <utility>

#include <pybind11/stl.h>
#include <dlbridge/pybind11.hpp>
#include <dlbridge/types/small_floats.hpp>

#include "../storage.hpp"

namespace py = pybind11;
using inference::element;
using inference::storage;

namespace {

struct entry {
  element type;
  dlbridge::dtype dtype;
};
constexpr entry table[] = {{element::float32, {kDLFloat, 32}},   {element::float16, {kDLFloat, 16}},
                           {element::bfloat16, {kDLBfloat, 16}}, {element::int8, {kDLInt, 8}},
                           {element::int16, {kDLInt, 16}},       {element::int32, {kDLInt, 32}}};

using elements = dlbridge::types<float, dlbridge::float16, dlbridge::bfloat16, std::int8_t,
                                 std::int16_t, std::int32_t>;
using source = dlbridge::any_tensor_of<elements, dlbridge::dynamic_rank, dlbridge::row_major>;

}  // namespace

template <>
struct dlbridge::array_traits<storage> {
  static description describe(storage& s) noexcept {
    description result;
    result.data = s.data;
    result.shape = dims::from(s.shape.data(), s.shape.size());
    for (entry const& each : table) {
      if (each.type == s.type) {
        result.type = each.dtype;
      }
    }
    return result;
  }
  static storage adopt(managed_tensor&& m) {
    auto const owner = std::make_shared<source>(std::move(m));  // throws if it does not fit
    tensor_view const v = owner->view();
    storage result{{}, {v.shape(), v.shape() + v.rank()}, const_cast<void*>(v.data()), owner};
    for (entry const& each : table) {
      if (each.dtype == v.dtype()) {
        result.type = each.type;
      }
    }
    return result;
  }
};

PYBIND11_MODULE(storage_after, m) {
  dlbridge::init(m);
  py::enum_<element>(m, "DataType", py::module_local())
      .value("float32", element::float32)
      .value("float16", element::float16)
      .value("bfloat16", element::bfloat16)
      .value("int8", element::int8)
      .value("int16", element::int16)
      .value("int32", element::int32);
  py::class_<storage> c(m, "StorageView", py::module_local(), py::buffer_protocol());
  dlbridge::def_static(
      c, "from_array",
      [](dlbridge::or_other<source, dlbridge::buffers> x) {
        return dlbridge::adopt_as<storage>(std::move(x).release());
      },
      py::arg("array"));
  c.def_property_readonly("dtype", [](storage const& s) { return s.type; })
      .def_property_readonly("shape", [](storage const& s) { return s.shape; })
      .def("to", &storage::to, py::arg("dtype"), py::call_guard<py::gil_scoped_release>());
  dlbridge::def_dlpack(c);
}
