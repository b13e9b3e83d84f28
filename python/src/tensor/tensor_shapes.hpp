// T, mT, permute, reshape and view: describe the elements of a Tensor by other dimensions or
// another dtype, without a copy.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "dtypes.hpp"
#include "tensor/tensor_views.hpp"

namespace core DLBRIDGE_LOCAL {
inline void swap_dimensions(view_layout& layout, int i, int j) noexcept {
  std::swap(layout.shape[i], layout.shape[j]);
  std::swap(layout.strides[i], layout.strides[j]);
}

// T: the dimensions in reverse order, as NumPy, JAX and CuPy define it for any rank.
inline ref transposed(PyObject* object, void*) {
  view_layout layout = layout_of(tensor_in(object).view);
  for (int i = 0, j = layout.rank - 1; i < j; ++i, --j) {
    swap_dimensions(layout, i, j);
  }
  return make_view(object, layout);
}

// mT: the last two dimensions exchanged. AttributeError, so that hasattr returns False, for a
// tensor without two.
inline ref matrix_transposed(PyObject* object, void*) {
  view_layout layout = layout_of(tensor_in(object).view);
  if (layout.rank < 2) {
    fail(PyExc_AttributeError, "mT expects a tensor of at least two dimensions, not %s",
         name_of(tensor_in(object).view).c_str());
  }
  swap_dimensions(layout, layout.rank - 2, layout.rank - 1);
  return make_view(object, layout);
}

// The integers that a caller passes one by one, or as one sequence. Throws, with TypeError or
// ValueError set, for other values.
inline void read_dims(char const* function, PyObject* arguments, std::int64_t* out, int& count) {
  bool const is_one = PyTuple_GET_SIZE(arguments) == 1;
  PyObject* const first = is_one ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
  bool const is_listed = is_one && is_sized_sequence(first);
  require(PyErr_Occurred() == nullptr);
  ref const items = checked(api<PySequence_Tuple>(is_listed ? first : arguments));
  if (PyTuple_GET_SIZE(items.get()) > max_rank) {
    fail(PyExc_ValueError, "%s() expects at most %d dimensions, not %zd", function,
         static_cast<int>(max_rank), PyTuple_GET_SIZE(items.get()));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
    if (!PyIndex_Check(item)) {
      fail(PyExc_TypeError, "%s() expects integers, or one sequence of them, not %.200U", function,
           checked(repr_of(item)).get());
    }
  }
  if (!read_integers(items.get(), out, count)) {  // an __index__ may raise any exception
    require(PyErr_ExceptionMatches(PyExc_OverflowError) != 0 && !is_raised_by_python());
    api<PyErr_Clear>();
    fail(PyExc_ValueError, "%s() expects integers of 64 bits, not %.200U", function,
         checked(repr_of(items.get())).get());
  }
}

// permute(*axes)
DLBRIDGE_COLD inline ref permute(PyObject* object, PyObject* arguments) {
  std::int64_t axes[max_rank];
  int count = 0;
  read_dims("permute", arguments, axes, count);
  tensor_view const& view = tensor_in(object).view;
  view_layout const source = layout_of(view);
  view_layout result;
  bool is_used[max_rank] = {};
  bool is_sound = count == source.rank;
  for (int i = 0; is_sound && i < count; ++i) {
    std::int64_t const axis = axes[i] < 0 ? axes[i] + source.rank : axes[i];
    is_sound = axis >= 0 && axis < source.rank && !is_used[axis];
    if (is_sound) {
      is_used[axis] = true;
      result.add(source.shape[axis], source.strides[axis]);
    }
  }
  if (!is_sound) {
    bounded_text<240> text;
    append_extents(text, count, axes);
    fail(PyExc_ValueError, "permute() expects each of the %d axes of %s once, not %s", source.rank,
         name_of(view).c_str(), text.c_str());
  }
  return make_view(object, result);
}

// Finds the extent of -1, if there is one. Returns false if an extent is negative otherwise.
inline bool find_open_extent(int rank, std::int64_t const* shape, int& open) noexcept {
  open = -1;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == -1 && open < 0) {
      open = i;
    } else if (shape[i] < 0) {
      return false;
    }
  }
  return true;
}

