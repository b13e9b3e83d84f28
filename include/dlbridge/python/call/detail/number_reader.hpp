// number_reader: makes a tensor of a Python number, or of lists, tuples and ranges of numbers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

// An element type, whose numbers `load` writes as scalar<T>::load does.
struct number_type {
  dtype type;
  std::size_t bytes;
  bool (*load)(PyObject* object, void* out) noexcept;
};
template <class T>
constexpr number_type number_type_of() noexcept {
  return {dtype_of<T>(), sizeof(T), [](PyObject* object, void* out) noexcept {
            return scalar<T>::load(object, *static_cast<T*>(out));
          }};
}

// Whether the type has __float__ or __index__, and no __len__, as that of a column of a table has.
inline bool is_number(PyObject* object) noexcept {
  PyTypeObject const* const type = Py_TYPE(object);
  PyNumberMethods const* const number = type->tp_as_number;
  return number != nullptr && (number->nb_float != nullptr || number->nb_index != nullptr) &&
         !has_length(type);
}

// Reads one argument. Each list is copied to a tuple before its elements are read, as their
// __float__ may change it.
// @par Thread and GIL
// The caller holds the GIL as long as the object exists.
class number_reader {
 public:
  explicit number_reader(number_type const& type) noexcept : type_(type) {}

  // Returns a row-major copy; or an empty one with a TypeError or OverflowError that has the
  // position of the element, or with the exception that Python code raised.
  managed_tensor read(PyObject* object) noexcept {
    managed_tensor result;
    if (!find_extents(object) || !guarded([&] {
          result = build_empty(type_.type, dims::from(extents_, static_cast<std::size_t>(rank_)));
        })) {
      return managed_tensor();
    }
    result.get_versioned()->flags |= flag_is_copied;
    next_ = static_cast<char*>(result.view().mutable_data());
    return fill(object, 0) ? std::move(result) : managed_tensor();
  }

 private:
  // The extents are the lengths of the first lists of each level.
  bool find_extents(PyObject* object) noexcept {
    ref level = ref::borrow(object);
    while (is_list(level.get())) {
      if (rank_ == max_rank) {
        set_error_text(PyExc_TypeError, "expected lists of at most 64 levels");
        return false;
      }
      ref const items = ref::steal(api<PySequence_Tuple>(level.get()));
      if (!items) {
        return false;
      }
      extents_[rank_++] = PyTuple_GET_SIZE(items.get());
      if (PyTuple_GET_SIZE(items.get()) == 0) {
        break;
      }
      level = ref::borrow(PyTuple_GET_ITEM(items.get(), 0));
    }
    return true;
  }

  bool fill(PyObject* object, int depth) noexcept {
    if (depth == rank_) {
      if (!type_.load(object, next_)) {
        return false;
      }
      next_ += type_.bytes;
      return true;
    }
    long long const extent = extents_[depth];
    if (!is_list(object)) {
      api<PyErr_Format>(PyExc_TypeError, "expected a list of %lld elements; got %s", extent,
                        Py_TYPE(object)->tp_name);
      return false;
    }
    ref const items = ref::steal(api<PySequence_Tuple>(object));
    if (!items) {
      return false;
    }
    Py_ssize_t const count = PyTuple_GET_SIZE(items.get());
    if (count != extent) {
      api<PyErr_Format>(PyExc_TypeError, "expected a list of %lld elements; got one of %zd", extent,
                        count);
      return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!fill(PyTuple_GET_ITEM(items.get(), i), depth + 1)) {
        place(i);
        return false;
      }
    }
    return true;
  }

  // Puts the index of an element, "[1]", before the text of a pending exception that C++ raised.
  DLBRIDGE_COLD void place(Py_ssize_t i) noexcept {
    ref exception = take_exception();
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(exception.get()));
    if ((type == PyExc_TypeError || type == PyExc_OverflowError) &&
        !ref::steal(PyException_GetTraceback(exception.get()))) {
      api<PyErr_Format>(type, "[%zd]%s%S", i, is_placed_ ? "" : ": ", exception.get());
    } else {
      set_exception(std::move(exception));
    }
    is_placed_ = true;
  }

  number_type const& type_;
  std::int64_t extents_[max_rank] = {};
  int rank_ = 0;
  bool is_placed_ = false;  // whether the pending exception has the index of an element
  char* next_ = nullptr;
};

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
