// dlbridge._core: pybind11 sets the module up; what is called often is plain C API from the
// headers.
#include <dlbridge/python.hpp>
#include <dlbridge/runtime.hpp>

#include <pybind11/pybind11.h>

#include <numeric>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

// Calls back when it goes, so that the demo can show who frees what, and when.
class farewell {
 public:
  explicit farewell(py::object call) noexcept : call_(call.release().ptr()) {}
  farewell(farewell&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  ~farewell() {
    if (call_ == nullptr || !dlbridge::python::interpreter_alive()) {
      return;
    }
    dlbridge::python::gil_hold const gil;
    dlbridge::python::error_keeper const kept;
    if (!dlbridge::python::ref::steal(PyObject_CallNoArgs(call_))) {
      PyErr_WriteUnraisable(call_);
    }
    Py_DECREF(call_);
  }

 private:
  PyObject* call_;
};

struct witnessed_vector {
  std::vector<float> elements;
  farewell said;
};

// What doctor shows of a driver: its library and version, and the names of its devices; or why it
// is of no use.
template <class Table>
py::dict about(Table const& driver, char const* name_function) {
  using name_of_device = dlbridge::driver_function<char*, int, int>;
  name_of_device const get_name(name_function, reinterpret_cast<name_of_device::pointer>(
                                                   driver.library().try_find(name_function)));
  int version = 0;
  int count = 0;
  static_cast<void>(try_call(driver, driver.driver_get_version, &version));
  static_cast<void>(try_call(driver, driver.device_get_count, &count));
  py::list devices;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    static_cast<void>(try_call(driver, get_name, name, 255, i));
    devices.append(name);
  }
  py::dict found;
  found["library"] = driver.library().name();
  found["version"] = version;
  found["devices"] = devices;
  return found;
}
py::dict about(dlbridge::report const& why) {
  py::dict found;
  found["why"] = dlbridge::message(why).c_str();
  return found;
}
py::dict drivers() {
  dlbridge::cuda_table const* const cuda = dlbridge::cuda();
  dlbridge::hip_table const* const hip = dlbridge::hip();
  py::dict found;
  found["cuda"] = cuda ? about(*cuda, "cuDeviceGetName") : about(dlbridge::cuda_status());
  found["rocm"] = hip ? about(*hip, "hipDeviceGetName") : about(dlbridge::hip_status());
  return found;
}

py::object add(char const* name, PyObject* object, py::module_& m) {
  if (object == nullptr) {
    throw py::error_already_set();
  }
  auto kept = py::reinterpret_borrow<py::object>(object);
  m.attr(name) = kept;
  return kept;
}

}  // namespace

template <>
struct dlbridge::array_traits<witnessed_vector> {
  static description describe(witnessed_vector& v) noexcept {
    return description::of(v.elements.data(), {v.elements.size()});
  }
};

PYBIND11_MODULE(_core, m, py::multiple_interpreters::not_supported()) {
  namespace dp = dlbridge::python;
  dlbridge::use_devices();
  m.doc() = "The C++ half of dlbridge.";
  if (PyModule_AddFunctions(m.ptr(), dp::module_functions()) != 0) {
    throw py::error_already_set();
  }
  add("Tensor", reinterpret_cast<PyObject*>(dp::full_tensor_type()), m);
  add("dtype", dp::text_types::get().dtype, m);
  add("device", dp::text_types::get().device, m);
  add("CopyForbiddenError", dp::copy_forbidden_error(), m);
  m.attr("__version__") =
      py::str("{}.{}.{}")
          .format(DLBRIDGE_VERSION_MAJOR, DLBRIDGE_VERSION_MINOR, DLBRIDGE_VERSION_PATCH);
  m.attr("DLPACK_VERSION") = py::make_tuple(dlbridge::stated_major, dlbridge::stated_minor);
  m.def("_drivers", &drivers, "The drivers of CUDA and ROCm, or why there is none.");
  m.def(
      "_vector",
      [](std::size_t size, py::object on_free) {
        witnessed_vector v{std::vector<float>(size), farewell(std::move(on_free))};
        std::iota(v.elements.begin(), v.elements.end(), 0.0F);
        dp::ref made = dp::wrap_tensor(dlbridge::build(std::move(v)));
        if (!made) {
          throw py::error_already_set();
        }
        return py::reinterpret_steal<py::object>(made.release());
      },
      py::arg("size"), py::arg("on_free"),
      "A Tensor on a std::vector<float> of C++, and a call when the vector is freed.");
}
