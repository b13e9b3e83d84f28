// reference_copy: copies tensors of any layout bit by bit, from the specification; random layouts
// and every kind of element to compare with it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

using sizes = std::vector<std::int64_t>;
using bytes = std::vector<unsigned char>;

// Random numbers that are the same with every standard library, whose distributions differ.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  bytes noise(std::size_t count) {
    bytes result(count);
    for (unsigned char& each : result) {
      each = static_cast<unsigned char>(engine_());
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

/// The layout of elements in memory, relative to the first one.
struct memory_layout {
  dlbridge::dtype type;
  bool padded = false;
  sizes shape;
  sizes strides;

  std::int64_t element_bits() const { return std::int64_t{type.bits} * type.lanes; }
  /// Bits from one element to the next: a multiple of 8 unless elements are packed.
  std::int64_t pitch() const {
    bool const packed = element_bits() % 8 != 0 && !padded;
    return packed ? element_bits() : (element_bits() + 7) / 8 * 8;
  }
  /// Bytes before and after the start of the first element.
  std::int64_t bytes_before() const { return (-reach(-1) * pitch() + 7) / 8; }
  std::int64_t bytes_after() const { return ((reach(1) + 1) * pitch() + 7) / 8; }
  /// A DLTensor with this layout at an address.
  DLTensor tensor_at(unsigned char* first) {
    DLTensor t{};
    t.data = first;
    t.device = dlbridge::cpu.abi();
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = type.abi();
    t.shape = shape.data();
    t.strides = strides.data();
    return t;
  }
  dlbridge::tensor_view view_of(DLTensor const& t) const {
    return dlbridge::view_of(t, padded ? dlbridge::flag_padded : 0);
  }

 private:
  /// Elements from the first one to the farthest one in the direction of `side`, 1 or -1.
  std::int64_t reach(std::int64_t side) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sum += shape[i] > 1 && strides[i] * side > 0 ? strides[i] * (shape[i] - 1) : 0;
    }
    return sum;
  }
};

inline std::ostream& operator<<(std::ostream& out, memory_layout const& p) {
  out << name_of(p.type).c_str() << (p.padded ? " padded [" : " [");
  for (std::size_t i = 0; i < p.shape.size(); ++i) {
    out << p.shape[i] << " by " << p.strides[i] << (i + 1 < p.shape.size() ? ", " : "");
  }
  return out << "]";
}

inline bool bit_of(bytes const& memory, std::int64_t bit) {
  return (memory[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & 1) != 0;
}
inline void set_bit(bytes& memory, std::int64_t bit, bool value) {
  unsigned char& byte = memory[static_cast<std::size_t>(bit / 8)];
  auto const mask = static_cast<unsigned char>(1U << (bit % 8));
  byte = static_cast<unsigned char>(value ? byte | mask : byte & ~mask);
}

/// Calls body(index) for every index of a shape.
template <class Body>
void for_each_index(sizes const& shape, Body body) {
  if (std::count(shape.begin(), shape.end(), 0) != 0) {
    return;
  }
  sizes index(shape.size(), 0);
  for (;;) {
    body(index);
    std::size_t i = index.size();
    while (i-- > 0 && ++index[i] == shape[i]) {
      index[i] = 0;
    }
    if (i == static_cast<std::size_t>(-1)) {
      return;
    }
  }
}

/// The reference implementation (spec 1.5, 1.7): copies index by index and bit by bit. The
/// arguments named `first` are byte offsets from the start of the memory.
inline void reference_copy(memory_layout const& from, bytes const& source,
                           std::int64_t source_first, memory_layout const& to, bytes& destination,
                           std::int64_t destination_first) {
  for_each_index(from.shape, [&](sizes const& index) {
    std::int64_t s = 0;
    std::int64_t d = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      s += index[i] * from.strides[i];
      d += index[i] * to.strides[i];
    }
    for (std::int64_t bit = 0; bit < to.pitch(); ++bit) {
      set_bit(destination, destination_first * 8 + d * to.pitch() + bit,
              bit < from.pitch() && bit_of(source, source_first * 8 + s * from.pitch() + bit));
    }
  });
}

inline sizes random_shape(random_source& random) {
  sizes shape(static_cast<std::size_t>(random.between(0, 6)));
  std::int64_t count = 1;
  for (std::int64_t& extent : shape) {
    extent = random.one_in(40) ? 0 : random.between(1, count > 60 ? 2 : 5);
    count *= extent;
  }
  return shape;
}

/// Strides without shared elements, in any order, with gaps and of any sign.
inline sizes strides_without_alias(random_source& random, sizes const& shape) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i],
              order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  }
  bool const gaps = !random.one_in(3);
  sizes strides(shape.size());
  std::int64_t step = gaps ? random.between(1, 3) : 1;
  for (std::size_t const i : order) {
    bool const is_meaningless = shape[i] <= 1 && random.one_in(2);
    strides[i] = is_meaningless ? random.between(-99, 99) : random.one_in(4) ? -step : step;
    step = step * std::max<std::int64_t>(shape[i], 1) + (gaps ? random.between(0, 2) : 0);
  }
  return strides;
}

/// Strides of a source, which may share elements.
inline sizes random_strides(random_source& random, sizes const& shape) {
  sizes strides = strides_without_alias(random, shape);
  for (std::int64_t& stride : strides) {
    stride = random.one_in(6) ? 0 : random.one_in(8) ? random.between(-5, 5) : stride;
  }
  return strides;
}

inline sizes row_major(sizes const& shape) {
  sizes strides(shape.size());
  dlbridge::fill_row_major(static_cast<int>(shape.size()), shape.data(), strides.data());
  return strides;
}

struct element_kind {
  char const* name;
  dlbridge::dtype type;
  bool source_padded = false;
  bool destination_padded = false;
};
inline void PrintTo(element_kind const& kind, std::ostream* out) { *out << kind.name; }

inline element_kind const element_kinds[] = {
    {"Bytes1", dlbridge::dtype(kDLUInt, 8)},
    {"Bytes2", dlbridge::dtype(kDLFloat, 16)},
    {"Bytes3", dlbridge::dtype(kDLUInt, 8, 3)},
    {"Bytes4", dlbridge::dtype(kDLFloat, 32)},
    {"Bytes8", dlbridge::dtype(kDLInt, 64)},
    {"Bytes12", dlbridge::dtype(kDLFloat, 32, 3)},
    {"Bytes16", dlbridge::dtype(kDLComplex, 128)},
    {"Bytes24", dlbridge::dtype(kDLFloat, 64, 3)},
    {"Bits1", dlbridge::dtype(kDLUInt, 1)},
    {"Bits4", dlbridge::dtype(kDLInt, 4)},
    {"Bits6", dlbridge::dtype(15, 6)},  // float6_e2m3fn
    {"Bits12", dlbridge::dtype(kDLInt, 4, 3)},
    {"Bits4Padded", dlbridge::dtype(kDLInt, 4), true, true},
    {"Bits12Padded", dlbridge::dtype(kDLInt, 4, 3), true, true},
    {"Bits1ToPacked", dlbridge::dtype(kDLUInt, 1), true, false},
    {"Bits4ToPacked", dlbridge::dtype(kDLInt, 4), true, false},
    {"Bits6ToPacked", dlbridge::dtype(15, 6), true, false},
    {"Bits1ToPadded", dlbridge::dtype(kDLUInt, 1), false, true},
    {"Bits4ToPadded", dlbridge::dtype(kDLInt, 4), false, true},
    {"Bits12ToPadded", dlbridge::dtype(kDLInt, 4, 3), false, true},
};
