// SPDX-License-Identifier: BSD-3-Clause
// The modules `given_pybind11` and `given_nanobind`: tensors that C++ code gives to Python code, as
// arguments of callbacks and overrides, entries of dicts, attributes and arguments of exceptions.
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "library.hpp"

#if defined(WITH_NANOBIND)
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/trampoline.h>
#else
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#endif

namespace {

// Arrays of float32: of one class an array can be made, of the other not. nanobind knows a class of
// all modules by its name.
struct given_samples {
  std::vector<float> values{1, 2};
};
struct given_constant : given_samples {};
}  // namespace

template <>
struct dlbridge::array_traits<given_samples> {
  static description describe(given_samples& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
  static given_samples adopt(managed_tensor&& m) {
    tensor<float const, shape<dynamic_extent>> const x(std::move(m));
    return {std::vector<float>(x.data(), x.data() + x.extent(0))};
  }
};
template <>
struct dlbridge::array_traits<given_constant> {
  static description describe(given_constant& x) noexcept {
    return array_traits<given_samples>::describe(x);
  }
};

namespace {

using dlbridge::library;
using one_dimension = dlbridge::shape<dlbridge::dynamic_extent>;
using vector = dlbridge::tensor<float, one_dimension>;
using const_vector = dlbridge::tensor<float const, one_dimension>;
using vector_argument = dlbridge::argument<float const, one_dimension>;

vector vector_of(std::vector<float> values) { return vector(dlbridge::build(std::move(values))); }

// [callback]
using objective = std::function<float(vector, vector)>;  // of x, and the gradient to fill

// Steps of gradient descent. f gets arrays of the library of x, on memory of C++.
inline float descend(vector_argument const& x, objective const& f, int steps) {
  std::size_t const count = static_cast<std::size_t>(x.count());
  auto at = std::make_shared<std::vector<float>>(x.data(), x.data() + count);
  auto slope = std::make_shared<std::vector<float>>(count);
  float value = 0;
  for (int i = 0; i < steps; ++i) {
    value = f(vector(dlbridge::build(std::shared_ptr(at))),
              vector(dlbridge::build(std::shared_ptr(slope))));
    for (std::size_t k = 0; k < count; ++k) {
      (*at)[k] -= 0.25F * (*slope)[k];
    }
  }
  return value;
}
// [/callback]

// [callback_result]
using operation = std::function<const_vector(vector)>;

inline const_vector applied(vector_argument const& x, operation const& f) {
  return f(vector(dlbridge::copy_of(x.view())));  // TypeError unless f returns a vector of float32
}
// [/callback_result]

// [override]
struct solver {
  virtual ~solver() = default;
  virtual const_vector step(vector x) = 0;
};

struct python_solver : solver {
#if defined(WITH_NANOBIND)
  NB_TRAMPOLINE(solver, 1);
  const_vector step(vector x) override { NB_OVERRIDE_PURE(step, std::move(x)); }
#else
  const_vector step(vector x) override {
    PYBIND11_OVERRIDE_PURE(const_vector, solver, step, std::move(x));
  }
#endif
};

// The override gets an array of the library of x.
inline const_vector solve(solver& with, vector_argument const& x) {
  return with.step(vector(dlbridge::copy_of(x.view())));
}
// [/override]

operation& stored() {
  static operation function;
  return function;
}

// Whose function may refer to the object itself.
struct task {
  operation f{};
};

#if defined(WITH_NANOBIND)
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    nb::handle const f = nb::find(nb::inst_ptr<task>(self)->f);
    Py_VISIT(f.ptr());
  }
  return 0;
}
int clear(PyObject* self) {
  nb::inst_ptr<task>(self)->f = nullptr;
  return 0;
}

void add_task(py::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                {0, nullptr}};
  nb::class_<task> tasks(m, "Task", nb::type_slots(slots), nb::dynamic_attr());
  tasks.def(nb::init<>());
  dlbridge::def_property(
      tasks, "f", [](task const& self) { return self.f; },
      [](task& self, operation f) { self.f = std::move(f); });
}
#endif

