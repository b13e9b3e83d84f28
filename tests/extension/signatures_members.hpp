// The members of a class in the table of signatures: constructors, a static method, properties and
// an iterator; and casts of objects that are no parameters.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "library.hpp"
#include "signatures.hpp"

namespace signatures {

// Numbers in rows.
class series {
 public:
  using rows_to_read = tensor_span<float const, matrix>;

  explicit series(rows_to_read const& from) { set_values(from); }
  series(std::int64_t rows, tensor_span<float const, vector> row)
      : rows_(rows), columns_(row.extent(0)) {
    for (std::int64_t i = 0; i < rows * columns_; ++i) {
      values_.push_back(row(i % columns_));
    }
  }

  std::int64_t rows() const noexcept { return rows_; }
  dlbridge::member_view values() {
    return dlbridge::member_view(dlbridge::description::of(values_.data(), {rows_, columns_}));
  }
  dlbridge::member_view row(std::size_t i) noexcept {
    return dlbridge::member_view(dlbridge::description::of(
        values_.data() + static_cast<std::int64_t>(i) * columns_, {columns_}));
  }
  void set_values(rows_to_read const& from) {
    rows_ = from.extent(0);
    columns_ = from.extent(1);
    values_.clear();
    for (std::int64_t i = 0; i < from.count(); ++i) {
      values_.push_back(from(i / columns_, i % columns_));
    }
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::vector<float> values_{};
};

inline void add_members(py::module_& m) {
  using numbers = dlbridge::tensor<float const, vector>;
  py::class_<series> bound(m, "Series");
  dlbridge::def(bound, py::init<series::rows_to_read>(), py::arg("values"));
  dlbridge::def(bound, py::init<std::int64_t, tensor_span<float const, vector>>(), py::arg("rows"),
                py::arg("row"));
  dlbridge::def_static(
      bound, "total_of", [](tensor_span<float const, vector> x) { return total(x); }, py::arg("x"));
  dlbridge::def_property(bound, "values", &series::values, &series::set_values);
  dlbridge::def_property_readonly(bound, "rows", &series::rows);
  dlbridge::def_property_readonly(bound, "array", &series::values,
                                  dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(bound, "__iter__", [](py::object self) {
    auto& it = py::cast<series&>(self);
    return dlbridge::make_iterator(self, static_cast<std::size_t>(it.rows()),
                                   [&it](std::size_t i) { return it.row(i); });
  });
  dlbridge::def(m, "total_of_all", [](py::args all, py::kwargs named) {
    py::list result;
    for (auto const each : all) {
      result.append(total(dlbridge::cast<numbers>(each)));
    }
    for (auto const each : named) {
      result.append(total(dlbridge::cast<numbers>(each.second, py::text(each.first).c_str())));
    }
    return result;
  });
}

}  // namespace signatures
