// element_argument<T>: converts one Python object to a tensor, a number, text, or a container of
// such.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

// Each element_argument has these members. The caller holds the GIL.
// - load(object, how, why): converts an object, which outlives the element. Refused with `why`
//   set; no exception is pending. Without how.convert, it takes numbers only as they are, and no
//   iterator, which would yield nothing to another type that is tried.
// - claim(runs_python, why), confirm(why): as the members of tensor_argument
// - extract(): the C++ object, once
// - first_tensor(): the first object that is a tensor, or null
// - converts: whether how.convert makes a difference to an object that is no iterator
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

template <class T, element_kind Kind = kind_of<T>>
class element_argument;

template <class T>
class element_argument<T, element_kind::tensor> {
 public:
  static constexpr bool converts = false;
  element_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    load_result const result = tensor_.load(object, {true, how.shared});
    return result != load_result::refused ? result : refuse(why);
  }
  bool claim(bool& runs_python, element_refusal& why) noexcept {
    return tensor_.claim(runs_python) || refuse(why) != load_result::refused;
  }
  bool confirm(element_refusal& why) noexcept {
    return tensor_.confirm() || refuse(why) != load_result::refused;
  }
  T extract() { return tensor_.extract(); }
  PyObject* first_tensor() noexcept { return tensor_.is_tensor() ? tensor_.object() : nullptr; }

 private:
  load_result refuse(element_refusal& why) noexcept {
    return why.take(tensor_, tensor_argument<T>::need, tensor_argument<T>::explain);
  }

  tensor_argument<T> tensor_{};
};

template <class T>
class element_argument<T, element_kind::scalar> {
 public:
  static constexpr bool converts = is_number_type<T>;

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    bool const is_exact = scalar<T>::is_exact(object);
    return !how.convert && !is_exact          ? load_result::refused
           : !scalar<T>::load(object, value_) ? why.take()
           : is_exact                         ? load_result::fast
                                              : load_result::after_python;
  }
  static bool claim(bool&, element_refusal&) noexcept { return true; }
  static bool confirm(element_refusal&) noexcept { return true; }
  T extract() { return std::move(value_); }
  static PyObject* first_tensor() noexcept { return nullptr; }

 private:
  T value_{};
};

template <class T>
class element_argument<T, element_kind::optional> {
  using element = element_argument<typename T::value_type>;

 public:
  static constexpr bool converts = element::converts;
  element_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    is_none_ = object == Py_None;
    return is_none_ ? load_result::fast : element_.load(object, how, why);
  }
  bool claim(bool& runs_python, element_refusal& why) noexcept {
    return is_none_ || element_.claim(runs_python, why);
  }
  bool confirm(element_refusal& why) noexcept { return is_none_ || element_.confirm(why); }
  T extract() { return is_none_ ? T() : T(element_.extract()); }
  PyObject* first_tensor() noexcept { return is_none_ ? nullptr : element_.first_tensor(); }

 private:
  element element_{};
  bool is_none_ = true;
};

namespace detail {
// A tuple of the elements of an iterable, which keeps them as they are during the call. Empty with
// an exception set for what is no sequence of elements, or not of `size`, if that is not negative.
DLBRIDGE_COLD inline ref tuple_of_sequence(PyObject* object, bool convert,
                                           Py_ssize_t size = -1) noexcept {
  bool const is_refused_iterator = !convert && PyIter_Check(object) != 0;
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
      PyDict_Check(object) || is_refused_iterator ||
      (Py_TYPE(object)->tp_iter == nullptr && PySequence_Check(object) == 0)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence; got %s%s", Py_TYPE(object)->tp_name,
                      is_refused_iterator ? ". Pass list() of it" : "");
    return ref();
  }
  ref elements = ref::steal(api<PySequence_Tuple>(object));
  if (elements && size >= 0 && PyTuple_GET_SIZE(elements.get()) != size) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence of length %zd; got one of length %zd",
                      size, PyTuple_GET_SIZE(elements.get()));
    return ref();
  }
  return elements;
}
// A list of the items of a dict or of another mapping, each a tuple of key and value. Empty with
// an exception set for what is no mapping.
DLBRIDGE_COLD inline ref items_of_mapping(PyObject* object) noexcept {
  ref items = PyMapping_Check(object) != 0 ? ref::steal(api<PyMapping_Items>(object)) : ref();
  if (!items && (PyErr_Occurred() == nullptr ||
                 (PyErr_ExceptionMatches(PyExc_AttributeError) && !is_raised_by_python()))) {
    api<PyErr_Clear>();
    api<PyErr_Format>(PyExc_TypeError, "expected a dict; got %s", Py_TYPE(object)->tp_name);
  }
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PyList_GET_ITEM(items.get(), i);
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
      api<PyErr_Format>(PyExc_TypeError, "expected items of a key and a value");
      items = ref();
    }
  }
  return items;
}

