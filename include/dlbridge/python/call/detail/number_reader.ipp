// The bodies of number_reader.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/call/detail/number_reader.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool is_number(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  return PyComplex_Check(object) || (converts_to_number(type) && !has_len(type));
}

DLBRIDGE_API bool is_integer_object(PyObject* object) noexcept {
  return PyLong_Check(object) || (PyIndex_Check(object) && !scalar<bool>::is_numpy_bool(object));
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refuse_number(PyObject* object, dtype type) noexcept {
  if (ref const text = repr_of(object)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a number that keeps its value as %s; got %U",
                      name_of(type).c_str(), text.get());
  }
}

template <class Part>
bool load_parts(PyObject* object, Part* parts) noexcept {
  parts[1] = 0;
  if (PyFloat_Check(object) || PyLong_Check(object) || has_dimensions(object)) {
    return scalar<Part>::load(object, parts[0]);
  }
  complex_parts const number = api<complex_value>(object);  // by __complex__ or __float__
  if (PyErr_Occurred() != nullptr) {
    refuse_value(object, "a complex number");
    return false;
  }
  parts[0] = static_cast<Part>(number.real);
  parts[1] = static_cast<Part>(number.imaginary);
  return true;
}

DLBRIDGE_API bool load_complex(PyObject* object, void* out, bool is_double) noexcept {
  return is_double ? load_parts(object, static_cast<double*>(out))
                   : load_parts(object, static_cast<float*>(out));
}

DLBRIDGE_API managed_tensor number_reader::read(PyObject* object) noexcept {
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

DLBRIDGE_API bool number_reader::find_extents(PyObject* object) noexcept {
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
    extents_[rank_++] = detail::tuple_size(items.get());
    if (detail::tuple_size(items.get()) == 0) {
      break;
    }
    level = ref::borrow(detail::tuple_item(items.get(), 0));
  }
  return true;
}

DLBRIDGE_API bool number_reader::fill(PyObject* object, int depth) noexcept {
  if (depth == rank_) {
    bool const fits = type_.load(object, next_);
    next_ += type_.bytes;
    if (!fits && depth == 1 && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      ref exception = take_exception();
      bool const is_row = !lacks_dlpack(object) && api<PyObject_Size>(object) > 0;
      if (is_row) {
        api<PyErr_Format>(PyExc_TypeError, "%S. %s", exception.get(), "Pass numpy.stack(x)");
      } else if (PyErr_Occurred() == nullptr ||
                 PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // it has no dimensions
        set_exception(std::move(exception));
      }
    }
    return fits;
  }
  long long const extent = extents_[depth];
  if (!is_list(object)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a list of %lld elements; got %s", extent,
                      detail::type_name(Py_TYPE(object)).c_str());
    return false;
  }
  ref const items = ref::steal(api<PySequence_Tuple>(object));
  if (!items) {
    return false;
  }
  Py_ssize_t const count = detail::tuple_size(items.get());
  if (count != extent) {
    api<PyErr_Format>(PyExc_TypeError, "expected a list of %lld elements; got one of %zd", extent,
                      count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!fill(detail::tuple_item(items.get(), i), depth + 1)) {
      place(i);
      return false;
    }
  }
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void number_reader::place(Py_ssize_t i) noexcept {
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
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
