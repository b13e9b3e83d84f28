// bound_function: the function object that def passes to pybind11, and the casters of its arguments
// and result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/bound_call.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>
#include <dlbridge/python/pybind11/detail/refused_call.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// The bound class to whose object a parameter refers; void for other parameters.
template <class P, class = void>
struct class_of {
  using plain = py::detail::intrinsic_t<P>;
  static constexpr bool is_class =
      std::is_base_of_v<py::detail::type_caster_base<plain>, py::detail::make_caster<P>> &&
      (std::is_reference_v<P> || std::is_pointer_v<P>);
  using type = std::conditional_t<is_class, plain, void>;
};
template <class P>  // a smart pointer
struct class_of<P,
                std::enable_if_t<std::is_base_of_v<
                    py::detail::type_caster_base<typename py::detail::intrinsic_t<P>::element_type>,
                    py::detail::make_caster<P>>>> {
  using type = typename py::detail::intrinsic_t<P>::element_type;
};

// The Library of a bound_call.
struct call_traits {
  using record = bound_record;
  template <class P>
  using given = binding::given_tensor<P>;

  template <class P>
  using caster = py::detail::make_caster<P>;
  template <class P>
  static P take(caster<P>& found) {
    return py::detail::cast_op<P>(std::move(found));
  }

  [[noreturn]] static void throw_pending() { on_pybind11::throw_pending(); }
  template <class First = py::object, class...>
  static constexpr bool first_owns = !std::is_void_v<typename class_of<First>::type> ||
                                     std::is_base_of_v<py::handle, std::decay_t<First>>;
  template <class... Values>
  static overload_call* enter(bound_record const& record, Values const&...) noexcept {
    return record.is_overloaded ? overload_call::enter(record) : nullptr;
  }
  // pybind11 names the first argument as it was given, before an implicit conversion to First.
  template <class First = py::object, class...>
  static constexpr auto object_test() -> bool (*)(PyObject*) {
    using type = typename class_of<First>::type;
    if constexpr (!std::is_void_v<type>) {
      return [](PyObject* object) { return py::isinstance<type>(py::handle(object)); };
    } else {
      return nullptr;
    }
  }
  [[noreturn]] DLBRIDGE_COLD static void refuse(bound_record const& record, overload_call* call,
                                                refusals&& reasons) {
    // pybind11 tries the overload that a plain m.def added, or returns NotImplemented.
    if ((record.pybind11_record->is_operator || record.has_plain_overload()) &&
        !reasons.fatal_exception()) {
      throw py::reference_cast_error();
    }
    if (call != nullptr) {
      call->refuse(std::move(reasons));
    } else {
      reasons.set_error(record.name.c_str());
    }
    has_stated_reasons() = true;
    throw_pending();
  }
};

template <class F, class Guard, class Signature>
using bound_function = binding::bound_call<call_traits, F, Guard, Signature>;

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <class P>
class type_caster<dlbridge::python::binding::given_tensor<P>> {
  using given_tensor = dlbridge::python::binding::given_tensor<P>;

 public:
  static constexpr auto name =
      dlbridge::python::on_pybind11::descr_of<P, dlbridge::python::place::parameter>();
  template <class>
  using cast_op_type = given_tensor&;

  // pybind11 tries several overloads twice, and the elements of an iterator are read once.
  bool load(handle source, bool convert) noexcept {
    value_.object = source.ptr();
    return convert || dlbridge::python::is_tensor_parameter<P> || PyIter_Check(source.ptr()) == 0;
  }
  operator given_tensor&() noexcept { return value_; }

 private:
  given_tensor value_{};
};
template <class P>
class type_caster<
    dlbridge::python::binding::found_object<dlbridge::python::on_pybind11::call_traits, P>> {
  using found_object =
      dlbridge::python::binding::found_object<dlbridge::python::on_pybind11::call_traits, P>;

 public:
  static constexpr auto name = make_caster<P>::name;
  template <class>
  using cast_op_type = found_object;

  bool load(handle source, bool convert) { return caster_.load(source, convert); }
  operator found_object() noexcept { return {&caster_}; }

 private:
  make_caster<P> caster_{};
};
template <class R>
class type_caster<dlbridge::python::binding::made_object<R>> {
 public:
  static constexpr auto name =
      dlbridge::python::on_pybind11::descr_of<R, dlbridge::python::place::result>();
  static handle cast(dlbridge::python::binding::made_object<R>&& result, return_value_policy,
                     handle) {
    return result.object.release();
  }
};
template <class R>
class type_caster<dlbridge::python::binding::returned_value<R>> {
 public:
  static constexpr auto name =
      dlbridge::python::on_pybind11::descr_of<R, dlbridge::python::place::result>();
  static handle cast(dlbridge::python::binding::returned_value<R>&& result, return_value_policy,
                     handle parent) {
    namespace dp = dlbridge::python;
    if (dp::detail::is_view_or_holds_one<R> && parent && result.may_refer_to != nullptr &&
        !result.may_refer_to(parent.ptr())) {
      throw type_error(
          "a dlbridge::member_view refers to an object that was converted for this call only; "
          "pass an object of the class itself");
    }
    return dp::on_pybind11::checked(dp::give_container(std::move(result.value),
                                                       result.first_argument.get(), result.as,
                                                       parent.ptr()))
        .release();
  }
};
}  // namespace detail
}  // namespace pybind11 DLBRIDGE_LOCAL
