// check_of: the function that adds the reason why a parameter does not accept an argument.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <memory>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bound_function.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/detail/refused_call.hpp>
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

template <class A>
constexpr bool is_unique_pointer = false;
template <class T>
constexpr bool is_unique_pointer<std::unique_ptr<T>> = true;

// Sets the TypeError of an object that fits a std::unique_ptr, but does not own its memory alone.
DLBRIDGE_COLD inline void set_not_transferable(PyObject* expected) noexcept {
  if (expected != nullptr) {
    api<PyErr_Format>(PyExc_TypeError,
                      "expected an object of %U that C++ created and can own; got one that its "
                      "class created in Python, or that was passed on before. For the author: "
                      "declare the parameter as std::unique_ptr<T, nb::deleter<T>>, or as a "
                      "reference",
                      expected);
  }
}

// Whether nanobind's caster of A accepts an object.
template <class A>
DLBRIDGE_COLD void check_converted(refusals& reasons, overload_call&,
                                   refused_argument const& argument) {
  nb::detail::make_caster<A> caster;
  owned_objects made;
  auto const flags = argument.converts ? nb::detail::cast_flags::convert : nb::detail::cast_flags{};
  bool const has_type = caster.from_python(argument.object, flags, &made);
  bool const fits = has_type && caster.template can_cast<A>();
  if (!fits) {
    if (is_unique_pointer<std::decay_t<A>> && has_type && argument.object != Py_None) {
      set_not_transferable(argument.expected);
    } else if (!set_not_initialized(argument.object)) {
      detail::set_mismatch_of<std::decay_t<A>>(argument.expected, argument.object, caster_headers);
    }
    reasons.add(argument.name, argument.position, take_exception());
  }
}
// The same for the object of a method, whose annotation is "self".
template <class A>
DLBRIDGE_COLD void check_self(refusals& reasons, overload_call& imports,
                              refused_argument const& argument) {
  ref const expected = name_of_class<A>();
  refused_argument self = argument;
  self.expected = expected.get();
  check_converted<A>(reasons, imports, self);
}
template <class P>
DLBRIDGE_COLD void check_tensor(refusals& reasons, overload_call& imports,
                                refused_argument const& argument) {
  tensor_argument<P> tensor;
  if (!imports.load(tensor, argument.object)) {
    reasons.add_if_refused(tensor, argument.name, argument.position);
  }
}

// A refused call reads no iterator.
template <class P>
DLBRIDGE_COLD void check_container(refusals& reasons, overload_call&,
                                   refused_argument const& argument) {
  container_argument<P> container;
  if (PyIter_Check(argument.object) == 0 &&
      container.load(argument.object) == load_result::refused) {
    reasons.add_if_refused(container.refusal(), argument.name, argument.position);
  }
}

template <class A>
constexpr argument_check check_of() noexcept {
  using plain = nb::detail::intrinsic_t<A>;
  if constexpr (is_tensor_parameter<std::decay_t<A>>) {
    return &check_tensor<std::decay_t<A>>;
  } else if constexpr (binding::is_container_parameter<call_traits, A>) {
    return &check_container<std::decay_t<A>>;
  } else if constexpr (std::is_same_v<plain, nb::args> || std::is_same_v<plain, nb::kwargs>) {
    return nullptr;
  } else {
    return &check_converted<A>;
  }
}

template <class First = nb::handle, class...>
constexpr argument_check self_check() noexcept {
  if constexpr (refers_to_object<First>) {
    return &check_self<First>;
  } else {
    return nullptr;
  }
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
