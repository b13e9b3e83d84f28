// add_call_reasons: finds the reasons why pybind11 refused a call of a function that def bound.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/binding/refused_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

// pybind11 refuses a call for a wrong number of arguments, an unknown keyword, or an argument that
// is no tensor and that its caster does not accept. It lists the signature and the arguments, and
// does not say which of them it refused. The functions below read pybind11's own record of the
// function, and load each argument once more.
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
// Whether pybind11's caster of A accepts an object; an exception that it raises is the reason.
template <class A>
bool accepts(PyObject* object, bool convert) {
  py::detail::loader_life_support const guard{};
  py::detail::make_caster<A> caster;
  return !is_null_object<A>(object) && caster.load(py::handle(object), convert);
}

constexpr char const* caster_headers =
    "<pybind11/stl.h>, <pybind11/complex.h>, <pybind11/functional.h> or <pybind11/chrono.h>?";

// Whether an object is an integer of type T, or T is no type of integers. Overloads take no other
// number for one, which pybind11 would truncate.
template <class T>
bool is_integer(PyObject* object) noexcept {
  if constexpr (detail::is_bounded<T>) {
    T number{};
    return scalar<T>::load(object, number) || (suppress_exception(), false);
  }
  return true;
}

// Checks an argument for a parameter of type P, which may be a container of tensors.
template <class P, bool IsContainer>
DLBRIDGE_COLD void check_argument(refusals& reasons, refused_argument const& argument) {
  if constexpr (is_tensor_parameter<P>) {
    tensor_argument<P> tensor;
    bool const fits = argument.call != nullptr ? argument.call->load(tensor, argument.object)
                                               : tensor.load_again(argument.object);
    if (!fits) {
      reasons.add_if_refused(tensor, argument.name, argument.position);
    }
  } else if constexpr (IsContainer) {
    py::detail::loader_life_support const guard{};
    container_argument<P> container;  // a refused call reads no iterator
    if (PyIter_Check(argument.object) == 0 &&
        container.load(argument.object) == load_result::refused) {
      reasons.add_if_refused(container.refusal(), argument.name, argument.position);
    }
  } else if constexpr (!std::is_same_v<P, py::detail::value_and_holder>) {
    try {
      if (accepts<P>(argument.object, argument.converts) &&
          (argument.call == nullptr || is_integer<P>(argument.object))) {
        return;
      }
      detail::set_mismatch_of<P>(argument.expected, argument.object, caster_headers);
    } catch (...) {
      translator::translate();
    }
    reasons.add(argument.name, argument.position, take_exception());
  }
}

// The Signature of a refused_call, by pybind11's record.
class DLBRIDGE_LOCAL recorded_signature {
 public:
  explicit recorded_signature(py::detail::function_record const& own) noexcept : own_(&own) {}

  std::size_t size() const noexcept {
    return own_->nargs - (own_->has_args ? 1U : 0U) - (own_->has_kwargs ? 1U : 0U);
  }
  std::size_t positional() const noexcept { return own_->nargs_pos; }
  std::size_t positional_only() const noexcept { return own_->nargs_pos_only; }
  bool takes_args() const noexcept { return own_->has_args; }
  bool takes_kwargs() const noexcept { return own_->has_kwargs; }
  bool is_method() const noexcept { return own_->is_method; }
  char const* name(std::size_t i) const noexcept {
    if (i == 0 && own_->is_method) {
      return "self";
    }
    char const* const text = is_declared(i) ? own_->args[i].name : nullptr;
    return text != nullptr && *text != '\0' ? text : nullptr;
  }
  bool has_default(std::size_t i) const noexcept {
    return is_declared(i) && static_cast<bool>(own_->args[i].value);
  }

  // The number of a parameter with py::args, which is between the positional and the keyword-only
  // parameters.
  std::size_t with_packs(std::size_t i) const noexcept {
    return own_->has_args && i >= own_->nargs_pos ? i + 1 : i;
  }
  ref annotation(std::size_t i) const noexcept {
    return detail::annotation_in(own_->signature, with_packs(i));
  }
  bool refuses_none(std::size_t i) const noexcept { return is_declared(i) && !own_->args[i].none; }
  bool converts(std::size_t i) const noexcept { return !is_declared(i) || own_->args[i].convert; }

 private:
  bool is_declared(std::size_t i) const noexcept { return i < own_->args.size(); }

  py::detail::function_record const* own_;
};

// Throws TypeError for a default of None of a parameter of tensors that refuses it.
// tensors: bit i is set for each such parameter
DLBRIDGE_COLD inline void require_defaults(bound_record const& record, std::uint64_t tensors) {
  recorded_signature const own(*record.pybind11_record);
  auto const& declared = record.pybind11_record->args;
  for (std::size_t i = 0; i < own.size() && i < declared.size(); ++i) {
    std::size_t const bit = own.with_packs(i);
    if (declared[i].value.is_none() && bit < 64 && (tensors >> bit & 1) != 0) {
      detail::set_none_refused(record.name.c_str(), own.name(i));
      throw_pending();
    }
  }
}

// A call that pybind11 refused.
class DLBRIDGE_LOCAL library_refusal {
 public:
  // call: of an overload set, or null
  // keywords: as of refused_call
  library_refusal(bound_record const& record, overload_call* call, PyObject* const* args,
                  std::size_t count, PyObject* keywords) noexcept
      : record_(record),
        own_(*record.pybind11_record),
        call_(call),
        refused_(own_, args, count, keywords) {}

  // Adds the reasons: that of the call as a whole, or one for each argument that does not fit.
  DLBRIDGE_COLD void add_reasons(refusals& reasons) const {
    ref const about_call = refused_.reason();
    if (about_call) {
      reasons.add_about_call(about_call.get());
      return;
    }
    for (std::size_t i = 0; i < own_.size() && !reasons.fatal_exception(); ++i) {
      PyObject* const object = refused_.argument(i);
      if (object == nullptr) {
        continue;  // the default
      }
      ref const expected = own_.annotation(i);
      if (object == Py_None && own_.refuses_none(i)) {
        detail::set_mismatch(expected.get(), object, caster_headers);
        reasons.add(own_.name(i), refused_.position(i), take_exception());
      } else {
        record_.checks[own_.with_packs(i)](reasons, {object, own_.name(i), refused_.position(i),
                                                     expected.get(), own_.converts(i), call_});
      }
    }
  }

 private:
  bound_record const& record_;
  recorded_signature own_;
  overload_call* call_;
  binding::refused_call<recorded_signature> refused_;
};

// The add_reasons of a bound_record.
DLBRIDGE_COLD inline void add_call_reasons(function_record const& record, overload_call* call,
                                           refusals& reasons, PyObject* const* args,
                                           std::size_t count, PyObject* keywords) noexcept {
  auto const& own = static_cast<bound_record const&>(record);
  try {
    library_refusal(own, call, args, count, keywords).add_reasons(reasons);
  } catch (std::bad_alloc const&) {
    api<PyErr_NoMemory>();
  }
  if (PyErr_Occurred() != nullptr) {  // a message could not be written
    reasons.add(nullptr, 0, take_exception());
  }
}

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
