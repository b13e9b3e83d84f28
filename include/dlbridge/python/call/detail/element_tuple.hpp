// element_argument of tuples, pairs, arrays and variants: converts Python objects to a fixed number
// of elements, or to one of several types.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
template <class T, class Others, class Elements>
class tuple_argument;
template <class T, class Others, class... Elements>
class tuple_argument<T, Others, element_list<Elements...>> {
  static constexpr std::size_t count = sizeof...(Elements);
  using indices = std::index_sequence_for<Elements...>;

 public:
  tuple_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    objects_ = snapshot_of_sequence(object, *how.iterators, count);
    if (!objects_) {
      return why.take();
    }
    load_result const result = both(load_each(how, why, indices()), reading_of(object));
    return result != load_result::after_python || confirm(why) ? result : load_result::refused;
  }
  bool confirm(element_refusal& why) noexcept { return confirm_each(why, indices()); }
  T extract() { return extract_each(indices()); }
  PyObject* first_tensor() const noexcept { return first_of_each(indices()); }

 private:
  template <std::size_t... Is>
  load_result load_each(element_mode const& how, element_refusal& why,
                        std::index_sequence<Is...>) noexcept {
    load_result result = load_result::fast;
    static_cast<void>(
        ((result = both(result, std::get<Is>(elements_).load(object_at(Is), how, why)),
          result != load_result::refused || (why.at_index(Py_ssize_t{Is}), false)) &&
         ...));
    return result;
  }
  template <std::size_t... Is>
  bool confirm_each(element_refusal& why, std::index_sequence<Is...>) noexcept {
    return ((std::get<Is>(elements_).confirm(why) ||
             why.at_index(Py_ssize_t{Is}) != load_result::refused) &&
            ...);
  }
  template <std::size_t... Is>
  T extract_each(std::index_sequence<Is...>) {
    return T{std::get<Is>(elements_).extract()...};
  }
  template <std::size_t... Is>
  PyObject* first_of_each(std::index_sequence<Is...>) const noexcept {
    PyObject* first = nullptr;
    static_cast<void>(((first = std::get<Is>(elements_).first_tensor(), first == nullptr) && ...));
    return first;
  }
  PyObject* object_at(std::size_t i) const noexcept {
    return PyTuple_GET_ITEM(objects_.get(), static_cast<Py_ssize_t>(i));
  }

  ref objects_{};  // a tuple
  std::tuple<element_argument<Elements, Others>...> elements_{};
};

template <std::size_t, class Element>
using repeated = Element;
template <class Element, class Indices>
struct repeated_elements;
template <class Element, std::size_t... Is>
struct repeated_elements<Element, std::index_sequence<Is...>> {
  using type = element_list<repeated<Is, Element>...>;
};

template <class T, class Others, class Elements>
class variant_argument;
template <class T, class Others, class... Elements>
class variant_argument<T, Others, element_list<Elements...>> {
  using indices = std::index_sequence_for<Elements...>;
  // Whether an alternative distinguishes numbers of its own type from those that it converts.
  static constexpr bool has_numbers = (converts_elements<Elements>() || ...);

 public:
  variant_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  // As a first attempt accepts only what needs no conversion: 1 is an int before it is a float.
  load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
    element_refusal reasons;
    load_result result = load_each(object, {how.exact || has_numbers, how.iterators}, reasons);
    if (has_numbers && !how.exact && result == load_result::refused && !reasons.is_fatal()) {
      reasons = element_refusal();
      result = both(load_each(object, how, reasons), load_result::after_python);
    }
    if (result == load_result::refused) {
      why = std::move(reasons);
    }
    return result;
  }
  bool confirm(element_refusal& why) noexcept { return confirm_each(why, indices()); }
  T extract() { return extract_from<0>(); }
  PyObject* first_tensor() const noexcept { return first_of_each(indices()); }

 private:
  load_result load_each(PyObject* object, element_mode const& how,
                        element_refusal& reasons) noexcept {
    load_result const result = load_first_of(object, how, reasons, indices());
    // An alternative that refused may have run Python code.
    return selected_ == 0 ? result : both(result, load_result::after_python);
  }
  template <std::size_t... Is>
  load_result load_first_of(PyObject* object, element_mode const& how, element_refusal& reasons,
                            std::index_sequence<Is...>) noexcept {
    load_result result = load_result::refused;
    static_cast<void>(((result = load_one<Is>(object, how, reasons),
                        result == load_result::refused && !reasons.is_fatal()) &&
                       ...));
    return result;
  }
  template <std::size_t Is>
  load_result load_one(PyObject* object, element_mode const& how,
                       element_refusal& reasons) noexcept {
    element_refusal reason;
    load_result const result = std::get<Is>(elements_).load(object, how, reason);
    if (result == load_result::refused) {
      Is == 0 ? static_cast<void>(reasons = std::move(reason))
              : reasons.add_alternative(std::move(reason));
    }
    selected_ = Is;
    return result;
  }
  template <std::size_t... Is>
  bool confirm_each(element_refusal& why, std::index_sequence<Is...>) noexcept {
    return ((Is != selected_ || std::get<Is>(elements_).confirm(why)) && ...);
  }
  template <std::size_t Is>
  T extract_from() {
    if constexpr (Is + 1 < sizeof...(Elements)) {
      if (Is != selected_) {
        return extract_from<Is + 1>();
      }
    }
    return T(std::in_place_index<Is>, std::get<Is>(elements_).extract());
  }
  template <std::size_t... Is>
  PyObject* first_of_each(std::index_sequence<Is...>) const noexcept {
    PyObject* first = nullptr;
    static_cast<void>(
        ((first = Is == selected_ ? std::get<Is>(elements_).first_tensor() : first), ...));
    return first;
  }

  std::tuple<element_argument<Elements, Others>...> elements_{};
  std::size_t selected_ = 0;
};
}  // namespace detail

template <class T, class Others>
class element_argument<T, Others, element_kind::tuple>
    : public detail::tuple_argument<T, Others, elements_of<T>> {};

template <class Element, std::size_t Size, class Others>
class element_argument<std::array<Element, Size>, Others, element_kind::array>
    : public detail::tuple_argument<
          std::array<Element, Size>, Others,
          typename detail::repeated_elements<Element, std::make_index_sequence<Size>>::type> {};

template <class T, class Others>
class element_argument<T, Others, element_kind::variant>
    : public detail::variant_argument<T, Others, elements_of<T>> {};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
