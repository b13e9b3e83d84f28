// grid::array: an N-dimensional array with strides and reference-counted memory, independent of
// DLPack.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace grid {

using sizes = std::vector<std::ptrdiff_t>;

template <class T>
class array {
 public:
  /// Zeros.
  explicit array(sizes shape) : shape_(std::move(shape)), strides_(shape_.size()) {
    std::ptrdiff_t count = 1;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      if (shape_[i] < 0) {
        throw std::invalid_argument("an array has no negative size");
      }
      strides_[i] = count;
      count *= shape_[i];
    }
    memory_ =
        std::shared_ptr<T>(new T[static_cast<std::size_t>(count)](), [](T* p) { delete[] p; });
  }
  /// A view of memory that other arrays may share. Strides count elements.
  array(std::shared_ptr<T> memory, sizes shape, sizes strides)
      : memory_(std::move(memory)), shape_(std::move(shape)), strides_(std::move(strides)) {}

  // [members]
  T* data() const noexcept { return memory_.get(); }
  sizes const& shape() const noexcept { return shape_; }
  sizes const& strides() const noexcept { return strides_; }
  long owners() const noexcept { return memory_.use_count(); }
  // [/members]

  T& at(sizes const& index) const {
    if (index.size() != shape_.size()) {
      throw std::out_of_range("one index for each dimension");
    }
    T* element = data();
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= shape_[i]) {
        throw std::out_of_range("no such element");
      }
      element += index[i] * strides_[i];
    }
    return *element;
  }

  /// A view of the same memory with the dimensions reversed.
  array transposed() const {
    return {memory_, {shape_.rbegin(), shape_.rend()}, {strides_.rbegin(), strides_.rend()}};
  }

  double sum() const { return sum_from(data(), 0); }

 private:
  double sum_from(T const* at, std::size_t dimension) const {
    if (dimension == shape_.size()) {
      return static_cast<double>(*at);
    }
    double total = 0;
    for (std::ptrdiff_t i = 0; i < shape_[dimension]; ++i) {
      total += sum_from(at + i * strides_[dimension], dimension + 1);
    }
    return total;
  }

  std::shared_ptr<T> memory_;
  sizes shape_;
  sizes strides_;
};

}  // namespace grid
