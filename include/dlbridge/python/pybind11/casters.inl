// The inline bodies of casters.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/pybind11/casters.hpp>

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
template <class List, class... More>
class type_caster<std::optional<dlbridge::any_of<List, More...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::any_of<List, More...>>> {
 public:
  type_caster() noexcept {}
};
template <class List, class... More>
class type_caster<std::optional<dlbridge::any_tensor_of<List, More...>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::any_tensor_of<List, More...>>> {
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
template <class P>
class type_caster<std::optional<dlbridge::row_major_of<P>>>
    : public dlbridge::python::on_pybind11::tensor_caster<
          std::optional<dlbridge::row_major_of<P>>> {
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

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
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

template <class P>
template <class Source, class Convert>
inline bool tensor_caster<P>::load(Source&& source, Convert&& convert) {
  constexpr bool is_parameter =
      std::is_same_v<std::decay_t<Convert>, std::vector<bool>::reference> ||
      (std::is_same_v<Source, py::handle&> && !std::is_lvalue_reference_v<Convert>);
  is_parameter_ = is_parameter;
  if constexpr (is_parameter) {
    return load_object(py::handle(source), convert);
  } else {
    bool const fits = load_element(py::handle(source), convert);
    if constexpr (std::is_same_v<Source, py::handle const&> &&
                  !std::is_lvalue_reference_v<Convert>) {
      if (!fits) {
        raise_refusal();
      }
    }
    return fits;
  }
}

template <class P>
inline tensor_caster<P>::operator P() {
  confirm();
  if constexpr (parameter<P>::borrows) {
    return is_parameter_ ? argument_->extract() : extract_for_call(std::move(*argument_));
  } else {
    return argument_->extract();
  }
}

template <class P>
tensor_caster<P>::operator P const&() {
  confirm();
  return extracted_.emplace(argument_->extract());
}

template <class P>
inline py::handle tensor_caster<P>::cast(P&& result, py::return_value_policy, py::handle) {
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

template <class P>
template <class Lvalue>
inline py::handle tensor_caster<P>::cast(Lvalue const&, py::return_value_policy, py::handle) {
  static_assert(sizeof(Lvalue) == 0,
                "dlbridge: a tensor is returned by value, moved out. To share the memory of an "
                "object, add __dlpack__ to its class by dlbridge::def_dlpack, or return a "
                "dlbridge::member_view");
  return {};
}

template <class P>
inline bool tensor_caster<P>::load_object(py::handle source, bool convert) {
  // pybind11 may call load twice.
  return finish_load(argument_.emplace().load(source.ptr(), {convert}));
}

template <class P>
inline bool tensor_caster<P>::load_element(py::handle source, bool convert) {
  kept_ = ref::borrow(source.ptr());
  bool const fits = load_object(source, convert);
  if constexpr (parameter<P>::borrows) {
    if (fits) {
      on_pybind11::keep_for_call(source);
    }
  }
  return fits;
}

template <class P>
inline bool tensor_caster<P>::finish_load(load_result result) {
  ref& exception = argument_->exception();
  if (exception && !refusals::is_refusal(exception)) {
    set_exception(std::move(exception));
    throw_pending();
  }
  return result != load_result::refused;
}

template <class P>
void tensor_caster<P>::raise_refusal() {
  refusals reasons;
  reasons.add_if_refused(*argument_, nullptr, 0);
  reasons.set_error("cast");
  throw_pending();
}

template <class P>
inline void tensor_caster<P>::confirm() {
  if (!argument_->confirm()) {  // later arguments may have run Python code
    set_exception(std::move(argument_->exception()));
    throw_pending();
  }
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE
