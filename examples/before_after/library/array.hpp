// nd::array: an array with a dtype and a rank that are known at run time, strides in bytes, a
// device and shared memory. It does not use DLPack.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nd {

enum class dtype {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  text,  // std::string
};

inline std::int64_t bytes_of(dtype type) {
  static constexpr std::int64_t bytes[] = {1, 1, 2, 4, 8, 1, 2,  4,
                                           8, 2, 2, 4, 8, 8, 16, sizeof(std::string)};
  return bytes[static_cast<int>(type)];
}

struct device {
  enum kind { cpu, cuda } type = cpu;
  int index = 0;
};

using sizes = std::vector<std::int64_t>;

class array {
 public:
  /// A view of memory that other arrays may share. Steps are strides in bytes.
  array(std::shared_ptr<void> memory, void* data, dtype type, sizes shape, sizes steps,
        device where = {}, bool writable = true)
      : memory_(std::move(memory)),
        data_(data),
        type_(type),
        shape_(std::move(shape)),
        steps_(std::move(steps)),
        where_(where),
        writable_(writable) {}

  static array zeros(sizes shape, dtype type) {
    sizes steps(shape.size());
    std::int64_t bytes = bytes_of(type);
    for (std::size_t i = shape.size(); i-- > 0;) {
      steps[i] = bytes;
      bytes *= shape[i];
    }
    std::shared_ptr<void> memory(new std::int64_t[static_cast<std::size_t>(bytes + 15) / 8](),
                                 [](void* p) { delete[] static_cast<std::int64_t*>(p); });
    void* const data = memory.get();
    return {std::move(memory), data, type, std::move(shape), std::move(steps)};
  }

  void* data() const { return data_; }
  dtype type() const { return type_; }
  sizes const& shape() const { return shape_; }
  sizes const& steps() const { return steps_; }
  device where() const { return where_; }
  bool writable() const { return writable_; }
  std::shared_ptr<void> const& memory() const { return memory_; }

  array transposed() const {
    return {memory_,
            data_,
            type_,
            {shape_.rbegin(), shape_.rend()},
            {steps_.rbegin(), steps_.rend()},
            where_,
            writable_};
  }
  /// Every other element of the first dimension, in reverse order.
  array reversed() const {
    array result = *this;
    std::int64_t const count = (shape_[0] + 1) / 2;
    result.data_ = static_cast<char*>(data_) + 2 * (count - 1) * steps_[0];
    result.shape_[0] = count;
    result.steps_[0] = -2 * steps_[0];
    return result;
  }
  array read_only() const {
    array result = *this;
    result.writable_ = false;
    return result;
  }
  /// One field of records of three bytes: its steps are no multiple of an element.
  static array field_of_records() {
    array result = zeros({6}, dtype::int16);
    result.shape_[0] = 4;
    result.steps_[0] = 3;
    return result;
  }

 private:
  std::shared_ptr<void> memory_;
  void* data_;
  dtype type_;
  sizes shape_, steps_;
  device where_;
  bool writable_;
};

}  // namespace nd
