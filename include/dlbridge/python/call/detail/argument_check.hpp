// argument_check, set_reasons: decide whether a C++ function takes the loaded arguments of a call,
// and state why not.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// What loads a parameter of type P.
template <class P>
using loader_of =
    std::conditional_t<is_tensor_parameter<P>, tensor_argument<P>, container_argument<P>>;

/// An argument of a parameter of type P that dlbridge converts.
template <class P>
struct loaded_argument {
  loader_of<P> argument{};
  load_result result = load_result::refused;

  loaded_argument() noexcept {}  // user-provided: value-initialization does not zero the members
};
/// Whether one of the types of the arguments of a call is an argument that dlbridge converts.
template <class Value>
constexpr bool is_loaded = false;
template <class P>
constexpr bool is_loaded<loaded_argument<P>> = true;

// In place of the loader of an argument that the binding library converts.
struct no_loader {
  static bool claim(bool&) noexcept { return true; }
  static bool confirm() noexcept { return true; }
};
template <class P>
loader_of<P>& loader_in(loaded_argument<P>& value) noexcept {
  return value.argument;
}
template <class Other>
no_loader& loader_in(Other&) noexcept;

// The number of arguments before the first that dlbridge converts.
template <class... Values>
constexpr std::size_t count_before_loaded() noexcept;
// The number of arguments up to the last that the binding library converts after one of these; 0 if
// there is none.
template <class... Values>
constexpr std::size_t count_to_converted() noexcept;

/// Whether a function takes the arguments of a call.
enum class verdict {
  accepted,
  refused,
  changed  ///< a tensor changed while Python code ran: no other function takes it either
};

/// @tparam Values the arguments: a loaded_argument, or what the binding library converted
template <class... Values>
class argument_check {
  using indices = std::index_sequence_for<Values...>;

 public:
  /// @pre The caller holds the GIL.
  DLBRIDGE_INLINE static verdict accept(Values&... values) noexcept;

 private:
  static constexpr std::size_t first_loaded = count_before_loaded<Values...>();
  static constexpr std::size_t last_converted = count_to_converted<Values...>();

  // Reads each tensor once more after whose import Python code may have run.
  template <std::size_t... Is>
  DLBRIDGE_NOINLINE static verdict confirm(std::index_sequence<Is...>, Values&... values) noexcept;
};

inline void add_if_refused(refusals&, no_loader&, char const*, int) noexcept {}
template <class P>
void add_if_refused(refusals& reasons, tensor_argument<P>& argument, char const* name,
                    int position) noexcept {
  reasons.add_if_refused(argument, name, position);
}
template <class P>
void add_if_refused(refusals& reasons, container_argument<P>& argument, char const* name,
                    int position) noexcept {
  reasons.add_if_refused(argument.refusal(), name, position);
}

/// Adds the reasons why a function refuses the arguments of a call: that of each, or the extents
/// that disagree.
/// @param loaders a tuple of references to the loaders, which have loaded the arguments
template <class Loaders, std::size_t... Is>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void add_reasons(refusals& reasons, Loaders loaders,
                                                 function_record const& record,
                                                 std::index_sequence<Is...> indices) noexcept;
/// Sets the Python exception with these reasons.
template <class Loaders, class Indices>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void set_reasons(Loaders loaders, function_record const& record,
                                                 Indices indices) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/argument_check.inl>
