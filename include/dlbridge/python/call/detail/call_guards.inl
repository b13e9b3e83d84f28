// guard_of, guard_traits: the call_guard among the extras of def, which applies to the C++ function
// alone.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
/// The guards of the first call_guard among the extras, as one type.
/// @tparam CallGuard call_guard of the binding library
/// @tparam Release its gil_scoped_release, whose destructor ends the process when CPython up to
/// 3.13 unwinds a thread at its end: gil_release takes its place
template <template <class...> class CallGuard, class Release, class... Extra>
struct guard_of {
  struct type {};
};
template <template <class...> class CallGuard, class Release, class... Guards, class... Others>
struct guard_of<CallGuard, Release, CallGuard<Guards...>, Others...> {
  using type = typename CallGuard<
      std::conditional_t<std::is_same_v<Guards, Release>, gil_release, Guards>...>::type;
};
template <template <class...> class CallGuard, class Release, class Other, class... Others>
struct guard_of<CallGuard, Release, Other, Others...> : guard_of<CallGuard, Release, Others...> {};

/// Whether an extra is a call_guard, and whether that releases the GIL.
template <template <class...> class CallGuard, class Release, class Extra>
struct guard_traits {
  static constexpr bool is_guard = false;
  static constexpr bool releases_gil = false;
};
template <template <class...> class CallGuard, class Release, class... Guards>
struct guard_traits<CallGuard, Release, CallGuard<Guards...>> {
  static constexpr bool is_guard = true;
  static constexpr bool releases_gil =
      ((std::is_base_of_v<Release, Guards> || std::is_base_of_v<gil_release, Guards>) || ...);
};
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
