// element_casters, annotation_text: let containers of tensors hold what pybind11 converts, and
// annotate them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// Whether None does not fit a parameter of type T, although pybind11's caster loads it as a null
// pointer.
template <class T>
bool is_null_object(PyObject* object) noexcept {
  using base = py::detail::type_caster_base<py::detail::intrinsic_t<T>>;  // not of smart pointers
  return object == Py_None && !std::is_pointer_v<T> &&
         std::is_base_of_v<base, py::detail::make_caster<T>>;
}

template <class T, class = void>
constexpr bool is_set = false;
template <class T>
constexpr bool is_set<T, std::void_t<typename T::key_type>> = true;

// The conversions of elements that are neither tensors, numbers nor text: those of pybind11.
struct DLBRIDGE_LOCAL element_casters {
  template <class T>
  static constexpr bool converts = true;
  static constexpr bool accepts_bytes = true;

  template <class T>
  class argument : public element_without_tensor {
   public:
    load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
      try {
        if (reads_elements<T> && PyIter_Check(object) != 0 && !is_bound<T>()) {
          elements_ = how.iterators->elements_of(object);
          if (elements_ && is_set<T>) {  // pybind11 makes no set of a tuple
            elements_ = ref::steal(api<PyFrozenSet_New>(elements_.get()));
          }
          if (!elements_) {
            return why.take();
          }
          object = elements_.get();
        }
        if (!is_null_object<T>(object) && caster_.load(py::handle(object), !how.exact)) {
          return load_result::after_python;
        }
        api<PyErr_Format>(PyExc_TypeError, "expected %s; got %s",
                          py::type_id<std::remove_cv_t<std::remove_pointer_t<T>>>().c_str(),
                          Py_TYPE(object)->tp_name);
      } catch (py::error_already_set& e) {
        e.restore();
      } catch (std::exception const& e) {
        set_error_text(PyExc_TypeError, e.what());
      }
      return why.take();
    }
    T extract() { return py::detail::cast_op<T>(std::move(caster_)); }

   private:
    ref elements_{};  // of an iterator, as a tuple or a set
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
};

// The conversions of the same elements of one result.
struct DLBRIDGE_LOCAL result_casters : element_casters {
  py::return_value_policy policy;
  py::handle parent;                // the object of a method, or null
  bool (*may_refer_to)(PyObject*);  // as of returned_value

  result_casters(py::return_value_policy own_policy, py::handle own_parent,
                 bool (*own_test)(PyObject*)) noexcept
      : policy(own_policy), parent(own_parent), may_refer_to(own_test) {}

  template <class T>
  ref give(T&& value) const {
    using own_policy = py::detail::return_value_policy_override<T>;
    return ref::steal(
        py::detail::make_caster<T>::cast(std::forward<T>(value), own_policy::policy(policy), parent)
            .ptr());
  }
  template <class T>
  static ref give_bound(T&& value) {
    return ref::steal(py::detail::type_caster_base<T>::cast(
                          std::move(value), py::return_value_policy::move, py::handle())
                          .ptr());
  }
  ref give_view(member_view const& view, PyObject* first_argument, returns as) const {
    if (parent && may_refer_to != nullptr && !may_refer_to(parent.ptr())) {
      throw py::type_error(
          "a dlbridge::member_view refers to an object that was converted for this call only; "
          "pass an object of the class itself");
    }
    return ref::steal(
        py::detail::type_caster<member_view>::give(view, parent, first_argument, as).ptr());
  }
};

// The text of annotations, as descr, pybind11's compile-time string.
struct annotation_text {
  template <std::size_t N>
  static constexpr auto literal(char const (&text)[N]) {
    return py::detail::const_name(text);
  }
  template <class P>
  static constexpr auto tensor() {
    return descr_of<P>();
  }
  template <class T>
  static constexpr auto converted() {
    return py::detail::make_caster<T>::name;
  }
};

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
