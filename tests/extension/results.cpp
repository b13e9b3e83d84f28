// SPDX-License-Identifier: BSD-3-Clause
// Every kind of tensor result, the type of its Python object, and exceptions of C++ functions.
#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "registration.hpp"

#if defined(_LIBCPP_VERSION)  // whose <cxxabi.h> does not declare it
namespace __cxxabiv1 {
extern "C" void* __cxa_get_globals();
}
#endif

namespace {

using dlbridge::library;
using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using span_to_read = dlbridge::tensor_span<float const, vector_shape>;
using argument_to_read = dlbridge::argument<float const, vector_shape>;
using owned = dlbridge::tensor<float, vector_shape>;

// A list of extents has a rank; its integers may be of several types.
template <class... Integer>
using like_extents =
    decltype(std::declval<argument_to_read const&>().empty_like({std::declval<Integer>()...}));
using matrix_shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
static_assert(std::is_same_v<like_extents<int>, dlbridge::argument<float, vector_shape>>);
static_assert(std::is_same_v<like_extents<std::size_t, std::int64_t>,
                             dlbridge::argument<float, matrix_shape>>);
static_assert(std::is_same_v<like_extents<std::uint8_t, std::uint8_t>,
                             dlbridge::argument<float, matrix_shape>>);
static_assert(std::is_same_v<decltype(std::declval<argument_to_read const&>().empty_like(
                                 std::declval<dlbridge::dtype>())),
                             dlbridge::any_argument>);

// [build]
dlbridge::managed_tensor count_to(int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(static_cast<float>(i));
  }
  return dlbridge::build(std::move(values));  // the tensor owns the vector; no element is copied
}
// [/build]

// [like]
auto doubled(dlbridge::argument<float const, dlbridge::shape<dlbridge::dynamic_extent>> x) {
  auto out = x.empty_like();  // the library of the argument allocates the result
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = 2 * x(i);
  }
  return out;  // an array of that library
}
// [/like]

void add_owning_results(binder& functions) {
  functions.add("to_managed", [](int x) { return count_to(x); });
  functions.add("to_tensor", [](int x) { return owned(count_to(x)); });
  functions.add("to_any", [](int x) { return dlbridge::any_tensor(count_to(x)); });
  functions.add("to_optional", [](int x) {
    return x >= 0 ? std::optional<dlbridge::managed_tensor>(count_to(x)) : std::nullopt;
  });
  functions.add("to_shared", [](int x) {
    return dlbridge::build(std::make_shared<std::vector<float>>(static_cast<std::size_t>(x), 1.0F));
  });
}

void add_argument_results(binder& functions) {
  functions.add("same", [](argument_to_read x) { return x; });
  functions.add("optional_same", [](std::optional<argument_to_read> x) { return x; });
  functions.add("doubled", [](argument_to_read x) {
    std::vector<float> const values(static_cast<std::size_t>(x.extent(0)));
    auto out = x.empty_like<float>({values.size()});
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      out(i) = 2 * x(i);
    }
    return out;
  });
  functions.add("filled", [](dlbridge::argument<float, vector_shape> x) {
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      x[i] = 7;
    }
    return x;
  });
  functions.add("any_same", [](dlbridge::any_argument x) { return x; });
  functions.add("widened",
                [](dlbridge::argument<float const> x) { return x.empty_like<double>(); });
  functions.add("counted_like",
                [](span_to_read x) { return count_to(static_cast<int>(x.extent(0))); });
}

struct named_library {
  char const* name;
  library which;
};
constexpr named_library libraries[] = {
    {"dlbridge", library::dlbridge}, {"numpy", library::numpy}, {"torch", library::torch},
    {"jax", library::jax},           {"cupy", library::cupy},   {"tensorflow", library::tensorflow},
    {"tvm_ffi", library::tvm_ffi},
};

struct registered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws one of the exceptions that a function may throw, by number.
// An exception that std::uncaught_exceptions() does not count, as the one of another C++ runtime:
// of a library, where the extension is linked with -static-libstdc++.
class uncounted : public std::runtime_error {
 public:
  uncounted() : std::runtime_error("of another C++ runtime") { count(~0U); }
  uncounted(uncounted const&) = delete;
  uncounted& operator=(uncounted const&) = delete;
  ~uncounted() override { count(1); }

 private:
  // The Itanium C++ ABI, section 2.2.2.
  struct globals {
    void* caught;
    unsigned uncaught;
  };
  static void count(unsigned change) noexcept {
    reinterpret_cast<globals*>(abi::__cxa_get_globals())->uncaught += change;
  }
};

