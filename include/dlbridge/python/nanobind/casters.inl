// The inline bodies of casters.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <new>

#include <dlbridge/python/call/cast.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/pending_exception.hpp>

namespace nanobind DLBRIDGE_LOCAL {
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
template <class List, class... More>
struct type_caster<std::optional<dlbridge::any_of<List, More...>>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::any_of<List, More...>>> {
};
template <class List, class... More>
struct type_caster<std::optional<dlbridge::any_tensor_of<List, More...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::any_tensor_of<List, More...>>> {};
template <class T, class Shape, class... Constraints>
struct type_caster<std::optional<dlbridge::tensor<T, Shape, Constraints...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::tensor<T, Shape, Constraints...>>> {};
template <class T, class Shape, class... Constraints>
struct type_caster<std::optional<dlbridge::argument<T, Shape, Constraints...>>>
    : dlbridge::python::on_nanobind::tensor_caster<
          std::optional<dlbridge::argument<T, Shape, Constraints...>>> {};
template <class P, class... Kinds>
struct type_caster<std::optional<dlbridge::or_other<P, Kinds...>>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::or_other<P, Kinds...>>> {
};
template <class P>
struct type_caster<std::optional<dlbridge::row_major_of<P>>>
    : dlbridge::python::on_nanobind::tensor_caster<std::optional<dlbridge::row_major_of<P>>> {};
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
  static handle from_cpp(dlbridge::member_view const& view, rv_policy, cleanup_list* call) noexcept;
};
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class P>
inline on_nanobind::owned<P> parameter<on_nanobind::owned<P>>::make(imported_tensor& from,
                                                                    PyObject* object) noexcept {
  if constexpr (parameter<P>::borrows) {
    from.replace(from.take_to_keep(object));
  }
  return {parameter<P>::make(from, object)};
}

namespace on_nanobind {
template <class T>
T* keep_for_call(T&& value, call_objects& call) noexcept {
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

template <class P>
template <class Flags>
inline bool tensor_caster<P>::from_python(nb::handle source, Flags flags,
                                          call_objects* call) noexcept {
  if constexpr (parameter<P>::borrows) {
    // nb::cast has no call that could own the tensor of a span.
    if (call == nullptr || is_outside_call(flags)) {
      return false;
    }
  }
  tensor_argument<owned<P>>& argument = own_.emplace().argument;
  own_->object = ref::borrow(source.ptr());
  load_result const result = argument.load(source.ptr(), {may_convert(flags)});
  if (result == load_result::refused) {
    discard(std::move(argument.exception()));
    return false;
  }
  kept_ = &*own_;
  if constexpr (parameter<P>::borrows) {
    kept_ = keep_for_call(std::move(*own_), *call);
  }
  return kept_ != nullptr;
}

template <class P>
inline tensor_caster<P>::operator P() {
  if (!kept_->argument.confirm()) {  // later arguments may have run Python code
    set_exception(std::move(kept_->argument.exception()));
    throw_pending();
  }
  return std::move(kept_->argument.extract().value);
}

template <class P>
inline nb::handle tensor_caster<P>::from_cpp(P&& result, nb::rv_policy, call_objects*) noexcept {
  static_assert(is_result<P> && !parameter<P>::borrows,
                "dlbridge: a tensor_span that is returned would outlive its memory. "
                "Return an owning tensor (managed_tensor, tensor, argument), or "
                "dlbridge::member_view from a method, which keeps the object alive");
  return python::give_result(std::move(result), nullptr).release();
}

template <class P>
template <class Lvalue>
inline nb::handle tensor_caster<P>::from_cpp(Lvalue const&, nb::rv_policy, call_objects*) noexcept {
  static_assert(sizeof(Lvalue) == 0,
                "dlbridge: a tensor is returned by value, moved out. To share the memory of an "
                "object, add __dlpack__ to its class by dlbridge::def_dlpack, or return a "
                "dlbridge::member_view");
  return {};
}
}  // namespace on_nanobind
}  // namespace python
DLBRIDGE_END_NAMESPACE

namespace nanobind DLBRIDGE_LOCAL {
// nanobind::cast of a tensor, also of what a std::function and NB_OVERRIDE return: states why it
// refuses an object. A caster cannot, as nanobind asks that of try_cast and of a variant alike.
template <class T>
std::enable_if_t<dlbridge::python::is_tensor_parameter<T>, T> cast(handle const& object,
                                                                   bool convert = true) {
  return dlbridge::python::on_nanobind::throwing_pending(
      [&] { return dlbridge::python::cast<T>(object.ptr(), nullptr, "cast", convert); });
}

namespace detail {
inline handle type_caster<dlbridge::member_view>::from_cpp(dlbridge::member_view const& view,
                                                           rv_policy, cleanup_list* call) noexcept {
  PyObject* const object = call != nullptr ? call->self() : nullptr;
  dlbridge::python::ref result;
  dlbridge::python::guarded(
      [&] { result = dlbridge::python::give_view(view, object, nullptr, {}); });
  return result.release();
}
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL
