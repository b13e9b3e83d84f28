// library: what bound_function needs to know of pybind11; the casters of its arguments and results.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// T of T&, T const*, std::shared_ptr<T> and so on.
template <class P, class = void>
struct pointee {
  using type = std::remove_cv_t<std::remove_pointer_t<std::decay_t<P>>>;
  static constexpr bool refers = std::is_reference_v<P> || std::is_pointer_v<P>;
};
template <class P>  // a smart pointer: classes such as std::span have an element_type too
struct pointee<P, std::enable_if_t<std::is_base_of_v<
                      class_caster<typename std::decay_t<P>::element_type>, caster_of<P>>>> {
  using type = std::remove_cv_t<typename std::decay_t<P>::element_type>;
  static constexpr bool refers = true;
};
// Whether a parameter refers to an object of a bound class.
template <class P>
constexpr bool refers_to_object =
    pointee<P>::refers && std::is_base_of_v<class_caster<typename pointee<P>::type>, caster_of<P>>;

struct library {
  using args = py::args;
  using kwargs = py::kwargs;

  static constexpr bool truncates_numbers = true;
  static constexpr bool swaps_places = false;

  template <class P>
  using caster = caster_of<P>;
  template <class P>
  static P take(caster<P>& found) {
    return value_in<P>(std::move(found));
  }

  using passed_on = py::reference_cast_error;
  static bool is_passed_on(passed_on const&) noexcept { return true; }
  [[noreturn]] static void pass_on() { throw py::reference_cast_error(); }
  [[noreturn]] static void throw_pending() { on_pybind11::throw_pending(); }

  template <class First = py::object, class...>
  static constexpr bool first_owns =
      refers_to_object<First> || std::is_base_of_v<py::handle, std::decay_t<First>>;
  // pybind11 names the first argument as it was given, before an implicit conversion to First.
  template <class First = py::object, class...>
  static constexpr auto object_test() -> bool (*)(PyObject*) {
    if constexpr (refers_to_object<First>) {
      return [](PyObject* object) {
        return py::isinstance<typename pointee<First>::type>(py::handle(object));
      };
    } else {
      return nullptr;
    }
  }
};
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <class P>
class type_caster<dlbridge::python::detail::loaded_argument<P>> {
  using value_type = dlbridge::python::detail::loaded_argument<P>;

 public:
  static constexpr auto name =
      dlbridge::python::on_pybind11::descr_of<P, dlbridge::python::place::parameter>();
  template <class>
  using cast_op_type = value_type&;

  type_caster() noexcept {}  // user-provided: value-initialization does not zero the members
  bool load(handle source, bool convert) {
    namespace dp = dlbridge::python;
    return dp::binding::load<dp::on_pybind11::library>(value_, source.ptr(), convert);
  }
  operator value_type&() noexcept { return value_; }

 private:
  value_type value_{};
};
template <class P>
class type_caster<
    dlbridge::python::binding::found_object<dlbridge::python::on_pybind11::library, P>> {
  using value_type =
      dlbridge::python::binding::found_object<dlbridge::python::on_pybind11::library, P>;

 public:
  static constexpr auto name = make_caster<P>::name;
  template <class>
  using cast_op_type = value_type&;

  bool load(handle source, bool convert) {
    value_.caster = &caster_;
    return caster_.load(source, convert);
  }
  operator value_type&() noexcept { return value_; }

 private:
  make_caster<P> caster_{};
  value_type value_{};
};
template <class T>
class type_caster<dlbridge::python::binding::integer_argument<T>> {
 public:
  static constexpr auto name = make_caster<T>::name;
  template <class>
  using cast_op_type = dlbridge::python::binding::integer_argument<T>;

  bool load(handle source, bool convert) {
    namespace dp = dlbridge::python;
    if (!dp::binding::has_no_overload()) {
      return dp::scalar<T>::load(source.ptr(), value_.value) || refuse();
    }
    make_caster<T> caster;
    bool const fits = caster.load(source, convert);
    value_.value = fits ? cast_op<T>(caster) : T{};
    return fits;
  }
  operator dlbridge::python::binding::integer_argument<T>() const noexcept { return value_; }

 private:
  static bool refuse() {
    if (!dlbridge::python::suppress_exception()) {
      throw error_already_set();
    }
    return false;
  }

  dlbridge::python::binding::integer_argument<T> value_{};
};
template <class R, dlbridge::python::place Place>
class type_caster<dlbridge::python::binding::made_object<R, Place>> {
 public:
  static constexpr auto name = dlbridge::python::on_pybind11::descr_of<R, Place>();
  static handle cast(dlbridge::python::binding::made_object<R, Place>&& result, return_value_policy,
                     handle) {
    return result.object.release();
  }
};
template <class R, dlbridge::python::place Place>
class type_caster<dlbridge::python::binding::returned_value<R, Place>> {
 public:
  static constexpr auto name = dlbridge::python::on_pybind11::descr_of<R, Place>();
  static handle cast(dlbridge::python::binding::returned_value<R, Place>&& result,
                     return_value_policy, handle parent) {
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
