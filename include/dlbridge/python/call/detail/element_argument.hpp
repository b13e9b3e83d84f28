// element_argument<T>: converts one Python object to a tensor, a number, text, or a container of
// such.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/ref.hpp>

// Each element_argument has these members. The caller holds the GIL.
// - load(object, how, why): converts an object, which outlives the element. Refused with `why`
//   set; no exception is pending. Without how.convert, it takes numbers only as they are, and no
//   iterator, which would yield nothing to another type that is tried.
// - claim(runs_python, why), confirm(why): as the members of tensor_argument
// - extract(): the C++ object, once
// - first_tensor(): the first object that is a tensor, or null
// - converts: whether how.convert makes a difference to an object that is no iterator
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class T, element_kind Kind = kind_of<T>>
class element_argument;

template <class T>
class element_argument<T, element_kind::tensor> {
 public:
  static constexpr bool converts = false;
  element_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
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

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
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

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
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
// The result of a container whose elements have these results.
constexpr load_result both(load_result a, load_result b) noexcept {
  return static_cast<load_result>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

// What containers have in common. Holder::for_each(f) calls f(element, i) for each element until f
// returns false, and returns whether it returned true for all.
template <class Holder, bool IsMapping = false>
class element_holder {
 public:
  bool claim(bool& runs_python, element_refusal& why) noexcept;
  bool confirm(element_refusal& why) noexcept;
  PyObject* first_tensor() noexcept;

 protected:
  // Loads the elements of `object`, which objects_ keeps.
  load_result load_each(PyObject* object, load_options how, element_refusal& why) noexcept;

  // The object of an element: of a mapping, its key (0) or its value (1).
  PyObject* item(Py_ssize_t i, Py_ssize_t part) const noexcept;
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

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
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

  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
  T extract();
  template <class F>
  bool for_each(F&& f);

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
  load_result load(PyObject* object, load_options how, element_refusal& why) noexcept;
  bool claim(bool& runs_python, element_refusal& why) noexcept {
    return ((Is != selected_ || std::get<Is>(elements_).claim(runs_python, why)) && ...);
  }
  bool confirm(element_refusal& why) noexcept {
    return ((Is != selected_ || std::get<Is>(elements_).confirm(why)) && ...);
  }
  T extract();
  PyObject* first_tensor() noexcept;

 private:
  load_result load_first_of(PyObject* object, load_options how, element_refusal& reasons) noexcept;

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
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/element_argument.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/element_argument.ipp>
#endif