void add_callbacks(py::module_& m) {
  dlbridge::def(m, "descend", descend, py::arg("x"), py::arg("f"), py::arg("steps") = 1);
  dlbridge::def(m, "applied", applied, py::arg("x"), py::arg("f"));
  m.def("applied_plain", applied, py::arg("x"), py::arg("f"));
  dlbridge::def(m, "applied_unnamed", applied);
#if defined(WITH_NANOBIND)
  dlbridge::def(m, "applied_to_callable", applied, py::arg("x"), py::arg("f"));
#else
  dlbridge::def(m, "applied_to_callable", applied, py::arg("x"), py::arg("f").none(false));
#endif
  using converted_vector = dlbridge::tensor<float const, one_dimension, dlbridge::converted>;
  dlbridge::def(
      m, "applied_converted",
      [](vector_argument const& x, std::function<converted_vector(vector)> const& f) {
        return f(vector(dlbridge::copy_of(x.view())));
      },
      py::arg("x"), py::arg("f"));
  dlbridge::def(
      m, "applied_alone", [](operation const& f) { return f(vector_of({1, 2})); }, py::arg("f"));
  dlbridge::def(
      m, "pair",
      [](vector_argument const& x, std::function<std::pair<float, const_vector>(vector)> const& f)
          -> std::pair<float, const_vector> { return f(vector(dlbridge::copy_of(x.view()))); },
      py::arg("x"), py::arg("f"));
  dlbridge::def(m, "is_empty", [](operation const& f) { return !f; }, py::arg("f").none());
  dlbridge::def(
      m, "in_thread",
      [](vector_argument const& x, operation const& f) {
        return std::async(std::launch::async,
                          [&] { return f(vector(dlbridge::copy_of(x.view()))); })
            .get();
      },
      py::arg("x"), py::arg("f"), py::call_guard<py::gil_scoped_release>());
  dlbridge::def(
      m, "without_gil",
      [](vector_argument const& x, operation const& f) {
        return f(vector(dlbridge::copy_of(x.view())));
      },
      py::arg("x"), py::arg("f"), py::call_guard<py::gil_scoped_release>());
  // The first overload passes every call on after it called the function.
  dlbridge::def(
      m, "overloaded",
      [](vector_argument const& x, operation const& f) -> const_vector {
        f(vector(dlbridge::copy_of(x.view())));
#if defined(WITH_NANOBIND)
        throw nb::next_overload();
#else
        throw py::reference_cast_error();
#endif
      },
      py::arg("x"), py::arg("f"));
  dlbridge::def(m, "overloaded", applied, py::arg("x"), py::arg("f"));
  dlbridge::def(m, "store", [](operation f) { stored() = std::move(f); }, py::arg("f").none());
  dlbridge::def(m, "call_stored", [] { return stored()(vector_of({1, 2})); });
  dlbridge::def(m, "stored", [] { return stored(); });
  dlbridge::def(m, "same_sum", [](std::function<double(vector)> f) { return f; });
  m.def("call_stored_plain", [] { return stored()(vector_of({1, 2})); });
  dlbridge::def_fast(
      m, "call_stored_fast",
      [](vector_argument x) { return stored()(vector(dlbridge::copy_of(x.view()))); }, {"x"});
}

vector halved(vector_argument const& x) {
  vector result(dlbridge::copy_of(x.view()));
  for (std::int64_t i = 0; i < result.extent(0); ++i) {
    result(i) /= 2;
  }
  return result;
}

#if defined(WITH_NANOBIND)
void add_halved(py::module_& m) {
  dlbridge::def(m, "halved", halved, py::arg("x"), "Half of each element.");
}
#else
// [overloads]
void add_halved(py::module_& m) {
  py::options options;  // until the end of the scope
  options.disable_function_signatures();
  dlbridge::def(m, "halved", halved, py::arg("x"), R"(halved(*args, **kwargs)
Overloaded function.

1. halved(x: numpy.typing.NDArray[numpy.float32]) -> numpy.typing.NDArray[numpy.float32]

2. halved(x: torch.Tensor) -> torch.Tensor

Half of each element.)");
}
// [/overloads]
#endif

