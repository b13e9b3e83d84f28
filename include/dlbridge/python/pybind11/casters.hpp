// type_caster<P>: converts every tensor type for functions that plain pybind11 binds, and for
// py::cast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/literal_text.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/signature.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace python {
namespace on_pybind11 {
// An annotation as a descr, pybind11's compile-time string.
template <class Composer, std::size_t... Is>
constexpr auto make_descr(std::index_sequence<Is...>) {
  constexpr auto text = compose<Composer>();
  return make_text<text.data[Is]...>();
}
template <class T, place Place>
constexpr auto descr_of() {
  using composer = annotation_composer<T, Place>;
  return make_descr<composer>(std::make_index_sequence<compose<composer>().size>());
}

// Extracts a borrowed tensor from a caster that may not live as long as the call: pybind11 destroys
// the casters of a container's elements before the call, and those of py::cast at once. The import
// and the object are kept until the function of pybind11 that is being called returns. Outside one,
// pybind11 throws cast_error.
template <class P>
P extract_for_call(tensor_argument<P>&& source) {
  struct kept_argument {
    ref object;
    tensor_argument<P> argument;
  };
  auto kept = std::make_unique<kept_argument>(
      kept_argument{ref::borrow(source.object()), std::move(source)});
  P result = kept->argument.extract();
  py::capsule const patient(kept.get(),
                            [](void* each) { delete static_cast<kept_argument*>(each); });
  static_cast<void>(kept.release());
  on_pybind11::keep_for_call(patient);
  return result;
}

// The caster of a tensor type: load() imports an argument, the conversion operator moves it out,
// and cast() converts a result.
template <class P>
class tensor_caster {
 public:
  // One annotation for parameters, another for results.
  static constexpr auto name =
      make_text("@") + descr_of<P, place::parameter>() + make_text("@typing.Any@");

  tensor_caster() noexcept {}  // user-provided: value-initialization does not zero the members

  // Throws an exception of the producer that is no refusal, such as KeyboardInterrupt.
  //
  // The caster of a parameter, which lives until the call returns, is known by what it is passed: a
  // handle& and a `convert` from pybind11's own vector. Casters of containers pass an lvalue, and
  // py::cast a const handle&.
  template <class Source, class Convert>
  bool load(Source&& source, Convert&& convert) {
    constexpr bool is_parameter =
        std::is_same_v<std::decay_t<Convert>, std::vector<bool>::reference> ||
        (std::is_same_v<Source, py::handle&> && !std::is_lvalue_reference_v<Convert>);
    is_parameter_ = is_parameter;
    if constexpr (is_parameter) {
      return load_object(py::handle(source), convert);
    } else {
      return load_element(py::handle(source), convert);
    }
  }

  // Only parameters of type P const& use the reference; their casters outlive the call.
  template <class T>
  using cast_op_type = std::conditional_t<parameter<P>::borrows && std::is_lvalue_reference_v<T> &&
                                              std::is_const_v<std::remove_reference_t<T>>,
                                          P const&, P>;
  operator P() {
    confirm();
    if constexpr (parameter<P>::borrows) {
      return is_parameter_ ? argument_->extract() : extract_for_call(std::move(*argument_));
    } else {
      return argument_->extract();
    }
  }
  operator P const&() {
    confirm();
    return extracted_.emplace(argument_->extract());
  }

  static py::handle cast(P&& result, py::return_value_policy, py::handle) {
    if constexpr (is_result<P>) {
      return checked(python::give_result(std::move(result), nullptr)).release();
    } else {
      static_assert(
          is_result<P>,
          "dlbridge: a tensor_span that is returned would outlive its memory. "
          "Return an owning tensor (managed_tensor, tensor, argument), or dlbridge::member_view "
          "from a method, which keeps the object alive");
      return {};
    }
  }
  template <class Lvalue>
  static py::handle cast(Lvalue const&, py::return_value_policy, py::handle) {
    static_assert(sizeof(Lvalue) == 0,
                  "dlbridge: a tensor is returned by value, moved out. To share the memory of an "
                  "object, add __dlpack__ to its class by dlbridge::def_dlpack, or return a "
                  "dlbridge::member_view");
    return {};
  }

 private:
  bool load_object(py::handle source, bool convert) {
    // pybind11 may call load twice.
    return finish_load(argument_.emplace().load(source.ptr(), {convert}));
  }

  // Nothing but the container keeps an element, and its producer may empty that.
  bool load_element(py::handle source, bool convert) {
    kept_ = ref::borrow(source.ptr());
    bool const fits = load_object(source, convert);
    if constexpr (parameter<P>::borrows) {
      if (fits) {
        on_pybind11::keep_for_call(source);
      }
    }
    return fits;
  }

  DLBRIDGE_INLINE bool finish_load(load_result result) {
    ref& exception = argument_->exception();
    if (exception && !refusals::is_refusal(exception)) {
      set_exception(std::move(exception));
      throw_pending();
    }
    return result != load_result::refused;
  }

  // Later arguments may have run Python code.
  void confirm() {
    if (!argument_->confirm()) {
      set_exception(std::move(argument_->exception()));
      throw_pending();
    }
  }

  ref kept_{};  // the object of an element
  std::optional<tensor_argument<P>> argument_{};
  std::optional<P> extracted_{};
  bool is_parameter_ = false;  // of a bound function, whose caster outlives the call
};

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <class P>
class type_caster<P, std::enable_if_t<dlbridge::python::is_tensor_parameter<P> &&
                                      !dlbridge::python::parameter<P>::optional>>
    : public dlbridge::python::on_pybind11::tensor_caster<P> {
 public:
  type_caster() noexcept {}
};
// One specialization for each optional tensor type: each is more specialized than the type_caster
// of every optional in pybind11/stl.h.
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor<T, Shape, Constraints...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::tensor<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::argument<T, Shape, Constraints...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::argument<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <class P, class... Kinds>
class type_caster<std::optional<dlbridge::or_other<P, Kinds...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::or_other<P, Kinds...>>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<std::optional<dlbridge::any_argument>>
    : public dlbridge::python::on_pybind11::tensor_caster<std::optional<dlbridge::any_argument>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<std::optional<dlbridge::any_tensor>>
    : public dlbridge::python::on_pybind11::tensor_caster<std::optional<dlbridge::any_tensor>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<std::optional<dlbridge::managed_tensor>>
    : public dlbridge::python::on_pybind11::tensor_caster<std::optional<dlbridge::managed_tensor>> {
 public:
  type_caster() noexcept {}
};
// Of results, such as that of wrap_capsule.
template <>
class type_caster<dlbridge::python::ref> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::python::ref object, return_value_policy, handle) {
    return dlbridge::python::on_pybind11::checked(std::move(object)).release();
  }
};
template <>
class type_caster<dlbridge::member_view> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::member_view const& view, return_value_policy, handle parent) {
    namespace dp = dlbridge::python;
    return dp::on_pybind11::checked(dp::give_view(view, parent.ptr(), nullptr, {})).release();
  }
};
}  // namespace detail
}  // namespace pybind11 DLBRIDGE_LOCAL
