// container_argument<P>: one argument of one call that is a container of tensors; give_container
// converts a container to Python.
// layer: call · from a Python argument to a C++ parameter and back
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/element_tuple.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// One argument of one call that is a container of tensors, with the members of tensor_argument
/// that a call needs. Its elements are borrowed or owned as parameters of their type are.
/// @tparam P the container: see is_container
/// @tparam Others the conversions of elements that are neither tensors, numbers nor text
/// @par Lifetime
/// The object must outlive this container_argument, and this one what extract returns if that
/// borrows.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
template <class P, class Others = no_other_elements>
class container_argument {
 public:
  container_argument() noexcept {}  // user-provided: value-initialization does not zero the members

  /// Converts the elements of an object.
  /// @return refused if one of them does not fit; refusal() then states why. No exception is
  /// pending afterwards.
  load_result load(PyObject* object) noexcept { return load(object, iterators_); }
  /// The same in a call of several overloads.
  /// @param object the object
  /// @param iterators those that the overloads have read; they must outlive this object
  /// @return as the other load
  load_result load(PyObject* object, read_iterators& iterators) noexcept {
    // Python code may have run when a container other than a list, a tuple or a dict was read.
    return detail::both(element_.load(object, {false, &iterators}, why_),
                        load_result::after_python);
  }
  /// Borrows lent tensors once more, as tensor_argument::confirm.
  bool confirm() noexcept { return element_.confirm(why_); }
  /// @pre load returned a result other than refused; extract has not been called before
  P extract() { return element_.extract(); }

  element_refusal& refusal() noexcept { return why_; }
  /// @return the first object in the container that is a tensor, borrowed, or null
  PyObject* first_tensor() const noexcept { return element_.first_tensor(); }

 private:
  element_argument<P, Others> element_{};
  element_refusal why_{};
  read_iterators iterators_{};
};

