// tensor_length, item_at, subscript: implement len, indexing and iteration of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "dtypes.hpp"
#include "tensor/tensor_views.hpp"

namespace core DLBRIDGE_LOCAL {
// len(t): the extent of the first dimension.
inline Py_ssize_t tensor_length(PyObject* object) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (view.rank() == 0) {
    api<PyErr_Format>(PyExc_TypeError, "len() expects a tensor of at least one dimension, not %s",
                      name_of(view).c_str());
    return -1;
  }
  if (view.extent(0) > PY_SSIZE_T_MAX) {
    set_error_text(PyExc_OverflowError, "the extent exceeds the largest length");
    return -1;
  }
  return static_cast<Py_ssize_t>(view.extent(0));
}

// is_large: the index has more than 64 bits.
[[noreturn]] DLBRIDGE_COLD inline void refuse_index(std::int64_t index, bool is_large, int axis,
                                                    tensor_view const& view) {
  bounded_text<32> text;
  is_large ? text.append("of more than 64 bits") : text.append(index);
  fail(PyExc_IndexError, "index %s is out of range for axis %d with extent %lld of %s",
       text.c_str(), axis, static_cast<long long>(view.extent(axis)), name_of(view).c_str());
}

// Whether an object that counts as an integer is none by its dtype or its rank: a boolean scalar of
// an array library, or an array of one element, whose dimensions an index would drop.
inline bool is_boolean_or_array(PyObject* index) noexcept {
  ref const rank = optional_attribute(index, "ndim");
  if (rank && PyLong_Check(rank.get()) && api<PyObject_IsTrue>(rank.get()) > 0) {
    return true;
  }
  ref const type = PyErr_Occurred() == nullptr ? optional_attribute(index, "dtype") : ref();
  dtype element;
  return type && read_dtype_name(type.get(), element) && element.code == kDLBool;
}

[[noreturn]] DLBRIDGE_COLD inline void refuse_index_type(PyObject* index) {
  require(suppress_exception());
  bool const selects =
      PyBool_Check(index) || is_sized_sequence(index) || is_boolean_or_array(index);
  require(suppress_exception());  // of its length and its attributes
  fail(PyExc_TypeError, "the indices of a Tensor are integers, slices, Ellipsis and None, not %s%s",
       Py_TYPE(index)->tp_name,
       selects ? ": a view selects no elements by masks, lists or arrays. Use "
                 "np.asarray(t)[index]"
               : "");
}

// Builds the layout of t[key], one item of the key after the other.
class index_reader {
 public:
  explicit index_reader(tensor_view const& view) noexcept : view_(view), source_(layout_of(view)) {}

