// SPDX-License-Identifier: BSD-3-Clause
// Functions of point clouds, which run in the threads of OpenMP and without the GIL. Compiled
// without OpenMP, they run in one thread.
#include <dlbridge/pybind11.hpp>

#include <cstdint>
#include <limits>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace py = pybind11;

using points = dlbridge::shape<dlbridge::dynamic_extent, 3>;

namespace {

// [nearest]
// The index of the point of the cloud that is nearest to each query.
auto nearest(dlbridge::argument<float const, points> queries,
             dlbridge::argument<float const, points> cloud) {
  if (cloud.extent(0) == 0) {
    throw py::value_error("a cloud without points has no nearest one");
  }
  auto out = queries.empty_like<std::int64_t>({queries.extent(0)});  // acquires the GIL
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < queries.extent(0); ++i) {
    float least = std::numeric_limits<float>::infinity();
    out(i) = 0;
    for (std::int64_t j = 0; j < cloud.extent(0); ++j) {
      float const x = queries(i, 0) - cloud(j, 0);
      float const y = queries(i, 1) - cloud(j, 1);
      float const z = queries(i, 2) - cloud(j, 2);
      float const distance = x * x + y * y + z * z;
      if (distance < least) {
        least = distance;
        out(i) = j;
      }
    }
  }
  return out;
}
// [/nearest]

// Moves every point, in place.
void translate(dlbridge::tensor<float, points> cloud, float x, float y, float z) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < cloud.extent(0); ++i) {
    cloud(i, 0) += x;
    cloud(i, 1) += y;
    cloud(i, 2) += z;
  }
}

int threads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

}  // namespace

// NAME is point_cloud, or point_cloud_serial without OpenMP.
PYBIND11_MODULE(NAME, m) {
  dlbridge::init(m);
  // [bind]
  py::call_guard<py::gil_scoped_release> const without_gil;
  dlbridge::def(m, "nearest", nearest, py::arg("queries"), py::arg("cloud"), without_gil);
  dlbridge::def(m, "translate", translate, py::arg("cloud"), py::arg("x"), py::arg("y"),
                py::arg("z"), without_gil);
  // [/bind]
  dlbridge::def(m, "nearest_with_gil", nearest, py::arg("queries"), py::arg("cloud"),
                "Blocks the other threads of Python; for comparison.");
  m.def("threads", threads, "The number of threads of a call.");
}
