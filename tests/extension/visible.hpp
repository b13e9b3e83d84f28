// Classes with def_dlpack for NumPy and for all that call np.asarray: a vector that grows, memory
// that is shared, run-time dtypes, devices, and operators. Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlbridge/bridges/std.hpp>
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/call/def_dlpack.hpp>

namespace visible {
// Owns its elements, and moves them when it grows.
struct samples {
  explicit samples(std::size_t count) : values(count, 1.5F) {}
  void grow(std::size_t count) { values.resize(count, 1.5F); }
  std::vector<float> values;
};
// Classes that differ from it in how they are bound.
template <int Number>
struct other_samples : samples {
  using samples::samples;
};

// Shares its elements with its copies. To grow, it takes a new block, and leaves the old one as it
// is.
class shared_samples {
 public:
  explicit shared_samples(std::size_t count)
      : block_(std::make_shared<std::vector<float>>(count, 1.5F)) {}
  void clear() { block_.reset(); }
  void grow(std::size_t count) {
    auto larger = std::make_shared<std::vector<float>>(*block_);
    larger->resize(count, 1.5F);
    block_ = std::move(larger);
  }
  void assign(shared_samples const& other) { block_ = other.block_; }
  std::size_t size() const noexcept { return block_ != nullptr ? block_->size() : 0; }
  float* data() const noexcept { return block_ != nullptr ? block_->data() : nullptr; }
  std::shared_ptr<std::vector<float>> block() const noexcept { return block_; }

 private:
  std::shared_ptr<std::vector<float>> block_;
};
// The same, with the function that gives the owner.
struct owned_samples : shared_samples {
  using shared_samples::shared_samples;
};
// Its owner is null, as those of views of foreign memory.
struct foreign_samples {
  explicit foreign_samples(std::size_t count) : values(count, 1.5F) {}
  std::vector<float> values;
  std::shared_ptr<void> owner{};
};
// States by mistake that its copies share its memory.
struct copied_samples : samples {
  using samples::samples;
};

// Elements of any dtype, on any device.
struct raw {
  raw(int code, int bits, std::uintptr_t at, std::vector<std::int64_t> extents, int device)
      : type(static_cast<std::uint8_t>(code), bits),
        address(at),
        shape(std::move(extents)),
        where(device, 0) {}
  dlbridge::dtype type;
  std::uintptr_t address;
  std::vector<std::int64_t> shape;
  dlbridge::device where;
};

// A vector with operators of its own.
struct operands {
  explicit operands(std::vector<double> from) : values(std::move(from)) {}
  std::vector<double> values;
};
struct own_operands : operands {
  using operands::operands;
};
}  // namespace visible

template <>
struct dlbridge::array_traits<visible::samples> {
  static description describe(visible::samples& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};
template <int Number>
struct dlbridge::array_traits<visible::other_samples<Number>> : array_traits<visible::samples> {};
template <>
struct dlbridge::array_traits<visible::copied_samples> : array_traits<visible::samples> {};
template <>
struct dlbridge::array_traits<visible::shared_samples> {
  static description describe(visible::shared_samples& x) noexcept {
    return description::of(x.data(), {x.size()});
  }
};
template <>
struct dlbridge::array_traits<visible::owned_samples> : array_traits<visible::shared_samples> {};
template <>
struct dlbridge::array_traits<visible::foreign_samples> {
  static description describe(visible::foreign_samples& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};
template <>
struct dlbridge::array_traits<visible::raw> {
  static description describe(visible::raw& x) noexcept {
    description d;
    d.data = reinterpret_cast<void*>(x.address);
    d.type = x.type;
    d.shape = dims::from(x.shape.data(), x.shape.size());
    d.device = x.where;
    return d;
  }
};
template <>
struct dlbridge::array_traits<visible::operands> {
  static description describe(visible::operands& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};
template <>
struct dlbridge::array_traits<visible::own_operands> : array_traits<visible::operands> {};

namespace visible {
/// Adds what several classes have. Class: of a binding library, with constructor and def_dlpack
template <class T, class Class>
void add_methods(Class& bound) {
  bound.def("grow", [](T& self, std::size_t count) { self.grow(count); });
  if constexpr (std::is_base_of_v<shared_samples, T>) {
    bound.def("clear", [](T& self) { self.clear(); });
    bound.def("assign", [](T& self, T const& other) { self.assign(other); });
  }
}
template <class T, class Class>
void add_operators(Class& bound) {
  bound.def("__rmul__", [](T const&, double) { return "the product of the class"; });
  bound.def("__radd__", [](T const&, dlbridge::any_tensor const&) { return "its sum"; });
  bound.def("__len__", [](T const& self) { return self.values.size(); });
}
}  // namespace visible
