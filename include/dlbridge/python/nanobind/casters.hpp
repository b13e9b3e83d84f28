// type_caster<P>: converts every tensor type for functions that plain nanobind binds, and for
// nb::cast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/detail/signature.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/or_buffer.hpp>
#include <dlbridge/python/call/or_numbers.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/tensor.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace on_nanobind {

// The annotation of a parameter type as a descr, nanobind's compile-time string.
template <class P, std::size_t... Is>
constexpr auto make_descr(std::index_sequence<Is...>) {
  constexpr literal_text text = annotation_of<P>();
  return nb::detail::descr<sizeof...(Is)>(text.data[Is]...);
}
// As nb::detail::io_name writes it: one annotation for parameters, another for results.
template <class P>
constexpr auto descr_of() {
  return nb::detail::const_name("@") +
         make_descr<P>(std::make_index_sequence<annotation_of<P>().size>()) +
         nb::detail::const_name("@typing.Any@");
}

// Discards the exception of an object that does not fit, as nanobind's casters cannot pass it on. A
// KeyboardInterrupt is raised once more when Python code runs next.
DLBRIDGE_COLD inline void discard(ref exception) noexcept {
  if (exception && PyErr_GivenExceptionMatches(exception.get(), PyExc_KeyboardInterrupt) != 0) {
    api<PyErr_SetInterrupt>();
  }
}

// The owning type that is imported for a parameter type. nanobind destroys the casters of the
// elements of a container before the call, so a span refers to a tensor that the call owns.
template <class P>
struct owner_of {
  using type = P;
  static P from(P owner) noexcept { return owner; }
};
template <class T, class Shape, class... Constraints>
struct owner_of<tensor_span<T, Shape, Constraints...>> {
  using type = tensor<T, Shape, Constraints...>;
  static tensor_span<T, Shape, Constraints...> from(type const& owner) noexcept {
    return owner.span();
  }
};
template <class P>
struct owner_of<or_buffer<P>> {
  using type = or_buffer<typename owner_of<P>::type>;
  template <class Owner>
  static or_buffer<P> from(Owner&& owner) noexcept {
    return or_buffer<P>(owner_of<P>::from(std::forward<Owner>(owner)));
  }
};
template <class P>
struct owner_of<or_numbers<P>> {
  using type = or_numbers<typename owner_of<P>::type>;
  template <class Owner>
  static or_numbers<P> from(Owner&& owner) noexcept {
    return or_numbers<P>(owner_of<P>::from(std::forward<Owner>(owner)));
  }
};
template <class P>
struct owner_of<std::optional<P>> {
  using type = std::optional<typename owner_of<P>::type>;
  template <class Owner>
  static std::optional<P> from(Owner&& owner) noexcept {
    return owner ? std::optional<P>(owner_of<P>::from(*std::forward<Owner>(owner))) : std::nullopt;
  }
};

// Makes the call own an object of C++. Null if that is impossible.
template <class T>
T* keep_for_call(T&& value, nb::detail::cleanup_list& call) noexcept {
  std::unique_ptr<T> kept(new (std::nothrow) T(std::move(value)));
  ref capsule = kept ? ref::steal(api<PyCapsule_New>(
                           kept.get(), nullptr,
                           [](PyObject* self) {
                             delete static_cast<T*>(api<PyCapsule_GetPointer>(self, nullptr));
                           }))
                     : ref();
  if (!capsule) {
    discard(take_exception());
    return nullptr;
  }
  call.append(capsule.release());
  return kept.release();
}

// The caster of a tensor type: from_python() imports an argument, the conversion operator returns
// it, and from_cpp() converts a result.
template <class P>
class tensor_caster {
  using owner = typename owner_of<P>::type;

 public:
  static constexpr auto Name = descr_of<P>();
  using Value = P;
  template <class>
  using Cast = P;
  template <class>
  static constexpr bool can_cast() noexcept {
    return true;
  }

