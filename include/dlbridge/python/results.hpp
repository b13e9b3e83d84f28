// give_result: what a function returns, as an object of the library that its caller works with.
// floor 16 · OUT: from a C++ result to the caller's own type
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/managed.hpp>
#include <dlbridge/python/argument.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/origin.hpp>
#include <dlbridge/python/parameter.hpp>
#include <dlbridge/tensor.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// For def and def_fast: what the function returns is of this library, whatever it was given.
struct returns {
  library which;
};

namespace python {
namespace detail {
template <class T>
struct result_kind {
  static constexpr bool is_tensor = is_tensor_parameter<T> && !parameter<T>::borrows;
  static constexpr bool knows_origin = false;
};
template <class T, class Shape, class... Constraints>
struct result_kind<argument<T, Shape, Constraints...>> {
  static constexpr bool is_tensor = true;
  static constexpr bool knows_origin = true;
};

inline managed_tensor release(managed_tensor&& m) noexcept { return std::move(m); }
template <class Tensor>
managed_tensor release(Tensor&& t) noexcept {
  return std::move(t).release();
}
}  // namespace detail

/// Whether a function may return it as a tensor: by value, and owned.
template <class T>
constexpr bool is_result = detail::result_kind<T>::is_tensor;

/// The object for a result: of the library that is named (home), else of its own origin, else like
/// the object of the first tensor argument (like), else a Tensor. Either pointer may be null.
/// owns: the tensor, freed when it fails. GIL: held. fails: none, with a Python exception set.
template <class Result>
ref give_result(Result&& result, PyObject* like, library const* home) noexcept {
  using type = std::decay_t<Result>;
  static_assert(!std::is_lvalue_reference_v<Result>, "dlbridge: a result is moved out");
  if (home != nullptr) {
    return give_as(*home, detail::release(std::move(result)));
  }
  if constexpr (detail::result_kind<type>::knows_origin) {
    return std::move(result).give();
  } else {
    managed_tensor m = detail::release(std::move(result));
    return like != nullptr ? origin(like).give(std::move(m)) : give_own(std::move(m));
  }
}
template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* like, library const* home) noexcept {
  return result ? give_result(std::move(*result), like, home) : ref::borrow(Py_None);
}

/// The object of the first parameter that is a tensor, or null.
template <class... Parameters>
PyObject* first_tensor(PyObject* const* objects) noexcept {
  constexpr bool tensors[] = {is_tensor_parameter<Parameters>...};
  for (std::size_t i = 0; i < sizeof...(Parameters); ++i) {
    if (tensors[i] && objects[i] != nullptr && objects[i] != Py_None) {
      return objects[i];
    }
  }
  return nullptr;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
