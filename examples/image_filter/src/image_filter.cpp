// SPDX-License-Identifier: BSD-3-Clause
// Filters for images of any array library. The functions import images as typed tensors without a
// copy, and return images of the caller's library.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

// [shapes]
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
using gray = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using rgb = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent, 3>;
// [/shapes]

namespace {

// [luma]
auto luma(dlbridge::argument<std::uint8_t const, rgb> image) {  // any library's tensor
  // That library allocates the result.
  auto out = image.empty_like<float>({image.extent(0), image.extent(1)});
  for (std::int64_t i = 0; i < image.extent(0); ++i) {
    for (std::int64_t j = 0; j < image.extent(1); ++j) {
      out(i, j) = 0.299F * image(i, j, 0) + 0.587F * image(i, j, 1) + 0.114F * image(i, j, 2);
    }
  }
  return out;  // an object of that library
}
// [/luma]

// Means of 2 * radius + 1 neighbours, fewer at the ends, for count elements at strides.
void blur_line(float const* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
               std::int64_t count, std::int64_t radius) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t const first = std::max<std::int64_t>(i - radius, 0);
    std::int64_t const last = std::min(i + radius, count - 1);
    float sum = 0;
    for (std::int64_t k = first; k <= last; ++k) {
      sum += from[k * from_stride];
    }
    to[i * to_stride] = sum / static_cast<float>(last - first + 1);
  }
}

// Runs without the GIL, which is safe as an argument owns its tensor.
auto box_blur(dlbridge::argument<float const, gray> image, int radius) {
  if (radius < 0) {
    throw py::value_error("radius must not be negative");
  }
  std::int64_t const rows = image.extent(0);
  std::int64_t const columns = image.extent(1);
  std::vector<float> half(static_cast<std::size_t>(rows * columns));
  auto out = image.empty_like();
  for (std::int64_t i = 0; i < rows; ++i) {
    blur_line(image.data() + i * image.stride(0), image.stride(1), half.data() + i * columns, 1,
              columns, radius);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    blur_line(half.data() + j, columns, out.data() + j, columns, rows, radius);
  }
  return out;
}

// [gain]
void gain(dlbridge::tensor_span<float, gray> image, float factor) {  // no const: it is written
  for (std::int64_t i = 0; i < image.extent(0); ++i) {
    for (std::int64_t j = 0; j < image.extent(1); ++j) {
      image(i, j) *= factor;
    }
  }
}
// [/gain]

// [threshold]
template <class T>
auto threshold(dlbridge::argument<T const, gray> image, T level) {
  auto out = image.template empty_like<bool>();
  for (std::int64_t i = 0; i < image.extent(0); ++i) {
    for (std::int64_t j = 0; j < image.extent(1); ++j) {
      out(i, j) = image(i, j) >= level;
    }
  }
  return out;
}
// [/threshold]

// [mean]
double mean(dlbridge::tensor_span<float const, gray> image) {
  double sum = 0;
  for (std::int64_t i = 0; i < image.extent(0); ++i) {
    for (std::int64_t j = 0; j < image.extent(1); ++j) {
      sum += static_cast<double>(image(i, j));
    }
  }
  return sum / static_cast<double>(image.count());
}
// [/mean]

// [visit]
double brightest(dlbridge::any_tensor image) {  // of any dtype and rank
  return dlbridge::visit(image.view(), [](auto span) {
    using element = std::remove_const_t<typename decltype(span)::element_type>;
    if (span.count() == 0) {
      throw py::value_error("an empty image has no brightest pixel");
    }
    dlbridge::managed_tensor const compact = dlbridge::copy_of(span.view());  // no gaps
    auto const* const first = static_cast<element const*>(compact.view().data());
    return static_cast<double>(*std::max_element(first, first + span.count()));
  });
}
// [/visit]

// Dark to bright, from left to right.
dlbridge::managed_tensor ramp(int rows, int columns) {
  if (rows < 0 || columns < 0) {
    throw py::value_error("an image has no negative size");
  }
  dlbridge::tensor<float, gray> out(
      dlbridge::build_empty(dlbridge::dtype_of<float>(), {rows, columns}));
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      out(i, j) = static_cast<float>(j) / static_cast<float>(columns);
    }
  }
  return std::move(out).release();
}

void define_filters(py::module_& m) {
  // [filters]
  dlbridge::def(m, "gain", gain, py::arg("image"), py::arg("factor") = 2.0F, "In place.");
  dlbridge::def(m, "box_blur", box_blur, py::arg("image"), py::arg("radius") = 1,
                py::call_guard<py::gil_scoped_release>());

  dlbridge::def(m, "threshold", threshold<float>, py::arg("image"), py::arg("level"));
  dlbridge::def(m, "threshold", threshold<double>, py::arg("image"), py::arg("level"));

  dlbridge::def_fast<&mean>(m, "mean", {"image"}, "The mean of all pixels.");
  dlbridge::def(m, "ramp", ramp, py::arg("rows"), py::arg("columns"),
                dlbridge::returns{dlbridge::library::numpy});
  // [/filters]

  dlbridge::def(m, "brightest", brightest, py::arg("image"));

  // [plain]
  // Plain pybind11 functions accept tensors too.
  m.def(
      "pixels", [](dlbridge::any_tensor image) { return image.view().count(); }, py::arg("image"));
  // [/plain]
}

}  // namespace

// [module]
PYBIND11_MODULE(image_filter, m) {
  dlbridge::init(m);
  dlbridge::def(m, "luma", luma, py::arg("image"), "Brightness of an 8-bit image, 0 to 255.");
  define_filters(m);  // gain, box_blur and others, in the same way
}
// [/module]