void fail(int how) {
  switch (how) {
    case 0:
      dlbridge::raise(dlbridge::refusal(dlbridge::errc::overflow, "less", "more"));
    case 1:
      throw py::key_error("an exception of the library");
    case 2:
      throw std::runtime_error("a standard exception");
    case 3:
      PyErr_SetString(PyExc_LookupError, "a Python exception");
      throw py::error_already_set();
    case 4:
      PyErr_SetString(PyExc_LookupError, "a Python exception");
      throw dlbridge::python::python_error();
    case 5:
      throw std::bad_alloc();
    case 6:
      throw py::type_error("of the function itself");
    case 8:
      throw std::out_of_range("a standard exception");
    case 9:
      throw registered("a registered exception");
    case 10:
      throw uncounted();
    case 11:
      throw std::overflow_error("a number");
    case 12:
      throw std::length_error("a length");
    default: {
      dlbridge::any_tensor const counted(count_to(3));
      counted.as<double, dlbridge::shape<2, 2>>();
    }
  }
}

}  // namespace

void add_results(py::module_& m) {
  binder functions(m);
  add_owning_results(functions);
  add_argument_results(functions);
#if defined(WITH_NANOBIND)
  nb::exception<registered>(m, "Registered", PyExc_ArithmeticError);
#else
  py::register_exception<registered>(m, "Registered", PyExc_ArithmeticError);
#endif
  functions.add("fail", [](int x) { fail(x); });
  dlbridge::def(
      m, "fail_with", [](span_to_read, int how) { fail(how); }, py::arg("x"), py::arg("how"));
  py::module_ as = m.def_submodule("returns");
  for (named_library const& each : libraries) {
    dlbridge::def(
        as, each.name, [](int n) { return count_to(n); }, py::arg("n"),
        dlbridge::returns{each.which});
  }
  dlbridge::def(
      m, "as_ndarray", [](dlbridge::managed_tensor x) { return x; }, py::arg("x"),
      dlbridge::returns{library::numpy});
  // [bind_like]
  dlbridge::def(m, "doubled", doubled, py::arg("x"));
  // [/bind_like]
  // [bind_build]
  dlbridge::def(m, "count_to", count_to, py::arg("n"), dlbridge::returns{dlbridge::library::numpy});
  // [/bind_build]
  // [out]
  using length_n = dlbridge::shape<dlbridge::named<'n'>>;
  using output = dlbridge::argument<float, length_n, dlbridge::row_major>;
  dlbridge::def(
      m, "doubled_into",
      [](dlbridge::argument<float const, length_n> const& x, std::optional<output> out) {
        output y = out ? std::move(*out) : output(x.empty_like<float>());
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          y[i] = 2 * x[i];
        }
        return y;  // the object that the caller passed as out, or a new one
      },
      py::arg("x"), py::arg("out") = py::none());
  // [/out]
  dlbridge::def(
      m, "filled_ndarray", [](dlbridge::argument<float> x) { return x; }, py::arg("x"),
      dlbridge::returns{library::numpy});
  dlbridge::def(
      m, "filled_tensor", [](dlbridge::argument<float> x) { return x; }, py::arg("x"),
      dlbridge::returns{library::dlbridge});
  auto const backwards = [](span_to_read x) {
    std::vector<float> values(x.data(), x.data() + x.extent(0));
    float* const last = values.data() + x.extent(0) - 1;
    return dlbridge::build_on(std::move(values),
                              dlbridge::description::of(last, {x.extent(0)}, {-1}));
  };
  dlbridge::def(m, "backwards", backwards, py::arg("x"));
  dlbridge::def(
      m, "copied_backwards",
      [backwards](span_to_read x) {
        dlbridge::managed_tensor const result = backwards(x);
        return dlbridge::copy_of(result);
      },
      py::arg("x"));
  dlbridge::def(
      m, "bytes_like",
      [](argument_to_read x, std::int64_t rows, std::int64_t columns) {
        return x.empty_like<std::uint8_t>({rows, columns});
      },
      py::arg("x"), py::arg("rows"), py::arg("columns"));
  dlbridge::def(
      m, "int4_like",
      [](dlbridge::any_argument const& x) { return x.empty_like(dlbridge::dtype(kDLInt, 4)); },
      py::arg("x"));
  std::function<double(span_to_read)> const first = [](span_to_read x) { return x(0); };
  dlbridge::def(m, "first_by_function", first, py::arg("x"));  // not trivially copyable
  dlbridge::def(
      m, "moved_text",
      [](span_to_read) -> std::string&& {
        static std::string text;
        text = "moved";
        return std::move(text);
      },
      py::arg("x"));
  dlbridge::def(
      m, "second_decides",
      [](std::optional<argument_to_read>, span_to_read y) {
        return count_to(static_cast<int>(y.extent(0)));
      },
      py::arg("x"), py::arg("y"));
}
