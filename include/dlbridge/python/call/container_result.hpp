// give_container: converts a C++ container of tensors, a result, to a Python object.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

// Sets an item of a new list or tuple. Returns false with an exception set.
inline bool set_item(PyObject* sequence, Py_ssize_t i, ref item) noexcept {
  if (!item) {
    return false;
  }
  PyList_Check(sequence) ? PyList_SET_ITEM(sequence, i, item.release())
                         : PyTuple_SET_ITEM(sequence, i, item.release());
  return true;
}

template <class... Elements>
constexpr std::size_t size_of(element_list<Elements...>) noexcept {
  return sizeof...(Elements);
}

// Converts the elements of one result.
// Others: converts those that are neither tensors, numbers nor text
template <class Others>
class element_giver {
 public:
  // first_argument: the first tensor argument of the call, or null
  // as: as of give_result
  element_giver(Others const& others, PyObject* first_argument, returns as) noexcept
      : others_(others), first_argument_(first_argument), as_(as) {}

  // Returns an empty ref with an exception set if the element cannot be converted.
  template <class T>
  ref give(T&& value) const {
    using type = std::decay_t<T>;
    constexpr element_kind kind = kind_of<type>;
    if constexpr (kind == element_kind::tensor) {
      return python::give_result(std::move(value), first_argument_, as_);
    } else if constexpr (kind == element_kind::scalar) {
      return ref::steal(scalar<type>::make(value));
    } else if constexpr (kind == element_kind::text) {
      return ref::steal(
          api<PyUnicode_FromStringAndSize>(value.data(), static_cast<Py_ssize_t>(value.size())));
    } else if constexpr (kind == element_kind::nothing) {
      return ref::borrow(Py_None);
    } else if constexpr (kind == element_kind::optional) {
      return value ? give(std::move(*value)) : ref::borrow(Py_None);
    } else if constexpr (kind == element_kind::tuple) {
      return give_tuple(std::move(value), std::make_index_sequence<size_of(elements_of<type>())>());
    } else if constexpr (kind == element_kind::variant) {
      return give_alternative<size_of(elements_of<type>()) - 1>(std::move(value));
    } else if constexpr (kind == element_kind::other) {
      return give_other(std::move(value));
    } else {
      return give_collection(std::move(value));
    }
  }

 private:
  template <class T, std::size_t... Is>
  ref give_tuple(T&& value, std::index_sequence<Is...>) const {
    ref result = ref::steal(api<PyTuple_New>(Py_ssize_t{sizeof...(Is)}));
    bool const is_done =
        result &&
        (set_item(result.get(), Py_ssize_t{Is}, give(std::get<Is>(std::move(value)))) && ...);
    return is_done ? std::move(result) : ref();
  }

  template <std::size_t Is, class T>
  ref give_alternative(T&& value) const {
    if (value.index() == Is) {
      using std::get;  // that of variants is found by the type of the argument
      return give(get<Is>(std::move(value)));
    }
    if constexpr (Is == 0) {
      api<PyErr_Format>(PyExc_ValueError, "a variant without a value");
      return ref();
    } else {
      return give_alternative<Is - 1>(std::move(value));
    }
  }

  template <class T>
  ref give_collection(T&& value) const {
    using type = std::decay_t<T>;
    constexpr element_kind kind = kind_of<type>;
    if constexpr (kind != element_kind::array && may_be_bound<type, Others>) {
      if (Others::template is_bound<type>()) {
        return Others::give_bound(std::move(value));
      }
    }
    if constexpr (kind == element_kind::mapping) {
      return give_dict(std::move(value));
    } else {
      return give_list(std::move(value));
    }
  }
  template <class T>
  ref give_list(T&& value) const {
    using element = typename std::decay_t<T>::value_type;
    ref result = ref::steal(api<PyList_New>(static_cast<Py_ssize_t>(value.size())));
    Py_ssize_t i = 0;
    for (auto&& each : value) {
      if (!result || !set_item(result.get(), i++, give(static_cast<element>(std::move(each))))) {
        return ref();
      }
    }
    return result;
  }
  template <class T>
  ref give_dict(T&& value) const {
    ref result = ref::steal(api<PyDict_New>());
    for (auto&& [key, element] : value) {
      ref const own_key = result ? give(typename std::decay_t<T>::key_type(key)) : ref();
      ref const own = own_key ? give(std::move(element)) : ref();
      if (!own || api<PyObject_SetItem>(result.get(), own_key.get(), own.get()) != 0) {
        return ref();
      }
    }
    return result;
  }

  template <class T>
  ref give_other(T&& value) const {
    if constexpr (std::is_same_v<std::decay_t<T>, member_view>) {
      return others_.give_view(value, first_argument_, as_);
    } else {
      ref object = others_.give(std::move(value));
      if (!object && PyErr_Occurred() == nullptr) {  // nanobind's casters state no reason
        set_error_text(PyExc_TypeError,
                       "no Python type is bound to the C++ type of an element of the result");
      }
      return object;
    }
  }

  Others others_;
  PyObject* first_argument_;
  returns as_;
};
}  // namespace detail

/// Converts a C++ container of tensors to a Python object: a list, a tuple, a dict, None, or one of
/// its elements. Each tensor becomes an object of the library that give_result selects.
/// @param result the container, as an rvalue
/// @param first_argument the first tensor argument, or null
/// @param as as of give_result
/// @param others converts the elements that are neither tensors, numbers nor text
/// @return the object, or an empty ref with a Python exception set
/// @par Thread and GIL
/// The caller holds the GIL.
template <class Container, class Others = no_other_elements>
ref give_container(Container&& result, PyObject* first_argument, returns as,
                   Others const& others = Others()) {
  static_assert(!std::is_lvalue_reference_v<Container>, "dlbridge: pass the result as an rvalue");
  detail::element_giver<Others> const giver(others, first_argument, as);
  ref object = giver.give(std::move(result));
  if (!object) {
    error_keeper const pending;  // while the deleters of the other tensors run
    std::decay_t<Container> const rest(std::move(result));
  }
  return object;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
