// SPDX-License-Identifier: BSD-3-Clause
// dlbridge._core, the module behind the package.
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python.hpp>
#include <dlbridge/runtime.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tensor/full_tensor_type.hpp"
#include "tensor/functions.hpp"
#include "tensor/text_types.hpp"

namespace {
namespace dp = dlbridge::python;
namespace py = pybind11;

// Facts of a driver for the doctor tool: the library, its version and the names of its devices; or
// the reason why it cannot be used.
template <class Table>
py::dict describe_driver(Table const* driver, dlbridge::report const& why,
                         char const* name_function) {
  py::dict facts;
  if (driver == nullptr) {
    facts["why"] = dlbridge::message(why).c_str();
    return facts;
  }
  using name_of_device = dlbridge::driver_function<char*, int, int>;
  name_of_device const get_name(name_function, reinterpret_cast<name_of_device::pointer>(
                                                   driver->library().try_find(name_function)));
  int version = 0;
  int count = 0;
  static_cast<void>(try_call(*driver, driver->driver_get_version, &version));
  static_cast<void>(try_call(*driver, driver->device_get_count, &count));
  py::list devices;
  for (int i = 0; i < count; ++i) {
    char text[256] = "";
    static_cast<void>(try_call(*driver, get_name, text, 255, i));
    devices.append(py::bytes(text).attr("decode")("utf-8", "replace"));
  }
  facts["library"] = driver->library().name();
  facts["version"] = version;
  facts["devices"] = devices;
  return facts;
}

py::dict drivers() {
  py::dict all;
  all["cuda"] = describe_driver(dlbridge::cuda(), dlbridge::cuda_status(), "cuDeviceGetName");
  all["rocm"] = describe_driver(dlbridge::hip(), dlbridge::hip_status(), "hipDeviceGetName");
  return all;
}

// Calls a Python function when it is destroyed, on any thread, with or without the GIL.
class on_destroy {
 public:
  explicit on_destroy(py::object const& function) : function_(dp::ref::borrow(function.ptr())) {}
  on_destroy(on_destroy&&) noexcept = default;
  ~on_destroy() {
    if (!dp::interpreter_alive()) {
      return;
    }
    dp::gil_hold const gil;
    dp::error_keeper const pending;
    dp::ref const function = function_.release();
    if (function && !dp::ref::steal(dp::api<PyObject_CallNoArgs>(function.get()))) {
      dp::api<PyErr_WriteUnraisable>(function.get());
    }
  }

 private:
  dp::object_owner function_;
};

struct traced_vector {
  std::vector<float> elements;
  on_destroy callback;
};
}  // namespace

template <>
struct dlbridge::array_traits<traced_vector> {
  static description describe(traced_vector& v) noexcept {
    return description::of(v.elements.data(), {v.elements.size()});
  }
};

namespace {
// The demo and the tests observe by it when C++ memory is freed.
dlbridge::managed_tensor make_vector(std::size_t size, py::object const& on_free) {
  traced_vector v{std::vector<float>(size), on_destroy(on_free)};
  std::iota(v.elements.begin(), v.elements.end(), 0.0F);
  return dlbridge::build(std::move(v));
}

py::object type_object(void* type) {
  return dp::on_pybind11::checked(dp::ref::borrow(static_cast<PyObject*>(type)));
}
}  // namespace

PYBIND11_MODULE(_core, m, py::mod_gil_not_used(), py::multiple_interpreters::not_supported()) {
  m.attr("SupportsDLPack") = py::none();  // it has a stub of its own
  dlbridge::init(m);
  py::options options;
  options.disable_function_signatures();  // the docstrings begin with them, as inspect reads them
  dlbridge::use_devices();
  dp::device_operations::get().copy_host = [](dlbridge::tensor_view const& source,
                                              dlbridge::struct_kind kind) {
    return dp::detail::copy_without_gil(source, dlbridge::layout::row_major, kind);
  };
  dp::device_operations::get().order_queues = &dp::detail::order_named_queue;
  m.doc() = "The compiled module of dlbridge.";
  m.attr("__version__") = std::to_string(DLBRIDGE_VERSION_MAJOR) + "." +
                          std::to_string(DLBRIDGE_VERSION_MINOR) + "." +
                          std::to_string(DLBRIDGE_VERSION_PATCH);
  m.attr("DLPACK_VERSION") = py::make_tuple(dlbridge::stated_major, dlbridge::stated_minor);
  m.attr("Tensor") = type_object(core::full_tensor_type());
  m.attr("dtype") = type_object(core::dtype_type());
  m.attr("device") = type_object(core::device_type());
  m.attr("CopyForbiddenError") = type_object(dp::copy_forbidden_error());
  core::bind_functions(m);
  m.def("_drivers", &drivers, core::doc_of("_drivers"));
  dlbridge::def(m, "_vector", &make_vector, py::arg("size"), py::arg("on_free"),
                core::doc_of("_vector"));
  py::delattr(m, "SupportsDLPack");
}