  template <class Flags>  // uint32_t, or uint8_t before nanobind 3
  bool from_python(nb::handle source, Flags flags, nb::detail::cleanup_list* call) noexcept {
    if constexpr (parameter<P>::borrows) {
      // nb::cast has no call that could own the tensor of a span.
      if (call == nullptr || (flags & static_cast<Flags>(nb::detail::cast_flags::manual)) != 0) {
        return false;
      }
    }
    ref const object = ref::borrow(source.ptr());  // the producer may empty its container
    tensor_argument<owner> argument;
    bool const is_exact = tensor_argument<owner>::need.converts &&
                          (flags & static_cast<Flags>(nb::detail::cast_flags::convert)) == 0;
    load_result const result =
        is_exact ? argument.load_exactly(object.get()) : argument.load(object.get());
    if (result == load_result::refused) {
      discard(std::move(argument.exception()));
      return false;
    }
    if constexpr (parameter<P>::borrows) {
      owner* const kept = keep_for_call(argument.extract(), *call);
      if (kept != nullptr) {
        value_.emplace(owner_of<P>::from(*kept));
      }
      return kept != nullptr;
    } else {
      value_.emplace(argument.extract());
      return true;
    }
  }
  operator P() { return std::move(*value_); }

  static nb::handle from_cpp(P&& result, nb::rv_policy, nb::detail::cleanup_list*) noexcept {
    static_assert(is_result<owner> && !parameter<P>::borrows,
                  "dlbridge: a tensor_span that is returned would outlive its memory. "
                  "Return an owning tensor (managed_tensor, tensor, argument), or "
                  "dlbridge::member_view from a method, which keeps the object alive");
    return python::give_result(std::move(result), nullptr).release();
  }
  template <class Lvalue>
  static nb::handle from_cpp(Lvalue const&, nb::rv_policy, nb::detail::cleanup_list*) noexcept {
    static_assert(sizeof(Lvalue) == 0,
                  "dlbridge: a tensor is returned by value, moved out. To share the memory of an "
                  "object, add __dlpack__ to its class by dlbridge::def_dlpack, or return a "
                  "dlbridge::member_view");
    return {};
  }

 private:
  std::optional<P> value_{};
};

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

namespace nanobind {
namespace detail {
template <class P>
struct type_caster<P, enable_if_t<dlbridge::python::is_tensor_parameter<P> &&
                                  !dlbridge::python::parameter<P>::optional>>
    : dlbridge::python::on_nanobind::tensor_caster<P> {};
// One specialization for each optional tensor type: each is more specialized than the type_caster
// of every optional in nanobind/stl/optional.h.
template <class T, class Shape, class... Constraints>
struct type_caster<std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::tensor_span<T, Shape, Constraints...>>> {};
template <class T, class Shape, class... Constraints>
struct type_caster<std::optional<dlbridge::tensor<T, Shape, Constraints...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::tensor<T, Shape, Constraints...>>> {};
template <class T, class Shape, class... Constraints>
struct type_caster<std::optional<dlbridge::argument<T, Shape, Constraints...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::argument<T, Shape, Constraints...>>> {};
template <class P>
struct type_caster<std::optional<dlbridge::or_buffer<P>>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::or_buffer<P>>> {};
template <class P>
struct type_caster<std::optional<dlbridge::or_numbers<P>>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::or_numbers<P>>> {};
template <>
struct type_caster<std::optional<dlbridge::any_argument>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::any_argument>> {};
template <>
struct type_caster<std::optional<dlbridge::any_tensor>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::any_tensor>> {};
template <>
struct type_caster<std::optional<dlbridge::managed_tensor>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::managed_tensor>> {};
// Of results, such as that of wrap_capsule.
template <>
struct type_caster<dlbridge::python::ref> {
  static constexpr auto Name = const_name("typing.Any");
  static handle from_cpp(dlbridge::python::ref object, rv_policy, cleanup_list*) noexcept {
    return object.release();
  }
};
template <>
struct type_caster<dlbridge::member_view> {
  static constexpr auto Name = const_name("typing.Any");
  static handle from_cpp(dlbridge::member_view const& view, rv_policy,
                         cleanup_list* call) noexcept {
    return give(view, call, nullptr, {});
  }
  // As dlbridge::python::give_view, for the object of the call.
  static handle give(dlbridge::member_view const& view, cleanup_list* call,
                     PyObject* first_argument, dlbridge::returns as) noexcept {
    PyObject* const object = call != nullptr ? call->self() : nullptr;
    if (object == nullptr) {
      dlbridge::python::set_error_text(
          PyExc_TypeError,
          "a dlbridge::member_view has no object to keep alive; return it from a method");
      return {};
    }
    dlbridge::python::ref result;
    dlbridge::python::guarded(
        [&] { result = dlbridge::python::give_view(view, object, first_argument, as); });
    return result.release();
  }
};
}  // namespace detail
}  // namespace nanobind
