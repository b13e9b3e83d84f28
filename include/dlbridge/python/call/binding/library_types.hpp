// library_parameter and library_result: the types that a binding library converts in place of
// tensors and containers of them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

// A tensor argument as the binding library passes it on. Its caster accepts every object; the
// bound_call imports and checks it, and can therefore report why it does not fit.
template <class P>
struct given_tensor {
  PyObject* object = nullptr;
};
// An object of which a parameter takes ownership, as its caster has found it. The bound_call takes
// it after all tensors fit, so that a call that is refused takes nothing.
template <class Library, class P>
struct found_object {
  typename Library::template caster<P>* caster = nullptr;
};
// Whether a parameter takes ownership of an object that Python owns.
template <class A>
constexpr bool takes_ownership = false;
template <class T, class Deleter>
constexpr bool takes_ownership<std::unique_ptr<T, Deleter>> = true;
template <class T, class Deleter>
constexpr bool takes_ownership<std::unique_ptr<T, Deleter>&&> = true;

// A tensor result that a bound_call has converted to a Python object.
template <class R>
struct made_object {
  ref object;
};

// A member_view or a container, which the caster converts: the binding library passes it the object
// of a method and the policy for objects that other code owns.
template <class R>
struct returned_value {
  R value;
  ref first_argument;  // as of give_container
  returns as;
  bool (*may_refer_to)(PyObject*);  // whether a view may refer to this object; null: to any
};

// Whether a parameter is a container of tensors that a bound_call converts. A reference to one that
// is not const is left to the casters of the library.
template <class Library, class A>
constexpr bool is_container_parameter =
    is_container<std::decay_t<A>> &&
    !(std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>);
template <class Library, class A>
constexpr bool is_imported =
    is_tensor_parameter<std::decay_t<A>> || is_container_parameter<Library, A>;
template <class Library, class R>
constexpr bool is_converted_by_caster = std::is_same_v<R, member_view> || is_container_result<R>;

// The types that the binding library converts in place of a parameter type A and a result type R.
template <class Library, class A>
using library_parameter = std::conditional_t<
    is_imported<Library, A>, typename Library::template given<std::decay_t<A>>,
    std::conditional_t<takes_ownership<A>, found_object<Library, std::decay_t<A>>, A>>;
template <class Library, class R>
using library_result =
    std::conditional_t<is_result<std::decay_t<R>>, made_object<std::decay_t<R>>,
                       std::conditional_t<is_converted_by_caster<Library, std::decay_t<R>>,
                                          returned_value<std::decay_t<R>>, R>>;

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