  // Reads all items. Throws, with IndexError or TypeError set, for a key that is not valid.
  view_layout const& read(PyObject* const* items, Py_ssize_t count) {
    Py_ssize_t named = 0;
    Py_ssize_t added = 0;
    Py_ssize_t gaps = 0;
    Py_ssize_t removed = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      bool const is_dimension = items[i] != Py_None && items[i] != Py_Ellipsis;
      (items[i] == Py_None ? added : is_dimension ? named : gaps) += 1;
      removed += is_dimension && !PySlice_Check(items[i]) ? 1 : 0;
    }
    if (gaps > 1) {
      fail(PyExc_IndexError, "an index has at most one Ellipsis");
    }
    if (named > view_.rank()) {
      fail(PyExc_IndexError, "too many indices: %zd for %s, whose rank is %d", named,
           name_of(view_).c_str(), view_.rank());
    }
    if (added > max_rank - view_.rank() + removed) {
      fail(PyExc_IndexError, "too many dimensions: a tensor has at most %d",
           static_cast<int>(max_rank));
    }
    int const skipped = view_.rank() - static_cast<int>(named);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (items[i] == Py_None) {
        result_.add(1, 0);
      } else if (items[i] == Py_Ellipsis) {
        skip(skipped);
      } else {
        read_item(items[i]);
        ++axis_;
      }
    }
    skip(view_.rank() - axis_);
    return result_;
  }

 private:
  void skip(int count) noexcept {
    for (; count > 0; --count, ++axis_) {
      result_.add(source_.shape[axis_], source_.strides[axis_]);
    }
  }
  void read_item(PyObject* item) {
    if (PySlice_Check(item)) {
      read_slice(item);
      return;
    }
    if (!PyIndex_Check(item) || PyBool_Check(item)) {
      refuse_index_type(item);
    }
    ref const number = ref::steal(api<PyNumber_Index>(item));
    if (!number) {  // an array of several elements has __index__ and raises TypeError
      require(PyErr_ExceptionMatches(PyExc_TypeError) != 0);
      refuse_index_type(item);
    }
    int overflow = 0;
    std::int64_t const index = api<PyLong_AsLongLongAndOverflow>(number.get(), &overflow);
    require(index != -1 || PyErr_Occurred() == nullptr);
    if (!PyLong_Check(item) && is_boolean_or_array(item)) {
      refuse_index_type(item);
    }
    require(PyErr_Occurred() == nullptr || suppress_exception());  // of its attributes
    std::int64_t const extent = source_.shape[axis_];
    if (overflow != 0 || index < -extent || index >= extent) {
      refuse_index(index, overflow != 0, axis_, view_);
    }
    advance(index < 0 ? index + extent : index);
  }
  void read_slice(PyObject* item) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    require(api<PySlice_Unpack>(item, &start, &stop, &step) == 0);
    auto const extent = static_cast<Py_ssize_t>(source_.shape[axis_]);
    Py_ssize_t const count = api<PySlice_AdjustIndices>(extent, &start, &stop, step);
    if (count > 0) {
      advance(start);
    }
    result_.add(count, wrapping_product(source_.strides[axis_], step));
  }
  void advance(std::int64_t index) noexcept {
    // The product does not wrap: the element exists, unless the tensor is empty.
    auto const step = static_cast<std::uint64_t>(wrapping_product(index, source_.strides[axis_]));
    result_.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(result_.offset) + step);
  }

  tensor_view const view_;
  view_layout const source_;
  view_layout result_{};
  int axis_ = 0;
};

// t[key] for an integer, a slice, Ellipsis, None, or a tuple of them.
inline ref subscript(PyObject* object, PyObject* key) {
  ref const kept = ref::borrow(object);  // an __index__ may drop the last other reference
  bool const is_tuple = PyTuple_Check(key);
  PyObject* const* const items = is_tuple ? &PyTuple_GET_ITEM(key, 0) : &key;
  index_reader reader(tensor_in(object).view);
  return make_view(object, reader.read(items, is_tuple ? PyTuple_GET_SIZE(key) : 1));
}

// The item of a sequence, which iteration calls. Python has added the extent to a negative index.
inline ref item_at(PyObject* object, Py_ssize_t index) {
  if (index < 0) {
    fail(PyExc_IndexError, "the index is out of range");
  }
  return subscript(object, checked(PyLong_FromSsize_t(index)).get());
}

inline ref tensor_iterator(PyObject* object) {
  tensor_view const& view = tensor_in(object).view;
  if (view.rank() == 0) {
    fail(PyExc_TypeError, "iteration expects a tensor of at least one dimension, not %s",
         name_of(view).c_str());
  }
  return checked(api<PySeqIter_New>(object));
}

// x in t. Without this slot Python would iterate, and compare views by identity.
inline int refuse_contains(PyObject*, PyObject*) noexcept {
  set_error_text(PyExc_TypeError,
                 "'in' does not compare the elements of a Tensor; use "
                 "x in np.asarray(t), or x in t.tolist()");
  return -1;
}

// t[key] = value, and del t[key].
inline int refuse_assignment(PyObject*, PyObject*, PyObject* value) noexcept {
  set_error_text(PyExc_TypeError, value == nullptr ? "the elements of a Tensor cannot be deleted"
                                                   : "a Tensor does not write elements; use "
                                                     "np.asarray(t)[index] = value, or the library "
                                                     "that owns the memory");
  return -1;
}
}  // namespace core DLBRIDGE_LOCAL