// The result of a container whose elements have these results.
constexpr load_result both(load_result a, load_result b) noexcept {
  return static_cast<load_result>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

// What containers have in common. Holder::for_each(f) calls f(element, i) for each element until f
// returns false, and returns whether it returned true for all.
template <class Holder, bool IsMapping = false>
class element_holder {
 public:
  bool claim(bool& runs_python, element_refusal& why) noexcept {
    return self().for_each([&](auto& element, Py_ssize_t i) noexcept {
      return element.claim(runs_python, why) || place(i, why) != load_result::refused;
    });
  }
  bool confirm(element_refusal& why) noexcept {
    return self().for_each([&](auto& element, Py_ssize_t i) noexcept {
      return element.confirm(why) || place(i, why) != load_result::refused;
    });
  }
  PyObject* first_tensor() noexcept {
    PyObject* first = nullptr;
    self().for_each([&](auto& element, Py_ssize_t) noexcept {
      first = element.first_tensor();
      return first == nullptr;
    });
    return first;
  }

 protected:
  // Loads the elements of `object`, which objects_ keeps.
  load_result load_each(PyObject* object, load_options how, element_refusal& why) noexcept {
    bool const is_exact =
        PyTuple_CheckExact(object) || PyList_CheckExact(object) || PyDict_CheckExact(object);
    load_result result = is_exact ? load_result::fast : load_result::after_python;
    self().for_each([&](auto& element, Py_ssize_t i) noexcept {
      result = both(result, element.load(item(i, 1), how, why));
      return result != load_result::refused || place(i, why) != load_result::refused;
    });
    return result != load_result::after_python || confirm(why) ? result : load_result::refused;
  }

  // The object of an element: of a mapping, its key (0) or its value (1).
  PyObject* item(Py_ssize_t i, Py_ssize_t part) const noexcept {
    return IsMapping ? PyTuple_GET_ITEM(PyList_GET_ITEM(objects_.get(), i), part)
                     : PyTuple_GET_ITEM(objects_.get(), i);
  }
  load_result place(Py_ssize_t i, element_refusal& why) const noexcept {
    return IsMapping ? why.at_key(item(i, 0)) : why.at_index(i);
  }

  ref objects_{};  // a tuple of the elements; of a mapping, a list of its items

 private:
  Holder& self() noexcept { return static_cast<Holder&>(*this); }
};

template <class T, class Indices = std::make_index_sequence<std::tuple_size_v<T>>>
class tuple_argument;
template <class T, std::size_t... Is>
class tuple_argument<T, std::index_sequence<Is...>>
    : public element_holder<tuple_argument<T, std::index_sequence<Is...>>> {
  using element_tuple = std::tuple<element_argument<std::tuple_element_t<Is, T>>...>;

 public:
  static constexpr bool converts = (std::tuple_element_t<Is, element_tuple>::converts || ...);
  tuple_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    this->objects_ = tuple_of_sequence(object, how.convert, Py_ssize_t{sizeof...(Is)});
    return this->objects_ ? this->load_each(object, how, why) : why.take();
  }
  T extract() { return T{std::get<Is>(elements_).extract()...}; }
  template <class F>
  bool for_each(F&& f) noexcept {
    return (f(std::get<Is>(elements_), Py_ssize_t{Is}) && ...);
  }

 private:
  element_tuple elements_{};
};

