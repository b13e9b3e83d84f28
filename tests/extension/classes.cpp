// SPDX-License-Identifier: BSD-3-Clause
// Classes of an extension: as DLPack producers, with methods that take tensors, and with views of
// their members.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "registration.hpp"

namespace {

using matrix_shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using matrix_span = dlbridge::tensor_span<float const, matrix_shape>;

class image {
 public:
  image(int rows, int columns)
      : rows_(rows), columns_(columns), pixels_(static_cast<std::size_t>(rows * columns)) {}

  int rows() const noexcept { return rows_; }
  int columns() const noexcept { return columns_; }
  float* pixel(int row, int column = 0) noexcept {
    return pixels_.data() + row * columns_ + column;
  }
  float const* pixel(int row, int column = 0) const noexcept {
    return pixels_.data() + row * columns_ + column;
  }

  double dot(matrix_span const& other) const {
    double total = 0;
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < columns_; ++j) {
        total += static_cast<double>(*pixel(i, j)) * static_cast<double>(other(i, j));
      }
    }
    return total;
  }

 private:
  int rows_;
  int columns_;
  std::vector<float> pixels_;
};

// Has read-only memory, and its array_traits have no adopt.
struct constant {
  std::vector<float> values{1, 2, 3};
};

}  // namespace

template <>
struct dlbridge::array_traits<image> {
  static description describe(image& i) noexcept {
    return description::of(i.pixel(0), {i.rows(), i.columns()});
  }
  static image adopt(managed_tensor&& m) {
    tensor<float const, matrix_shape> const from(std::move(m));
    image result(static_cast<int>(from.extent(0)), static_cast<int>(from.extent(1)));
    for (int i = 0; i < result.rows(); ++i) {
      for (int j = 0; j < result.columns(); ++j) {
        *result.pixel(i, j) = from(i, j);
      }
    }
    return result;
  }
};
template <>
struct dlbridge::array_traits<constant> {
  static description describe(constant& c) noexcept {
    return description::of(static_cast<float const*>(c.values.data()), {c.values.size()});
  }
};

namespace {

// A class of Python's C API.
struct plain_image {
  PyObject_HEAD image value;
};

PyTypeObject* plain_type = nullptr;

image& image_of(PyObject* self) { return reinterpret_cast<plain_image*>(self)->value; }

PyObject* make_plain(image value) {
  PyObject* const self = PyType_GenericAlloc(plain_type, 0);
  if (self != nullptr) {
    new (&image_of(self)) image(std::move(value));
  }
  return self;
}

PyObject* new_plain(PyTypeObject*, PyObject* args, PyObject*) {
  int rows = 0;
  int columns = 0;
  return PyArg_ParseTuple(args, "ii", &rows, &columns) != 0 ? make_plain(image(rows, columns))
                                                            : nullptr;
}

void free_plain(PyObject* self) {
  image_of(self).~image();
  PyObject_Free(self);
  Py_DECREF(plain_type);
}

PyObject* fill_plain(PyObject* self, PyObject* value) {
  image& i = image_of(self);
  std::fill_n(i.pixel(0), i.rows() * i.columns(), static_cast<float>(PyFloat_AsDouble(value)));
  return PyErr_Occurred() != nullptr ? nullptr : py::none().release().ptr();
}

/// Binds a function that returns a member_view: by pybind11's own def, or by dlbridge::def where
/// nanobind's own one has no object for the view.
template <class Scope, class F>
void def_view(Scope& scope, char const* name, F function) {
#if defined(WITH_NANOBIND)
  dlbridge::def(scope, name, function);
#else
  scope.def(name, function);
#endif
}

void add_plain_class(py::module_& m) {
  static PyMethodDef methods[] = {{"fill", &fill_plain, METH_O, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&new_plain)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&free_plain)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"extension.PlainImage", sizeof(plain_image), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  auto const type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) {
    throw py::error_already_set();
  }
  plain_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  dlbridge::python::def_dlpack<&image_of, &make_plain>(plain_type);
  m.def("plain_image_class", [type] { return type; });  // no attribute: stubgen has no annotations
  m.def("make_a_static_type_a_producer",
        [] { dlbridge::python::def_dlpack<&image_of>(&PyFloat_Type); });
}

}  // namespace

void add_classes(py::module_& m) {
  py::class_<image> bound(m, "Image");
  bound.def(py::init<int, int>());
  bound.def("fill", [](image& i, float value) {
    for (int row = 0; row < i.rows(); ++row) {
      std::fill_n(i.pixel(row), i.columns(), value);
    }
  });
  py::property_readonly(bound, "first_row", [](image& i) {
    return dlbridge::member_view(dlbridge::description::of(i.pixel(0), {i.columns()}));
  });
  def_view(bound, "row", [](image& i, int row) {
    return dlbridge::member_view(dlbridge::description::of(i.pixel(row), {i.columns()}));
  });
  def_view(bound, "constant_row", [](image const& i, int row) {
    return dlbridge::member_view(dlbridge::description::of(i.pixel(row), {i.columns()}));
  });
  dlbridge::def(bound, "dot", &image::dot, py::arg("other"));
  dlbridge::def(
      bound, "add",
      [](image& i, matrix_span other) {
        *i.pixel(0) += other(0, 0);
        return &i;
      },
      py::arg("other"), py::return_value_policy::reference_internal);
  dlbridge::def(
      bound, "add",
      [](image& i, dlbridge::tensor_span<double const, matrix_shape> other) {
        *i.pixel(0) += static_cast<float>(other(0, 0));
        return &i;
      },
      py::arg("other"), py::return_value_policy::reference_internal);
  dlbridge::def(
      bound, "like",
      [](image const& i, dlbridge::argument<float const> const& other) {
        return other.empty_like<float>({i.rows(), i.columns()});
      },
      py::arg("other"));
  dlbridge::def_dlpack(bound);

  m.def("first_row_of", [](image& i) {
    return dlbridge::member_view(dlbridge::description::of(i.pixel(0), {i.columns()}));
  });
  m.def("row_of_no_object", [] {
    static float row[3] = {};
    return dlbridge::member_view(dlbridge::description::of(row, {3}));
  });

  py::shared_class<constant> frozen(m, "Constant");
  frozen.def(py::init<>());
  dlbridge::def_dlpack(frozen);
  add_plain_class(m);
}
