// returns, narrow: the extra arguments of def that state the library and the dtypes of results; and
// keep_values, which refuses a result whose values a library does not keep.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// The libraries that `returns` can name.
enum class library : std::uint8_t {
  dlbridge,  ///< its Tensor
  numpy,
  torch,
  jax,
  tensorflow,
  cupy,
  tvm_ffi,
  dpnp,
  dpctl,
  paddle,
  mlx,
};

/// An extra argument of def and def_fast: the bound function then returns tensors of one library,
/// regardless of the libraries of its arguments. As an argument of init, the library of every other
/// tensor that this extension gives to Python, where neither an argument nor a caller states one.
struct returns {
  constexpr returns() noexcept = default;
  constexpr returns(library which_library, bool may_narrow = false) noexcept
      : which(which_library), narrows(may_narrow) {}
  constexpr returns(std::nullopt_t, bool may_narrow) noexcept : narrows(may_narrow) {}

  std::optional<library> which{};  ///< the library
  bool narrows = false;            ///< whether the results may be rounded, as `narrow` states

  void add(returns const& more) noexcept;
};

/// An extra argument of def and def_fast, and an argument of init. JAX without jax_enable_x64 and
/// MLX store float64 as float32, and complex128 as complex64. Results may then come back so,
/// rounded; BufferError is raised for a finite value that would become infinite. Without it,
/// BufferError is raised for every such result. Integers of 64 bits come back in 32 bits if every
/// value fits, in either case.
DLBRIDGE_LOCAL inline constexpr returns narrow{std::nullopt, true};

namespace python::detail {
// What init states of all results of this extension.
DLBRIDGE_LOCAL inline returns module_results;

// Returns the object that a library made of a result, or an empty ref with an exception set.
// producer: the Tensor of which the library made it, which owns the memory of `built`
// wider: what callers of the library do to receive 64 bits; may be empty
ref keep_values(ref object, PyObject* producer, tensor_view const& built, returns as,
                char const* wider) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/returns.ipp>
#endif
