// pybind11_elements, pybind11_text: let containers of tensors hold what pybind11 converts, and
// annotate them.
// layer: bindings · from a Python argument to a C++ parameter and back
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// Whether None does not fit a parameter of type T, although pybind11's caster loads it as a null
// pointer.
template <class T>
bool is_null_object(PyObject* object) noexcept {
  using base = py::detail::type_caster_base<py::detail::intrinsic_t<T>>;  // not of smart pointers
  return object == Py_None && !std::is_pointer_v<T> &&
         std::is_base_of_v<base, py::detail::make_caster<T>>;
}

// Elements whose object other code owns. It must not be moved out of that object.
template <class T>
constexpr bool is_pointer_like = std::is_pointer_v<T>;
template <class T>
constexpr bool is_pointer_like<std::reference_wrapper<T>> = true;

// The conversions of elements that are neither tensors, numbers nor text: those of pybind11.
struct pybind11_elements {
  template <class T>
  static constexpr bool converts = true;

  template <class T>
  class argument : public element_without_tensor {
   public:
    load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
      try {
        if (!is_null_object<T>(object) && caster_.load(py::handle(object), !how.exact)) {
          return load_result::after_python;
        }
        api<PyErr_Format>(PyExc_TypeError, "expected %s; got %s", py::type_id<T>().c_str(),
                          Py_TYPE(object)->tp_name);
      } catch (py::error_already_set& e) {
        e.restore();
      } catch (std::exception const& e) {
        api<PyErr_SetString>(PyExc_TypeError, e.what());
      }
      return why.take();
    }
    T extract() { return py::detail::cast_op<T>(std::move(caster_)); }

   private:
    py::detail::make_caster<T> caster_{};
  };

  // The author may have bound a sequence or mapping as a class, as by py::bind_vector.
  static constexpr bool has_classes = true;
  template <class T>
  static bool is_bound() noexcept {
    return py::detail::get_type_info(typeid(T)) != nullptr;
  }
  template <class T>
  static T const* find_bound(PyObject* object) noexcept {
    py::detail::type_info const* const own = py::detail::get_type_info(typeid(T));
    if (own == nullptr || api<PyType_IsSubtype>(Py_TYPE(object), own->type) == 0) {
      return nullptr;
    }
    py::detail::type_caster_base<T> caster;
    return caster.load(object, false) ? static_cast<T*>(caster) : nullptr;
  }
  template <class T>
  static ref give_bound(T&& value) {
    return ref::steal(py::detail::type_caster_base<T>::cast(
                          std::move(value), py::return_value_policy::move, py::handle())
                          .ptr());
  }

  template <class T>
  static ref give(T&& value) {
    py::return_value_policy const policy = is_pointer_like<std::decay_t<T>>
                                               ? py::return_value_policy::copy
                                               : py::return_value_policy::move;
    return ref::steal(
        py::detail::make_caster<T>::cast(std::forward<T>(value), policy, py::handle()).ptr());
  }
};

// The text of annotations, as descr, pybind11's compile-time string.
struct pybind11_text {
  template <std::size_t N>
  static constexpr auto literal(char const (&text)[N]) {
    return py::detail::const_name(text);
  }
  template <class P>
  static constexpr auto tensor() {
    return tensor_caster<P>::name;
  }
  template <class T>
  static constexpr auto converted() {
    return py::detail::make_caster<T>::name;
  }
};

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
