// element_argument<T, Others>: converts one Python object to a tensor, a number, text, or a
// container of such.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

// Each element_argument has these members. The caller holds the GIL.
// - load(object, how, why): converts an object, which outlives the element. Refused with `why` set;
//   no exception is pending.
// - confirm(why): whether borrowed tensors are unchanged after Python code ran
// - extract(): the C++ object, once
// - first_tensor(): the first object that is a tensor, or null
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// @tparam Others the conversions of elements of element_kind::other
template <class T, class Others, element_kind Kind = kind_of<T>>
class element_argument : public Others::template argument<T> {};

template <class T, class Others>
class element_argument<T, Others, element_kind::tensor> {
 public:
  element_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, element_mode const&, element_refusal& why) noexcept {
    load_result const result = tensor_.load(object);
    return result != load_result::refused
               ? result
               : why.take(tensor_, tensor_argument<T>::need, tensor_argument<T>::explain);
  }
  bool confirm(element_refusal& why) noexcept {
    return tensor_.confirm() || why.take(tensor_, tensor_argument<T>::need,
                                         tensor_argument<T>::explain) != load_result::refused;
  }
  T extract() { return tensor_.extract(); }
  PyObject* first_tensor() const noexcept {
    return tensor_.is_tensor() ? tensor_.object() : nullptr;
  }

 private:
  tensor_argument<T> tensor_{};
};

/// The part that all elements have which hold no tensor.
struct element_without_tensor {
  static bool confirm(element_refusal&) noexcept { return true; }
  static PyObject* first_tensor() noexcept { return nullptr; }
};

template <class T, class Others>
class element_argument<T, Others, element_kind::scalar> : public element_without_tensor {
 public:
  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    bool const is_exact = std::is_same_v<T, bool> ? PyBool_Check(object) != 0
                          : std::is_integral_v<T> ? PyLong_Check(object) && !PyBool_Check(object)
                                                  : PyFloat_Check(object) != 0;
    if (how.exact && !is_exact) {
      return load_result::refused;
    }
    return !scalar<T>::load(object, value_) ? why.take()
           : is_exact                       ? load_result::fast
                                            : load_result::after_python;
  }
  T extract() const noexcept { return value_; }

 private:
  T value_{};
};

template <class T, class Others>
class element_argument<T, Others, element_kind::text> : public element_without_tensor {
 public:
  load_result load(PyObject* object, element_mode const&, element_refusal& why) noexcept {
    if (Others::accepts_bytes && PyBytes_Check(object)) {
      text_ = PyBytes_AS_STRING(object);
      size_ = PyBytes_GET_SIZE(object);
      return load_result::fast;
    }
    if (!PyUnicode_Check(object)) {
      api<PyErr_Format>(PyExc_TypeError, "expected a str; got %s", Py_TYPE(object)->tp_name);
      return why.take();
    }
    text_ = api<PyUnicode_AsUTF8AndSize>(object, &size_);
    return text_ != nullptr ? load_result::fast : why.take();
  }
  T extract() const { return T(text_, static_cast<std::size_t>(size_)); }

 private:
  char const* text_ = nullptr;
  Py_ssize_t size_ = 0;
};

template <class T, class Others>
class element_argument<T, Others, element_kind::nothing> : public element_without_tensor {
 public:
  load_result load(PyObject* object, element_mode const&, element_refusal& why) noexcept {
    if (object == Py_None) {
      return load_result::fast;
    }
    api<PyErr_Format>(PyExc_TypeError, "expected None; got %s", Py_TYPE(object)->tp_name);
    return why.take();
  }
  T extract() const noexcept { return T(); }
};

template <class T, class Others>
class element_argument<T, Others, element_kind::optional> {
  using element = typename T::value_type;

 public:
  element_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    is_none_ = object == Py_None;
    return is_none_ ? load_result::fast : element_.load(object, how, why);
  }
  bool confirm(element_refusal& why) noexcept { return is_none_ || element_.confirm(why); }
  T extract() { return is_none_ ? T() : T(element_.extract()); }
  PyObject* first_tensor() const noexcept { return is_none_ ? nullptr : element_.first_tensor(); }

 private:
  element_argument<element, Others> element_{};
  bool is_none_ = true;
};