// Computes the extent at the place `open`, if that is not -1. Returns false if the shape has
// another number of elements.
inline bool complete_shape(std::int64_t count, int rank, std::int64_t* shape, int open) noexcept {
  std::int64_t product = 1;
  if (open >= 0) {
    shape[open] = 1;
  }
  if (!try_count(rank, shape, product)) {
    return false;
  }
  if (open < 0) {
    return product == count;
  }
  bool const has_extent = product != 0 && count % product == 0;
  shape[open] = has_extent ? count / product : -1;
  return has_extent;
}

// Computes the strides of the same elements, in row-major order, under another shape of as many
// elements. Dimensions of the source that follow each other without gaps count as one. Returns
// false if no strides describe them.
inline bool try_restride(view_layout const& source, view_layout& result) noexcept {
  view_layout joined;  // the source without dimensions of extent 1, joined where possible
  for (int i = 0; i < source.rank; ++i) {
    std::int64_t const extent = source.shape[i];
    if (extent == 1) {
      continue;
    }
    int const last = joined.rank - 1;
    if (last >= 0 && joined.strides[last] == wrapping_product(extent, source.strides[i])) {
      joined.shape[last] *= extent;
      joined.strides[last] = source.strides[i];
    } else {
      joined.add(extent, source.strides[i]);
    }
  }
  int from = joined.rank - 1;
  std::int64_t left = from >= 0 ? joined.shape[from] : 1;  // elements of that dimension
  std::int64_t step = from >= 0 ? joined.strides[from] : 1;
  for (int i = result.rank - 1; i >= 0; --i) {
    std::int64_t const extent = result.shape[i];
    if (extent != 1 && left == 1 && from > 0) {
      --from;
      left = joined.shape[from];
      step = joined.strides[from];
    }
    if (left % extent != 0) {
      return false;
    }
    result.strides[i] = step;
    left /= extent;
    step = wrapping_product(step, extent);
  }
  return true;
}

[[noreturn]] DLBRIDGE_COLD inline void refuse_copy(char const* function, char const* expected,
                                                   tensor_view const& view, char const* advice) {
  report r = refusal(errc::copy_forbidden, expected, name_of(view).c_str(), advice);
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  append_extents(r.got.append(" with strides "), view.rank(), strides);
  fail(r, function);
}

// reshape(*shape)
DLBRIDGE_COLD inline ref reshape(PyObject* object, PyObject* arguments) {
  view_layout result;
  read_dims("reshape", arguments, result.shape, result.rank);
  tensor_view const& view = tensor_in(object).view;
  std::int64_t const count = view.count();
  bounded_text<240> requested;
  append_extents(requested, result.rank, result.shape);
  int open = -1;
  if (!find_open_extent(result.rank, result.shape, open)) {
    fail(PyExc_ValueError,
         "reshape() expects extents of 0 and above, and at most one of -1, not %s",
         requested.c_str());
  }
  if (!complete_shape(count, result.rank, result.shape, open)) {
    if (count == 0 && open >= 0) {
      fail(PyExc_ValueError,
           "reshape() computes no extent for %s: pass one in place "
           "of the -1 in %s",
           name_of(view).c_str(), requested.c_str());
    }
    fail(PyExc_ValueError, "reshape() expects a shape of %lld elements for %s, not %s",
         static_cast<long long>(count), name_of(view).c_str(), requested.c_str());
  }
  if (count == 0) {
    fill_row_major(result.rank, result.shape, result.strides);
  } else if (!try_restride(layout_of(view), result)) {
    refuse_copy("reshape", "strides that describe the elements in the new shape", view,
                "Copy it first, with t.copy().reshape(...)");
  }
  return make_view(object, result);
}

