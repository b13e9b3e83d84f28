// number_reader: makes a tensor of a Python number, or of lists, tuples and ranges of numbers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/types/conversion_rules.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// An element type, whose numbers `load` writes as scalar<T>::load does.
struct number_type {
  dtype type;
  std::size_t bytes;
  bool (*load)(PyObject* object, void* out) noexcept;
};
// Whether the elements of a type are complex numbers of floats or doubles.
template <class T>
constexpr bool has_parts = dlbridge::detail::is_complex_pair(dtype_of<T>());
template <>
inline constexpr bool has_parts<void> = false;
template <class T, bool ByValue>
constexpr number_type number_type_of() noexcept;

// Whether an object is complex, or its type has __float__ or __index__, and no __len__, as that of
// a column of a table has.
bool is_number(PyObject* object) noexcept;

// Reads one argument. Each list is copied to a tuple before its elements are read, as their
// __float__ may change it.
// @par Thread and GIL
// The caller holds the GIL as long as the object exists.
class number_reader {
 public:
  explicit number_reader(number_type const& type) noexcept : type_(type) {}

  // Returns a row-major copy; or an empty one with a TypeError or OverflowError that has the
  // position of the element, or with the exception that Python code raised.
  managed_tensor read(PyObject* object) noexcept;

 private:
  // The extents are the lengths of the first lists of each level.
  bool find_extents(PyObject* object) noexcept;

  bool fill(PyObject* object, int depth) noexcept;

  // Puts the index of an element, "[1]", before the text of a pending exception that C++ raised.
  DLBRIDGE_COLD void place(Py_ssize_t i) noexcept;

  number_type const& type_;
  std::int64_t extents_[max_rank] = {};
  int rank_ = 0;
  bool is_placed_ = false;  // whether the pending exception has the index of an element
  char* next_ = nullptr;
};
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/number_reader.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/number_reader.ipp>
#endif