// A container of any number of elements: a sequence or a mapping.
template <class T, class Elements>
class collection_argument;
template <class T, class Value>
class collection_argument<T, element_list<Value>>
    : public element_holder<collection_argument<T, element_list<Value>>, is_mapping<T>> {
  using element_type = element_argument<Value>;

 public:
  static constexpr bool converts = element_type::converts;

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    ref& objects = this->objects_;
    objects = is_mapping<T> ? items_of_mapping(object) : tuple_of_sequence(object, how.convert);
    size_ = !objects        ? 0
            : is_mapping<T> ? PyList_GET_SIZE(objects.get())
                            : PyTuple_GET_SIZE(objects.get());
    elements_.reset(new (std::nothrow) element_type[static_cast<std::size_t>(size_)]);
    if (objects && !elements_) {
      api<PyErr_NoMemory>();
    }
    if (!objects || !elements_) {
      return why.take();
    }
    for (Py_ssize_t i = 0; is_mapping<T> && i < size_; ++i) {
      if (utf8_of(this->item(i, 0)).data() == nullptr) {
        why.take();
        return this->place(i, why);
      }
    }
    return this->load_each(object, how, why);
  }
  T extract() {
    T result;
    for_each([&](element_type& element, [[maybe_unused]] Py_ssize_t i) {
      if constexpr (is_mapping<T>) {
        result.emplace(std::string(utf8_of(this->item(i, 0))), element.extract());
      } else {
        result.push_back(element.extract());
      }
      return true;
    });
    return result;
  }
  template <class F>
  bool for_each(F&& f) {
    Py_ssize_t i = 0;
    while (i < size_ && f(elements_[static_cast<std::size_t>(i)], i)) {
      ++i;
    }
    return i == size_;
  }

 private:
  Py_ssize_t size_ = 0;
  std::unique_ptr<element_type[]> elements_{};
};

template <class T, class Elements, class Indices = std::make_index_sequence<Elements::size>>
class variant_argument;
template <class T, class... Elements, std::size_t... Is>
class variant_argument<T, element_list<Elements...>, std::index_sequence<Is...>> {
 public:
  static constexpr bool converts = (element_argument<Elements>::converts || ...);
  variant_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  // Accepts first only what needs no conversion: 1 is an int before it is a float. An iterator is
  // refused, as the first alternative would leave nothing of it to the others.
  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept {
    element_refusal reasons;
    load_result result = load_first_of(object, {false, how.shared}, reasons);
    if (converts && how.convert && result == load_result::refused && !reasons.is_fatal() &&
        PyIter_Check(object) == 0) {
      reasons = element_refusal();
      result = both(load_first_of(object, {true, how.shared}, reasons), load_result::after_python);
    }
    if (result == load_result::refused) {
      why = std::move(reasons);
    }
    return result;
  }
  bool claim(bool& runs_python, element_refusal& why) noexcept {
    return ((Is != selected_ || std::get<Is>(elements_).claim(runs_python, why)) && ...);
  }
  bool confirm(element_refusal& why) noexcept {
    return ((Is != selected_ || std::get<Is>(elements_).confirm(why)) && ...);
  }
  T extract() {
    std::optional<T> result;
    static_cast<void>(
        ((Is == selected_ &&
          (result.emplace(std::in_place_index<Is>, std::get<Is>(elements_).extract()), true)) ||
         ...));
    return std::move(*result);
  }
  PyObject* first_tensor() noexcept {
    PyObject* first = nullptr;
    ((first = Is == selected_ ? std::get<Is>(elements_).first_tensor() : first), ...);
    return first;
  }

 private:
  load_result load_first_of(PyObject* object, load_options how, element_refusal& reasons) noexcept {
    load_result result = load_result::refused;
    auto const load_one = [&](auto& element, std::size_t i) noexcept {
      element_refusal reason;
      result = element.load(object, how, reason);
      if (result == load_result::refused) {
        reasons.add_alternative(std::move(reason));
      }
      selected_ = i;
      return result == load_result::refused && !reasons.is_fatal();
    };
    static_cast<void>((load_one(std::get<Is>(elements_), Is) && ...));
    // An alternative that refused may have run Python code.
    return selected_ == 0 ? result : both(result, load_result::after_python);
  }

  std::tuple<element_argument<Elements>...> elements_{};
  std::size_t selected_ = 0;
};
}  // namespace detail

template <class T>
class element_argument<T, element_kind::tuple> : public detail::tuple_argument<T> {};
template <class T>
class element_argument<T, element_kind::collection>
    : public detail::collection_argument<T, elements_of<T>> {};
template <class T>
class element_argument<T, element_kind::variant>
    : public detail::variant_argument<T, elements_of<T>> {};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