void add_objects(py::module_& m) {
  // [to_python]
  m.attr("table") = dlbridge::to_python(vector_of({1, 2, 3}), library::numpy);
  // [/to_python]
  m.attr("default_table") = py::cast(vector_of({1, 2, 3}));
  // [dict]
  // The arrays in the dict are of the library of x.
  dlbridge::def(m, "state", [](vector_argument const& x) {
    py::dict_of<py::str, py::object> result;
    result["copy"] = dlbridge::to_python(vector(dlbridge::copy_of(x.view())));
    return result;
  });
  // [/dict]
  dlbridge::def(m, "cast_state", [](vector_argument const& x) {
    py::dict_of<py::str, py::object> result;
    result["copy"] = py::cast(vector(dlbridge::copy_of(x.view())));
    return result;
  });
  m.def("made_plain", [] { return vector_of({1, 2}); });
  m.def("same_plain", [](vector_argument x) { return x; });
  dlbridge::def(m, "made", [] { return vector_of({1, 2}); });
  dlbridge::def(
      m, "made_torch", [] { return vector_of({1, 2}); }, dlbridge::returns{library::torch});
  // [typed]
  dlbridge::def(
      m, "made_numpy", [] { return vector_of({1, 2}); }, dlbridge::returns{library::numpy});
  // [/typed]
  dlbridge::def(
      m, "many", [] { return std::vector<dlbridge::managed_tensor>(); },
      dlbridge::returns{library::numpy});
  dlbridge::def(
      m, "made_or_none",
      [](bool is_none) { return is_none ? std::optional<vector>() : vector_of({1, 2}); },
      dlbridge::returns{library::numpy});
  dlbridge::def_fast(
      m, "fast_numpy", [] { return vector_of({1, 2}); }, {}, "", dlbridge::returns{library::numpy});
  dlbridge::def(m, "made_like", [](vector_argument const&) { return vector_of({1, 2}); });
  dlbridge::def_fast(m, "made_fast", [] { return vector_of({1, 2}); }, {});
  m.def("given", [](int which) -> py::object {
    return dlbridge::to_python(vector_of({1, 2}),
                               library(static_cast<dlbridge::library_id>(which)));
  });
  m.def("given_none", [] { return dlbridge::to_python(std::optional<vector>()); });
  // [exception]
  m.def("diverge", [] {
    py::object const at = dlbridge::to_python(vector_of({1, 2}), library::numpy);
    PyErr_SetObject(PyExc_ArithmeticError, py::make_tuple("diverged", at).ptr());
    throw py::error_already_set();
  });
  // [/exception]
  m.def("cast", [](py::object const& x) { return py::cast<const_vector>(x).count(); });
  m.def("cast_all", [](py::object const& x) {
    return dlbridge::cast<std::vector<const_vector>>(x, "x").size();
  });
  m.def("cast_two", [](py::object const& x) {
    return std::get<1>(dlbridge::cast<std::tuple<const_vector, const_vector>>(x, "x")).count();
  });
#if defined(WITH_NANOBIND)
  m.def("try_cast", [](py::object const& x) {
    std::optional<vector> result;
    return nb::try_cast(x, result);
  });
#endif
  using number_or_vector = std::variant<std::int64_t, vector_argument>;
  m.def("cast_choice", [](py::object const& x) { return py::cast<number_or_vector>(x).index(); });
}

void add_arrays(py::module_& m) {
  py::class_<given_samples> bound(m, "Samples");
  bound.def(py::init<>());
  dlbridge::def_dlpack(bound);
  py::class_<given_constant> without_adopt(m, "Constant");
  without_adopt.def(py::init<>());
  dlbridge::def_dlpack(without_adopt);
  dlbridge::def(m, "copied", [](vector_argument const& x) { return dlbridge::copy_of(x.view()); });
  dlbridge::def(m, "positive", [](vector_argument const& x) {
    auto out = x.empty_like<bool>();
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      out(i) = x(i) > 0;
    }
    return out;
  });
  // [checked_result]
  dlbridge::def(
      m, "applied_checked",
      [](vector_argument const& x, py::object const& f) {
        py::object const result = f(dlbridge::to_python(vector(dlbridge::copy_of(x.view()))));
        return dlbridge::cast<const_vector>(result, "result of f");
      },
      py::arg("x"), py::arg("f"));
  // [/checked_result]
}

}  // namespace

#if defined(WITH_NANOBIND)
NB_MODULE(given_nanobind, m) {
#else
PYBIND11_MODULE(given_pybind11, m, py::mod_gil_not_used()) {
#endif
  // [init]
  dlbridge::init(m, dlbridge::returns{library::numpy});
  // [/init]
  add_callbacks(m);
#if defined(WITH_NANOBIND)
  add_task(m);
#endif
  add_halved(m);
  add_objects(m);
  add_arrays(m);
  py::class_<solver, python_solver> solvers(m, "Solver");
  solvers.def(py::init<>());
  dlbridge::def(m, "solve", solve, py::arg("solver"), py::arg("x"));
}