// Computes the layout of the same bits as elements of another size. The last dimension shrinks or
// grows; its elements must be adjacent. Returns false if that is not possible.
inline bool try_resize(view_layout& layout, std::int64_t from_bits, std::int64_t to_bits) noexcept {
  if (from_bits == to_bits) {
    return true;
  }
  int const last = layout.rank - 1;
  bool const is_empty = count_of(layout.rank, layout.shape) == 0;
  std::int64_t bits = 0;
  if (last < 0 || (layout.strides[last] != 1 && layout.shape[last] != 1 && !is_empty) ||
      !try_multiply(layout.shape[last], from_bits, bits) || bits % to_bits != 0) {
    return false;
  }
  layout.shape[last] = bits / to_bits;
  if (is_empty) {  // strides without elements have no meaning
    fill_row_major(layout.rank, layout.shape, layout.strides);
    return true;
  }
  layout.strides[last] = 1;
  for (int i = 0; i < last; ++i) {
    std::int64_t const step = wrapping_product(layout.strides[i], from_bits);
    if (step % to_bits != 0 && layout.shape[i] != 1) {
      return false;
    }
    layout.strides[i] = step / to_bits;
  }
  return true;
}

// Raises the reason why try_resize returned false: an exception that names the copy where a copy
// has the layout, and else ValueError.
[[noreturn]] DLBRIDGE_COLD inline void refuse_resize(tensor_view const& view, dtype type,
                                                     std::int64_t to_bits) {
  int const last = view.rank() - 1;
  std::int64_t bits = 0;
  if (last >= 0 && try_multiply(view.extent(last), bits_per_element(view), bits) &&
      bits % to_bits == 0) {
    bool const is_adjacent = view.extent(last) == 1 || view.stride(last) == 1;
    refuse_copy("view",
                is_adjacent ? "strides that are whole numbers of elements of the new dtype"
                            : "elements that are adjacent in the last dimension",
                view, "Copy it first, with t.copy().view(...)");
  }
  report r = refusal(errc::bad_argument,
                     last < 0 ? "a dtype of the same size, as there is no dimension to change"
                              : "a last dimension that holds a whole number of ",
                     name_of(view).c_str());
  if (last >= 0) {
    append_name(r.expected, type).append(" elements");
  }
  fail(r, "view");
}

// Reads a dtype, also one of the letters of buffers, such as 'B', by which zarr views bytes.
inline bool read_view_dtype(PyObject* value, dtype& out) noexcept {
  char const* const text = PyUnicode_Check(value) ? text_in(value) : nullptr;
  char const* const letter = text != nullptr && *text != '\0' && text[1] == '\0'
                                 ? std::strchr(ndarray_letters, *text)
                                 : nullptr;
  if (letter != nullptr && ndarray_types[letter - ndarray_letters].type.lanes != 0) {
    out = dtype(ndarray_types[letter - ndarray_letters].type);
    return true;
  }
  for (format_row const& each : format_rows) {
    if (text != nullptr && std::strcmp(each.format, text) == 0) {
      out = dtype(each.code, each.bits);
      return true;
    }
  }
  return read_dtype(value, out);
}

// view(dtype)
DLBRIDGE_COLD inline ref view_as(PyObject* object, PyObject* positional, PyObject* keywords) {
  char const* accepted[] = {"dtype", nullptr};
  PyObject* argument = nullptr;
  dtype type;
  require(api<PyArg_ParseTupleAndKeywords>(positional, keywords, "O:view",
                                           const_cast<char**>(accepted), &argument) &&
          read_view_dtype(argument, type));
  bool const is_padded = has_padded_elements(argument, type);
  require(PyErr_Occurred() == nullptr);
  tensor_view const view = tensor_in(object).view;
  description d = describe_view(view);
  d.flags &= is_sub_byte(type) ? ~flag_is_copied : ~(flag_is_copied | flag_padded);
  d.flags |= is_padded ? flag_padded : 0;
  bool const is_packed = is_sub_byte(type) && (d.flags & flag_padded) == 0;
  std::int64_t const bits = is_packed ? element_bits(type) : element_bytes(type) * 8;
  view_layout layout = layout_of(view);
  if (!try_resize(layout, bits_per_element(view), bits)) {
    refuse_resize(view, type, bits);
  }
  if (scalar_alignment(type) > scalar_alignment(view.dtype()) && !is_aligned(view, type)) {
    report r = refusal(errc::copy_forbidden, "memory aligned for ", name_of(view).c_str(),
                       "Copy it first, with t.copy().view(...)");
    append_name(r.expected, type);
    fail(r, "view");
  }
  d.type = type;
  describe_layout(d, layout);
  return retyped(object, d);
}
}  // namespace core DLBRIDGE_LOCAL
