// argument_check, set_reasons: decide whether a C++ function takes the loaded arguments of a call,
// and state why not.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/agree_on_extents.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

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
no_loader& loader_in(Other&) noexcept {
  static no_loader none;
  return none;
}
template <class P>
load_result result_of(loaded_argument<P> const& value) noexcept {
  return value.result;
}
template <class Other>
load_result result_of(Other const&) noexcept {
  return load_result::fast;
}

// Whether an object is that of an argument which was read without Python code.
template <class Value>
bool is_read_from(PyObject* object, [[maybe_unused]] Value& value) noexcept {
  return first_in(loader_in(value)) == object && result_of(value) == load_result::fast;
}
// Whether the conversion of an object to a number or a text runs no Python code.
inline bool is_plain_value(PyObject* object) noexcept {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || object == Py_None;
}
// Whether the binding library may have run Python code when it converted the other arguments of a
// call, the first of which were converted before all tensors.
template <class... Values>
DLBRIDGE_INLINE bool may_have_run_python(std::size_t first, Values&... values) noexcept {
  active_call const* const call = active_call::current();
  if (call == nullptr || call->arguments().values == nullptr) {
    return true;
  }
  call_arguments const& given = call->arguments();
  std::size_t const count =
      given.count +
      (given.keywords != nullptr ? static_cast<std::size_t>(PyTuple_GET_SIZE(given.keywords)) : 0);
  for (std::size_t i = given.count < first ? given.count : first; i < count; ++i) {
    if (!is_plain_value(given.values[i]) && !(is_read_from(given.values[i], values) || ...)) {
      return true;
    }
  }
  return false;
}

// The number of arguments before the first that dlbridge converts.
template <class... Values>
constexpr std::size_t count_before_loaded() noexcept {
  constexpr bool loaded[] = {is_loaded<Values>..., true};
  std::size_t i = 0;
  while (!loaded[i]) {
    ++i;
  }
  return i;
}
// The number of arguments up to the last that the binding library converts after one of these; 0 if
// there is none.
template <class... Values>
constexpr std::size_t count_to_converted() noexcept {
  constexpr bool loaded[] = {is_loaded<Values>..., true};
  constexpr std::size_t first = count_before_loaded<Values...>();
  std::size_t i = sizeof...(Values);
  while (i > first && loaded[i - 1]) {
    --i;
  }
  return i > first ? i : 0;
}

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
  /// @par Thread and GIL
  /// The caller holds the GIL.
  DLBRIDGE_INLINE static verdict accept(Values&... values) noexcept {
    if constexpr ((is_loaded<Values> || ...)) {
      constexpr auto fast = static_cast<unsigned>(load_result::fast);
      if ((static_cast<unsigned>(result_of(values)) & ... & fast) != fast ||
          (last_converted != 0 && may_have_run_python(first_loaded, values...))) {
        if (verdict const found = confirm(indices(), values...); found != verdict::accepted) {
          return found;
        }
      }
      auto loaders = std::tie(loader_in(values)...);
      return agree_on_extents(loaders, indices()) ? verdict::accepted : verdict::refused;
    } else {
      return verdict::accepted;
    }
  }

 private:
  static constexpr std::size_t first_loaded = count_before_loaded<Values...>();
  static constexpr std::size_t last_converted = count_to_converted<Values...>();

  // Reads each tensor once more after whose import Python code may have run.
  template <std::size_t... Is>
  DLBRIDGE_NOINLINE static verdict confirm(std::index_sequence<Is...>, Values&... values) noexcept {
    if (((result_of(values) == load_result::refused) || ...)) {
      return verdict::refused;
    }
    std::size_t last = last_converted;
    ((last = result_of(values) != load_result::fast && Is + 1 > last ? Is + 1 : last), ...);
    bool runs_python = false;
    if (!(loader_in(values).claim(runs_python) && ...)) {
      return verdict::changed;
    }
    last = runs_python ? sizeof...(Is) + 1 : last;
    bool const holds = ((Is + 1 >= last || loader_in(values).confirm()) && ...);
    return holds ? verdict::accepted : verdict::changed;
  }
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
DLBRIDGE_COLD void add_reasons(refusals& reasons, Loaders loaders, function_record const& record,
                               std::index_sequence<Is...> indices) noexcept {
  (add_if_refused(reasons, std::get<Is>(loaders), record.name_of(Is), record.position(Is)), ...);
  if (!reasons) {
    detail::add_disagreement(reasons, loaders, record, indices);
  }
}
/// Sets the Python exception with these reasons.
template <class Loaders, class Indices>
DLBRIDGE_COLD void set_reasons(Loaders loaders, function_record const& record,
                               Indices indices) noexcept {
  refusals reasons;
  detail::add_reasons(reasons, loaders, record, indices);
  reasons.set_error(record.name.c_str());
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
