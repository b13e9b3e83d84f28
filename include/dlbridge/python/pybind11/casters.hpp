// pybind11 casters for every tensor type: what plain m.def and py::cast use.
// layer: bindings · IN and OUT: a tensor in any function of pybind11's
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/signature.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A view on memory that belongs to the object a method is called on, or to the first argument of a
/// function: what it is returned as keeps that object alive.
class member_view {
 public:
  explicit member_view(tensor_view const& view) : memory_(describe_view(view)) {}
  explicit member_view(description memory) : memory_(std::move(memory)) {}
  template <class T, class Shape, class... Constraints>
  explicit member_view(tensor_span<T, Shape, Constraints...> const& span)
      : member_view(marked<T>(span.view())) {}
  description const& memory() const noexcept { return memory_; }

 private:
  template <class T>
  static tensor_view marked(tensor_view const& view) noexcept {
    return std::is_const_v<T> ? view.with_flags(view.flags() | flag_read_only) : view;
  }
  description memory_;
};

namespace python {
namespace detail {
// Characters as pybind11 wants them in a signature.
template <class P, std::size_t... I>
constexpr auto described(std::index_sequence<I...>) {
  constexpr literal_text text = annotation_of<P>();
  return py::detail::descr<sizeof...(I)>(text.data[I]...);
}
template <class P>
constexpr auto description_of() {
  return described<P>(std::make_index_sequence<annotation_of<P>().size>());
}

// What load keeps and the cast takes, for all parameters alike.
template <class P>
class tensor_caster {
 public:
  // What py::detail::io_name gives: one spelling for parameters, another for results.
  static constexpr auto name =
      py::detail::const_name("@") + description_of<P>() + py::detail::const_name("@typing.Any@");

  tensor_caster() noexcept {}  // said, so that no one clears what load sets

  // Throws nothing but KeyboardInterrupt and the like, which end the call.
  bool load(py::handle source, bool) {
    tensor_argument<P>& loading = loaded_.emplace();  // pybind11 may try twice
    bool const fits = loading.load(source.ptr());
    ref& raised = loading.raised();
    if (raised && !refusals::is_refusal(raised)) {
      set_exception(std::move(raised));
      throw_pending();
    }
    return fits;
  }

  template <class>
  using cast_op_type = P;
  operator P() { return loaded_->take(); }

  static py::handle cast(P&& result, py::return_value_policy, py::handle) {
    if constexpr (is_result<P>) {
      return checked(give_result(std::move(result), nullptr, nullptr)).release();
    } else {
      static_assert(
          is_result<P>,
          "dlbridge: a tensor_span that is returned would outlive what it looks at. "
          "Return an owning tensor (managed_tensor, tensor, argument), or dlbridge::member_view "
          "from a method, which keeps the object alive");
      return {};
    }
  }
  template <class Lvalue>
  static py::handle cast(Lvalue const&, py::return_value_policy, py::handle) {
    static_assert(sizeof(Lvalue) == 0,
                  "dlbridge: a tensor is returned by value, moved out. To show the memory of a "
                  "class, give the class __dlpack__ by dlbridge::def_dlpack, or return a "
                  "dlbridge::member_view");
    return {};
  }

 private:
  std::optional<tensor_argument<P>> loaded_;
};

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

namespace pybind11 {
namespace detail {
template <class P>
class type_caster<P, std::enable_if_t<dlbridge::python::is_tensor_parameter<P> &&
                                      !dlbridge::python::parameter<P>::optional>>
    : public dlbridge::python::detail::tensor_caster<P> {
 public:
  type_caster() noexcept {}
};
// One by one, to be closer than what pybind11/stl.h has for any optional.
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::tensor<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::tensor<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <class T, class Shape, class... Constraints>
class type_caster<std::optional<dlbridge::argument<T, Shape, Constraints...>>>
    : public dlbridge::python::detail::tensor_caster<
          std::optional<dlbridge::argument<T, Shape, Constraints...>>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<std::optional<dlbridge::any_tensor>>
    : public dlbridge::python::detail::tensor_caster<std::optional<dlbridge::any_tensor>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<std::optional<dlbridge::managed_tensor>>
    : public dlbridge::python::detail::tensor_caster<std::optional<dlbridge::managed_tensor>> {
 public:
  type_caster() noexcept {}
};
template <>
class type_caster<dlbridge::member_view> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::member_view const& shown, return_value_policy, handle parent) {
    if (!parent) {
      throw type_error(
          "a dlbridge::member_view has no object to keep alive; return it from a method, or "
          "from a function of the object that it is part of");
    }
    namespace dp = dlbridge::python;
    dp::object_owner owner(dp::ref::borrow(parent.ptr()));
    return dp::detail::checked(dp::give_own(dlbridge::build_on(std::move(owner), shown.memory())))
        .release();
  }
};
}  // namespace detail
}  // namespace pybind11
