// library_parameter and library_result: the types that a binding library converts in place of
// tensors and containers of them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/annotation.hpp>
#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
using detail::loaded_argument;
using detail::loader_of;

// Whether no overload is left to try in the current call, so that the function itself may refuse
// it.
bool has_no_overload() noexcept;

// Loads an argument of def. Overloads read no iterator: the first one would leave nothing of it to
// the others.
template <class P>
DLBRIDGE_INLINE load_result load_argument(loader_of<P>& argument, PyObject* object, bool convert);

template <class Library, class P>
DLBRIDGE_INLINE bool load(loaded_argument<P>& value, PyObject* object, bool convert);

// An object of which a parameter takes ownership, as its caster has found it. The function takes it
// after all tensors fit, so that a call that is refused takes nothing.
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

// An argument of a library that takes numbers of all types for integers, and truncates them. No
// overload for integers takes such a number.
template <class T>
struct integer_argument {
  T value{};
};
template <class A>
constexpr bool is_integer =
    std::is_integral_v<std::decay_t<A>> && !std::is_same_v<std::decay_t<A>, bool> &&
    !detail::is_character<std::decay_t<A>>;

// A tensor result that the function has converted to a Python object.
template <class R, place Place>
struct made_object {
  ref object;
};

// A member_view or a container, which the caster converts: the binding library passes it the object
// of a method and the policy for objects that other code owns.
template <class R, place Place>
struct returned_value {
  R value;
  ref first_argument;  // as of give_container
  result_choice as;
  bool (*may_refer_to)(PyObject*);  // whether a view may refer to this object; null: to any
};

// Whether a parameter is a container of tensors that def converts. A reference to one that is not
// const is left to the casters of the library.
template <class Library, class A>
constexpr bool is_container_parameter =
    is_container<std::decay_t<A>> &&
    !(std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>);
template <class Library, class A>
constexpr bool is_imported =
    is_tensor_parameter<std::decay_t<A>> || is_container_parameter<Library, A>;
template <class Library, class R>
constexpr bool is_converted_by_caster = std::is_same_v<R, member_view> || is_container_result<R>;

// The types that the binding library converts in place of a result type R and a parameter type A.
template <class Library, class R, place Place = place::result>
using library_result =
    std::conditional_t<is_result<std::decay_t<R>>, made_object<std::decay_t<R>, Place>,
                       std::conditional_t<is_converted_by_caster<Library, std::decay_t<R>>,
                                          returned_value<std::decay_t<R>, Place>, R>>;

// A std::function, or another template of one signature, to which C++ code gives tensors.
// Signatures of a library that swaps_places would state them as tensors that C++ code takes.
template <class F>
struct callback_argument {
  F value{};
};
template <class Library, class F>
constexpr bool takes_results = false;
template <class Library, template <class> class Function, class R, class... Parameters>
constexpr bool takes_results<Library, Function<R(Parameters...)>> =
    (!std::is_same_v<library_result<Library, Parameters>, Parameters> || ...);

template <class Library, class A>
using library_parameter = std::conditional_t<
    is_imported<Library, A>, detail::loaded_argument<std::decay_t<A>>&,
    std::conditional_t<
        takes_ownership<A>, found_object<Library, std::decay_t<A>>,
        std::conditional_t<Library::swaps_places && takes_results<Library, std::decay_t<A>>,
                           callback_argument<std::decay_t<A>>,
                           std::conditional_t<Library::truncates_numbers && is_integer<A>,
                                              integer_argument<std::decay_t<A>>, A>>>>;
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/library_parameter.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/library_parameter.ipp>
#endif