namespace detail {
// A tuple of the elements of an iterable, which keeps them as they are during the call. Empty with
// an exception set for what is no sequence of elements.
DLBRIDGE_COLD inline ref snapshot_of_sequence(PyObject* object,
                                              read_iterators& iterators) noexcept {
  if (PyTuple_CheckExact(object)) {
    return ref::borrow(object);
  }
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
      PyDict_Check(object) ||
      (Py_TYPE(object)->tp_iter == nullptr && PySequence_Check(object) == 0)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence; got %s", Py_TYPE(object)->tp_name);
    return ref();
  }
  return PyIter_Check(object) != 0 ? iterators.elements_of(object)
                                   : ref::steal(api<PySequence_Tuple>(object));
}
// The same for a sequence of a fixed length.
DLBRIDGE_COLD inline ref snapshot_of_sequence(PyObject* object, read_iterators& iterators,
                                              std::size_t size) noexcept {
  ref elements = snapshot_of_sequence(object, iterators);
  if (elements && PyTuple_GET_SIZE(elements.get()) != static_cast<Py_ssize_t>(size)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence of length %zu; got one of length %zd",
                      size, PyTuple_GET_SIZE(elements.get()));
    return ref();
  }
  return elements;
}
// A list of the items of a dict or of another mapping, each a tuple of key and value.
DLBRIDGE_COLD inline ref snapshot_of_mapping(PyObject* object) noexcept {
  ref items = PyMapping_Check(object) != 0 ? ref::steal(api<PyMapping_Items>(object)) : ref();
  if (!items && (PyErr_Occurred() == nullptr ||
                 (PyErr_ExceptionMatches(PyExc_AttributeError) && !is_raised_by_python()))) {
    api<PyErr_Clear>();
    api<PyErr_Format>(PyExc_TypeError, "expected a dict; got %s", Py_TYPE(object)->tp_name);
  }
  return items;
}

// Whether Python code may have run when the elements of a container were read.
inline load_result reading_of(PyObject* object) noexcept {
  return PyTuple_CheckExact(object) || PyList_CheckExact(object) || PyDict_CheckExact(object)
             ? load_result::fast
             : load_result::after_python;
}

// The result of a container whose elements have these results.
constexpr load_result both(load_result a, load_result b) noexcept {
  return static_cast<load_result>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
}  // namespace detail

namespace detail {
template <class T, class Others>
class sequence_argument {
  using element = element_argument<typename T::value_type, Others>;

 public:
  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    objects_ = snapshot_of_sequence(object, *how.iterators);
    if (!objects_) {
      return why.take();
    }
    elements_.reset(new (std::nothrow) element[static_cast<std::size_t>(size())]);
    if (!elements_) {
      api<PyErr_NoMemory>();
      return why.take();
    }
    load_result result = reading_of(object);
    for (Py_ssize_t i = 0; i < size(); ++i) {
      result = both(result, at(i).load(PyTuple_GET_ITEM(objects_.get(), i), how, why));
      if (result == load_result::refused) {
        return why.at_index(i);
      }
    }
    return result == load_result::fast || confirm(why) ? result : load_result::refused;
  }
  bool confirm(element_refusal& why) noexcept {
    for (Py_ssize_t i = 0; i < size(); ++i) {
      if (!at(i).confirm(why)) {
        return why.at_index(i) != load_result::refused;
      }
    }
    return true;
  }
  T extract() {
    T result;
    for (Py_ssize_t i = 0; i < size(); ++i) {
      result.push_back(at(i).extract());
    }
    return result;
  }
  PyObject* first_tensor() const noexcept {
    PyObject* first = nullptr;
    for (Py_ssize_t i = 0; first == nullptr && i < size(); ++i) {
      first = at(i).first_tensor();
    }
    return first;
  }

 private:
  Py_ssize_t size() const noexcept { return PyTuple_GET_SIZE(objects_.get()); }
  element& at(Py_ssize_t i) const noexcept { return elements_[static_cast<std::size_t>(i)]; }

  ref objects_{};  // a tuple
  std::unique_ptr<element[]> elements_{};
};

