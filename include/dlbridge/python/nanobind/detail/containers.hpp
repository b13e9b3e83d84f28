// element_casters, annotation_text: let containers of tensors hold what nanobind converts, and
// annotate them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/read_iterators.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// The objects that a conversion made, which live as long as this list.
struct DLBRIDGE_LOCAL owned_objects : nb::detail::cleanup_list {
#if NB_VERSION_MAJOR >= 3
  owned_objects() : cleanup_list(nullptr, NB_CTX) {}
#else
  owned_objects() : cleanup_list(nullptr) {}
#endif
  owned_objects(owned_objects const&) = delete;
  owned_objects& operator=(owned_objects const&) = delete;
  ~owned_objects() { release(); }
};

// The name of the class as which T is bound; of another type the annotation, if that is one text.
template <class T>
DLBRIDGE_COLD ref name_of_class() noexcept {
  nb::handle const type = nb::type<nb::detail::intrinsic_t<T>>();
  char const* const text = nb::detail::make_caster<T>::Name.text;
  return ref::steal(api<PyUnicode_FromString>(
      type.is_valid()                       ? reinterpret_cast<PyTypeObject*>(type.ptr())->tp_name
      : std::strpbrk(text, "@%") == nullptr ? text
                                            : "another type"));
}

// The conversions of elements that are neither tensors, numbers nor text: those of nanobind.
struct DLBRIDGE_LOCAL element_casters {
  template <class T>
  static constexpr bool converts = true;
  static constexpr bool accepts_bytes = false;

  template <class T>
  class argument : public element_without_tensor {
   public:
    load_result load(PyObject* object, element_mode const& how, element_refusal& why) noexcept {
      auto const flags = static_cast<nb::detail::cast_flags>(
          how.exact ? 0 : static_cast<int>(nb::detail::cast_flags::convert));
      if (reads_elements<T> && PyIter_Check(object) != 0 && !is_bound<T>()) {
        elements_ = how.iterators->elements_of(object);
        if (!elements_) {
          return why.take();
        }
        object = elements_.get();
      }
      if (caster_.from_python(object, flags, &made_) && caster_.template can_cast<T>()) {
        return load_result::after_python;
      }
      if (set_not_initialized(object)) {
        return why.take();
      }
      ref const expected = name_of_class<T>();
      if (expected) {
        api<PyErr_Format>(PyExc_TypeError, "expected %U; got %s", expected.get(),
                          Py_TYPE(object)->tp_name);
      }
      return why.take();
    }
    T extract() { return caster_.operator nb::detail::cast_t<T>(); }

   private:
    ref elements_{};  // of an iterator, as a tuple
    owned_objects made_{};
    nb::detail::make_caster<T> caster_{};
  };

  // The author may have bound a sequence or mapping as a class, as by nb::bind_vector.
  static constexpr bool has_classes = true;
  template <class T>
  static bool is_bound() noexcept {
    return nb::type<T>().is_valid();
  }
  template <class T>
  static T const* find_bound(PyObject* object) noexcept {
    nb::handle const type = nb::type<T>();
    bool const is_bound =
        type.is_valid() &&
        api<PyType_IsSubtype>(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type.ptr())) != 0;
    return is_bound && nb::inst_ready(object) ? nb::inst_ptr<T>(object) : nullptr;
  }
};

// The conversions of the same elements of one result.
struct DLBRIDGE_LOCAL result_casters : element_casters {
  nb::rv_policy policy;
  nb::detail::cleanup_list* call;  // or null

  result_casters(nb::rv_policy own_policy, nb::detail::cleanup_list* own_call) noexcept
      : policy(own_policy), call(own_call) {}

  template <class T>
  ref give(T&& value) const {
    return ref::steal(
        nb::detail::make_caster<T>::from_cpp(std::forward<T>(value), policy, call).ptr());
  }
  template <class T>
  static ref give_bound(T&& value) {
    return ref::steal(
        nb::detail::type_caster_base<T>::from_cpp(std::move(value), nb::rv_policy::move, nullptr)
            .ptr());
  }
  ref give_view(member_view const& view, PyObject* first_argument, returns as) const {
    return ref::steal(
        nb::detail::make_caster<member_view>::give(view, call, first_argument, as).ptr());
  }
};

// The text of annotations, as descr, nanobind's compile-time string.
struct annotation_text {
  template <std::size_t N>
  static constexpr auto literal(char const (&text)[N]) {
    return nb::detail::const_name(text);
  }
  template <class P>
  static constexpr auto tensor() {
    return descr_of<P>();
  }
  template <class T>
  static constexpr auto converted() {
    return nb::detail::make_caster<T>::Name;
  }
};

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