namespace detail {
template <class P>
PyObject* first_in(tensor_argument<P> const& argument) noexcept {
  return argument.is_tensor() ? argument.object() : nullptr;
}
template <class P, class Others>
PyObject* first_in(container_argument<P, Others> const& argument) noexcept {
  return argument.first_tensor();
}
template <class Other>
PyObject* first_in(Other const&) noexcept {
  return nullptr;
}

/// @return the first tensor among the arguments of a call and their elements, borrowed, or null
template <class... Arguments>
PyObject* first_tensor_in(std::tuple<Arguments...> const& arguments) noexcept {
  return std::apply(
      [](auto const&... each) {
        PyObject* first = nullptr;
        static_cast<void>(((first = first_in(each), first == nullptr) && ...));
        return first;
      },
      arguments);
}

template <class Others, class T>
ref give_element(T&& value, PyObject* first_argument, library const* target);

// Sets an item of a new list or tuple. Returns false with an exception set.
inline bool set_item(PyObject* sequence, Py_ssize_t i, ref item) noexcept {
  if (!item) {
    return false;
  }
  PyList_Check(sequence) ? PyList_SET_ITEM(sequence, i, item.release())
                         : PyTuple_SET_ITEM(sequence, i, item.release());
  return true;
}

template <class Others, class T, std::size_t... I>
ref give_tuple(T&& value, PyObject* first_argument, library const* target,
               std::index_sequence<I...>) {
  ref result = ref::steal(api<PyTuple_New>(Py_ssize_t{sizeof...(I)}));
  bool const is_done =
      result &&
      (set_item(result.get(), Py_ssize_t{I},
                give_element<Others>(std::get<I>(std::move(value)), first_argument, target)) &&
       ...);
  return is_done ? std::move(result) : ref();
}

template <class Others, class T>
ref give_list(T&& value, PyObject* first_argument, library const* target) {
  ref result = ref::steal(api<PyList_New>(static_cast<Py_ssize_t>(value.size())));
  Py_ssize_t i = 0;
  for (auto&& each : value) {
    using element = typename std::decay_t<T>::value_type;
    if (!result || !set_item(result.get(), i++,
                             give_element<Others>(static_cast<element>(std::move(each)),
                                                  first_argument, target))) {
      return ref();
    }
  }
  return result;
}

template <class Others, class T>
ref give_dict(T&& value, PyObject* first_argument, library const* target) {
  ref result = ref::steal(api<PyDict_New>());
  for (auto&& [key, element] : value) {
    ref const own_key =
        result ? give_element<Others>(typename std::decay_t<T>::key_type(key), nullptr, nullptr)
               : ref();
    ref const own =
        own_key ? give_element<Others>(std::move(element), first_argument, target) : ref();
    if (!own || api<PyObject_SetItem>(result.get(), own_key.get(), own.get()) != 0) {
      return ref();
    }
  }
  return result;
}

template <class Others, std::size_t I, class T>
ref give_alternative(T&& value, PyObject* first_argument, library const* target) {
  if (value.index() == I) {
    using std::get;  // that of variants is found by the type of the argument
    return give_element<Others>(get<I>(std::move(value)), first_argument, target);
  }
  if constexpr (I == 0) {
    api<PyErr_Format>(PyExc_ValueError, "a variant without a value");
    return ref();
  } else {
    return give_alternative<Others, I - 1>(std::move(value), first_argument, target);
  }
}

template <class... Elements>
constexpr std::size_t size_of(element_list<Elements...>) noexcept {
  return sizeof...(Elements);
}

template <class Others, class T>
ref give_element(T&& value, PyObject* first_argument, library const* target) {
  using type = std::decay_t<T>;
  constexpr element_kind kind = kind_of<type>;
  if constexpr (kind == element_kind::tensor) {
    return give_result(std::move(value), first_argument, target);
  } else if constexpr (kind == element_kind::scalar) {
    return ref::steal(scalar<type>::make(value));
  } else if constexpr (kind == element_kind::text) {
    return ref::steal(
        api<PyUnicode_FromStringAndSize>(value.data(), static_cast<Py_ssize_t>(value.size())));
  } else if constexpr (kind == element_kind::nothing) {
    return ref::borrow(Py_None);
  } else if constexpr (kind == element_kind::optional) {
    return value ? give_element<Others>(std::move(*value), first_argument, target)
                 : ref::borrow(Py_None);
  } else if constexpr (kind == element_kind::array) {
    return give_list<Others>(std::move(value), first_argument, target);
  } else if constexpr (kind == element_kind::sequence || kind == element_kind::mapping) {
    if constexpr (may_be_bound<type, Others>) {
      if (Others::template is_bound<type>()) {
        return Others::give_bound(std::move(value));
      }
    }
    if constexpr (kind == element_kind::sequence) {
      return give_list<Others>(std::move(value), first_argument, target);
    } else {
      return give_dict<Others>(std::move(value), first_argument, target);
    }
  } else if constexpr (kind == element_kind::tuple) {
    return give_tuple<Others>(std::move(value), first_argument, target,
                              std::make_index_sequence<size_of(elements_of<type>())>());
  } else if constexpr (kind == element_kind::variant) {
    return give_alternative<Others, size_of(elements_of<type>()) - 1>(std::move(value),
                                                                      first_argument, target);
  } else {
    ref object = Others::give(std::move(value));
    if (!object && PyErr_Occurred() == nullptr) {  // nanobind's casters state no reason
      api<PyErr_SetString>(PyExc_TypeError,
                           "no Python type is bound to the C++ type of an element of the result");
    }
    return object;
  }
}
}  // namespace detail

/// Converts a C++ container of tensors to a Python object: a list, a tuple, a dict, None, or one of
/// its elements. Each tensor becomes an object of the library that give_result selects.
/// @param result the container, as an rvalue
/// @param first_argument the first tensor argument, or null
/// @param target the library that `returns` names, or null
/// @return the object, or an empty ref with a Python exception set
/// @par Thread and GIL
/// The caller holds the GIL.
template <class Others = no_other_elements, class Container>
ref give_container(Container&& result, PyObject* first_argument, library const* target) {
  static_assert(!std::is_lvalue_reference_v<Container>, "dlbridge: pass the result as an rvalue");
  ref object = detail::give_element<Others>(std::move(result), first_argument, target);
  if (!object) {
    error_keeper const pending;  // while the deleters of the other tensors run
    std::decay_t<Container> const rest(std::move(result));
  }
  return object;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