// Throws for a key that the C++ map does not distinguish from an earlier one: a float that is
// rounded, and NaN in an ordered map.
[[noreturn]] DLBRIDGE_COLD inline void raise_equal_key(PyObject* key) {
  ref const text = repr_of(key);
  if (!text) {
    throw python_error();
  }
  char const* const got = api<PyUnicode_AsUTF8>(text.get());
  api<PyErr_Clear>();  // of a surrogate
  raise(refusal(errc::bad_argument, "keys that differ in the C++ map", got != nullptr ? got : "?",
                "Another key equals this one there"));
}

template <class T, class Others>
class mapping_argument {
  struct item {
    element_argument<typename T::key_type, Others> key{};
    element_argument<typename T::mapped_type, Others> value{};
  };

 public:
  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    objects_ = snapshot_of_mapping(object);
    if (!objects_) {
      return why.take();
    }
    size_ = PyList_GET_SIZE(objects_.get());
    items_.reset(new (std::nothrow) item[static_cast<std::size_t>(size_)]);
    if (!items_) {
      api<PyErr_NoMemory>();
      return why.take();
    }
    load_result result = reading_of(object);
    for (Py_ssize_t i = 0; i < size_; ++i) {
      PyObject* const pair = PyList_GET_ITEM(objects_.get(), i);
      if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        api<PyErr_Format>(PyExc_TypeError, "expected items of a key and a value");
        return why.take();
      }
      load_result const of_key = at(i).key.load(PyTuple_GET_ITEM(pair, 0), how, why);
      load_result const of_value = of_key != load_result::refused
                                       ? at(i).value.load(PyTuple_GET_ITEM(pair, 1), how, why)
                                       : load_result::refused;
      if (of_value == load_result::refused) {
        return why.at_key(key_object(i));
      }
      result = both(result, both(of_key, of_value));
    }
    return result == load_result::fast || confirm(why) ? result : load_result::refused;
  }
  bool confirm(element_refusal& why) noexcept {
    for (Py_ssize_t i = 0; i < size_; ++i) {
      if (!at(i).value.confirm(why)) {
        return why.at_key(key_object(i)) != load_result::refused;
      }
    }
    return true;
  }
  T extract() {
    T result;
    for (Py_ssize_t i = 0; i < size_; ++i) {
      std::size_t const size = result.size();
      result.emplace(at(i).key.extract(), at(i).value.extract());
      if (result.size() == size) {
        raise_equal_key(key_object(i));
      }
    }
    return result;
  }
  PyObject* first_tensor() const noexcept {
    PyObject* first = nullptr;
    for (Py_ssize_t i = 0; first == nullptr && i < size_; ++i) {
      first = at(i).value.first_tensor();
    }
    return first;
  }

 private:
  item& at(Py_ssize_t i) const noexcept { return items_[static_cast<std::size_t>(i)]; }
  PyObject* key_object(Py_ssize_t i) const noexcept {
    return PyTuple_GET_ITEM(PyList_GET_ITEM(objects_.get(), i), 0);
  }

  ref objects_{};  // a list of pairs
  Py_ssize_t size_ = 0;
  std::unique_ptr<item[]> items_{};
};

// A copy of an object of the class that T is bound as, or else what Iterable converts.
template <class T, class Others, class Iterable>
class bound_or : public element_without_tensor {
 public:
  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    bound_ = Others::template find_bound<T>(object);
    return bound_ != nullptr ? load_result::fast : iterable_.load(object, how, why);
  }
  T extract() { return bound_ != nullptr ? T(*bound_) : iterable_.extract(); }

 private:
  T const* bound_ = nullptr;  // within the object
  Iterable iterable_{};
};
template <class T, class Others, class Iterable>
using or_bound =
    std::conditional_t<may_be_bound<T, Others>, bound_or<T, Others, Iterable>, Iterable>;
}  // namespace detail

template <class T, class Others>
class element_argument<T, Others, element_kind::sequence>
    : public detail::or_bound<T, Others, detail::sequence_argument<T, Others>> {};
template <class T, class Others>
class element_argument<T, Others, element_kind::mapping>
    : public detail::or_bound<T, Others, detail::mapping_argument<T, Others>> {};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
