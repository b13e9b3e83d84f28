// The inline bodies of container_result.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// What the elements of one result have in common: see give_container.
struct result_context {
  PyObject* first_argument;
  result_choice as;
  PyObject* object;
};

// Converts an element. Returns an empty ref with an exception set if that is impossible.
template <class T>
ref give_element(T&& value, result_context const& context);

template <class T, std::size_t... Is>
ref give_tuple(T&& value, result_context const& context, std::index_sequence<Is...>) {
  ref result = ref::steal(api<PyTuple_New>(Py_ssize_t{sizeof...(Is)}));
  bool const is_done =
      result && (set_item(result.get(), Py_ssize_t{Is},
                          detail::give_element(std::get<Is>(std::move(value)), context)) &&
                 ...);
  return is_done ? std::move(result) : ref();
}

template <class T, std::size_t... Is>
ref give_alternative(T&& value, result_context const& context, std::index_sequence<Is...>) {
  using std::get;  // that of variants is found by the type of the argument
  ref result;
  bool const has_value =
      ((value.index() == Is &&
        (result = detail::give_element(get<Is>(std::move(value)), context), true)) ||
       ...);
  if (!has_value) {
    api<PyErr_Format>(PyExc_ValueError, "a variant without a value");
  }
  return result;
}

template <class T>
ref give_list(T&& value, result_context const& context) {
  using element = typename std::decay_t<T>::value_type;
  ref result = ref::steal(api<PyList_New>(static_cast<Py_ssize_t>(value.size())));
  Py_ssize_t i = 0;
  for (auto&& each : value) {
    if (!result ||
        !set_item(result.get(), i++,
                  detail::give_element(static_cast<element>(std::move(each)), context))) {
      return ref();
    }
  }
  return result;
}

template <class T>
ref give_dict(T&& value, result_context const& context) {
  ref result = ref::steal(api<PyDict_New>());
  for (auto&& [key, element] : value) {
    ref const own_key = result ? ref::steal(scalar<std::string>::make(key)) : ref();
    ref const own = own_key ? detail::give_element(std::move(element), context) : ref();
    if (!own || api<PyObject_SetItem>(result.get(), own_key.get(), own.get()) != 0) {
      return ref();
    }
  }
  return result;
}

template <class T>
ref give_element(T&& value, result_context const& context) {
  using type = std::decay_t<T>;
  constexpr element_kind kind = kind_of<type>;
  using indices = std::make_index_sequence<elements_of<type>::size>;
  if constexpr (kind == element_kind::tensor) {
    return python::give_result(std::move(value), context.first_argument, context.as);
  } else if constexpr (kind == element_kind::view) {
    return give_view(value, context.object, context.first_argument, context.as);
  } else if constexpr (kind == element_kind::scalar) {
    return ref::steal(scalar<type>::make(value));
  } else if constexpr (kind == element_kind::optional) {
    return value ? detail::give_element(std::move(*value), context) : ref::borrow(Py_None);
  } else if constexpr (kind == element_kind::tuple && !is_array<type>) {
    return give_tuple(std::move(value), context, indices());
  } else if constexpr (kind == element_kind::variant) {
    return give_alternative(std::move(value), context, indices());
  } else if constexpr (is_mapping<type>) {
    return give_dict(std::move(value), context);
  } else {
    return give_list(std::move(value), context);
  }
}
}  // namespace detail

template <class Container>
ref give_container(Container&& result, PyObject* first_argument, result_choice as,
                   PyObject* object) {
  static_assert(!std::is_lvalue_reference_v<Container>, "dlbridge: pass the result as an rvalue");
  ref made =
      detail::give_element(std::move(result), detail::result_context{first_argument, as, object});
  if (!made) {
    error_keeper const pending;  // while the deleters of the other tensors run
    std::decay_t<Container> const rest(std::move(result));
  }
  return made;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
