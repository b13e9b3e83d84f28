// The inline bodies of argument_check.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <tuple>

#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/agree_on_extents.inl>
#include <dlbridge/python/call/detail/argument_check.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
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
      given.count + (given.keywords != nullptr
                         ? static_cast<std::size_t>(detail::tuple_size(given.keywords))
                         : 0);
  for (std::size_t i = given.count < first ? given.count : first; i < count; ++i) {
    if (!is_plain_value(given.values[i]) && !(is_read_from(given.values[i], values) || ...)) {
      return true;
    }
  }
  return false;
}

template <class... Values>
constexpr std::size_t count_before_loaded() noexcept {
  constexpr bool loaded[] = {is_loaded<Values>..., true};
  std::size_t i = 0;
  while (!loaded[i]) {
    ++i;
  }
  return i;
}

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

template <class... Values>
inline verdict argument_check<Values...>::accept(Values&... values) noexcept {
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

template <class... Values>
template <std::size_t... Is>
verdict argument_check<Values...>::confirm(std::index_sequence<Is...>, Values&... values) noexcept {
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

template <class Loaders, std::size_t... Is>
void add_reasons(refusals& reasons, Loaders loaders, function_record const& record,
                 std::index_sequence<Is...> indices) noexcept {
  (add_if_refused(reasons, std::get<Is>(loaders), record.name_of(Is), record.position(Is)), ...);
  if (!reasons) {
    detail::add_disagreement(reasons, loaders, record, indices);
  }
}

template <class Loaders, class Indices>
void set_reasons(Loaders loaders, function_record const& record, Indices indices) noexcept {
  refusals reasons;
  detail::add_reasons(reasons, loaders, record, indices);
  reasons.set_error(record.name.c_str());
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
