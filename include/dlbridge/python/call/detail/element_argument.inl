// The inline bodies of element_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>
#include <optional>
#include <string>

#include <dlbridge/python/call/detail/element_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// A tuple of the elements of an iterable, which keeps them as they are during the call. Empty with
// an exception set for what is no sequence of elements, or not of `size`, if that is not negative.
DLBRIDGE_COLD ref tuple_of_sequence(PyObject* object, bool convert, Py_ssize_t size = -1) noexcept;

// A list of the items of a dict or of another mapping, each a tuple of key and value. Empty with
// an exception set for what is no mapping.
DLBRIDGE_COLD ref items_of_mapping(PyObject* object) noexcept;
}  // namespace python::detail

namespace python {
template <class T>
inline load_result element_argument<T, element_kind::tensor>::load(PyObject* object,
                                                                   load_options how,
                                                                   element_refusal& why) noexcept {
  load_result const result = tensor_.load(object, {true, how.shared});
  return result != load_result::refused ? result : refuse(why);
}

template <class T>
inline load_result element_argument<T, element_kind::scalar>::load(PyObject* object,
                                                                   load_options how,
                                                                   element_refusal& why) noexcept {
  bool const is_exact = scalar<T>::is_exact(object);
  return !how.convert && !is_exact          ? load_result::refused
         : !scalar<T>::load(object, value_) ? why.take()
         : is_exact                         ? load_result::fast
                                            : load_result::after_python;
}

template <class T>
inline load_result element_argument<T, element_kind::optional>::load(
    PyObject* object, load_options how, element_refusal& why) noexcept {
  is_none_ = object == Py_None;
  return is_none_ ? load_result::fast : element_.load(object, how, why);
}

namespace detail {
template <class Holder, bool IsMapping>
inline bool element_holder<Holder, IsMapping>::claim(bool& runs_python,
                                                     element_refusal& why) noexcept {
  return self().for_each([&](auto& element, Py_ssize_t i) noexcept {
    return element.claim(runs_python, why) || place(i, why) != load_result::refused;
  });
}

template <class Holder, bool IsMapping>
inline bool element_holder<Holder, IsMapping>::confirm(element_refusal& why) noexcept {
  return self().for_each([&](auto& element, Py_ssize_t i) noexcept {
    return element.confirm(why) || place(i, why) != load_result::refused;
  });
}

template <class Holder, bool IsMapping>
inline PyObject* element_holder<Holder, IsMapping>::first_tensor() noexcept {
  PyObject* first = nullptr;
  self().for_each([&](auto& element, Py_ssize_t) noexcept {
    first = element.first_tensor();
    return first == nullptr;
  });
  return first;
}

template <class Holder, bool IsMapping>
inline load_result element_holder<Holder, IsMapping>::load_each(PyObject* object, load_options how,
                                                                element_refusal& why) noexcept {
  bool const is_exact =
      PyTuple_CheckExact(object) || PyList_CheckExact(object) || PyDict_CheckExact(object);
  load_result result = is_exact ? load_result::fast : load_result::after_python;
  self().for_each([&](auto& element, Py_ssize_t i) noexcept {
    result = both(result, element.load(item(i, 1), how, why));
    return result != load_result::refused || place(i, why) != load_result::refused;
  });
  return result != load_result::after_python || confirm(why) ? result : load_result::refused;
}

template <class Holder, bool IsMapping>
inline PyObject* element_holder<Holder, IsMapping>::item(Py_ssize_t i,
                                                         Py_ssize_t part) const noexcept {
  return IsMapping ? detail::tuple_item(detail::list_item(objects_.get(), i), part)
                   : detail::tuple_item(objects_.get(), i);
}

template <class T, std::size_t... Is>
inline load_result tuple_argument<T, std::index_sequence<Is...>>::load(
    PyObject* object, load_options how, element_refusal& why) noexcept {
  this->objects_ = tuple_of_sequence(object, how.convert, Py_ssize_t{sizeof...(Is)});
  return this->objects_ ? this->load_each(object, how, why) : why.take();
}

template <class T, class Value>
inline load_result collection_argument<T, element_list<Value>>::load(
    PyObject* object, load_options how, element_refusal& why) noexcept {
  ref& objects = this->objects_;
  objects = is_mapping<T> ? items_of_mapping(object) : tuple_of_sequence(object, how.convert);
  size_ = !objects        ? 0
          : is_mapping<T> ? detail::list_size(objects.get())
                          : detail::tuple_size(objects.get());
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

template <class T, class Value>
inline T collection_argument<T, element_list<Value>>::extract() {
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

template <class T, class Value>
template <class F>
inline bool collection_argument<T, element_list<Value>>::for_each(F&& f) {
  Py_ssize_t i = 0;
  while (i < size_ && f(elements_[static_cast<std::size_t>(i)], i)) {
    ++i;
  }
  return i == size_;
}

template <class T, class... Elements, std::size_t... Is>
inline load_result variant_argument<T, element_list<Elements...>, std::index_sequence<Is...>>::load(
    PyObject* object, load_options how, element_refusal& why) noexcept {
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

template <class T, class... Elements, std::size_t... Is>
inline T variant_argument<T, element_list<Elements...>, std::index_sequence<Is...>>::extract() {
  std::optional<T> result;
  static_cast<void>(
      ((Is == selected_ &&
        (result.emplace(std::in_place_index<Is>, std::get<Is>(elements_).extract()), true)) ||
       ...));
  return std::move(*result);
}

template <class T, class... Elements, std::size_t... Is>
inline PyObject* variant_argument<T, element_list<Elements...>,
                                  std::index_sequence<Is...>>::first_tensor() noexcept {
  PyObject* first = nullptr;
  ((first = Is == selected_ ? std::get<Is>(elements_).first_tensor() : first), ...);
  return first;
}

template <class T, class... Elements, std::size_t... Is>
inline load_result
variant_argument<T, element_list<Elements...>, std::index_sequence<Is...>>::load_first_of(
    PyObject* object, load_options how, element_refusal& reasons) noexcept {
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
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE
