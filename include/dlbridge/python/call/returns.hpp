// library, returns, narrow: the extra arguments of def that state the library and the dtypes of
// results; and keep_values, which refuses a result whose values a library does not keep.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// The libraries that `returns` can name.
enum class library_id : std::uint8_t {
  dlbridge,  // its Tensor
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

class library;
/// The type of library::numpy and so on, by which a stub states the class of a result.
template <library_id Id>
struct library_name {
  constexpr operator library() const noexcept;  ///< The library.
};

/// A library that `returns` can name.
class library {
 public:
  static constexpr library_name<library_id::dlbridge> dlbridge{};      ///< Its Tensor.
  static constexpr library_name<library_id::numpy> numpy{};            ///< numpy.ndarray
  static constexpr library_name<library_id::torch> torch{};            ///< torch.Tensor
  static constexpr library_name<library_id::jax> jax{};                ///< jax.Array
  static constexpr library_name<library_id::tensorflow> tensorflow{};  ///< tensorflow.Tensor
  static constexpr library_name<library_id::cupy> cupy{};              ///< cupy.ndarray
  static constexpr library_name<library_id::tvm_ffi> tvm_ffi{};        ///< tvm_ffi.Tensor
  static constexpr library_name<library_id::dpnp> dpnp{};              ///< dpnp.ndarray
  static constexpr library_name<library_id::dpctl> dpctl{};            ///< dpctl.tensor.usm_ndarray
  static constexpr library_name<library_id::paddle> paddle{};          ///< paddle.Tensor
  static constexpr library_name<library_id::mlx> mlx{};                ///< mlx.core.array

  constexpr explicit library(library_id id) noexcept : id_(id) {}  ///< Of an ID.
  /// Whether both are the same library.
  friend constexpr bool operator==(library a, library b) noexcept { return a.id_ == b.id_; }

 private:
  library_id id_;
};
template <library_id Id>
constexpr library_name<Id>::operator library() const noexcept {
  return library(Id);
}

/// What becomes of the tensors that a function returns: see `returns` and `narrow`.
struct result_choice {
  constexpr result_choice() noexcept = default;  ///< No library, and no rounding.
  /// States the two members.
  constexpr result_choice(std::optional<library> in, bool may_narrow) noexcept
      : which(in), narrows(may_narrow) {}
  /// States a library, such as library::numpy.
  template <class Name, class = std::enable_if_t<std::is_convertible_v<Name, library>>>
  constexpr result_choice(Name in) noexcept : which(library(in)) {}

  std::optional<library> which{};  ///< the library
  bool narrows = false;            ///< whether the results may be rounded, as `narrow` states

  void add(result_choice const& more) noexcept;  ///< Adds what another choice states.
};

/// An extra argument of def and def_fast: returns{library::numpy}. The bound function then returns
/// tensors of one library, regardless of the libraries of its arguments. As an argument of init,
/// the library of every other tensor that this extension gives to Python, where neither an argument
/// nor a caller states one.
/// @tparam Id the library, for the stub; none if it is known at run time only
template <library_id... Id>
struct returns : result_choice {
  /// States a library, and whether results may be rounded as `narrow` states.
  constexpr returns(library in, bool may_narrow = false) noexcept : result_choice(in, may_narrow) {}
};
/// @cond
template <library_id Id>
returns(library_name<Id>) -> returns<Id>;
template <library_id Id>
returns(library_name<Id>, bool) -> returns<Id>;
returns(library) -> returns<>;
returns(library, bool) -> returns<>;
/// @endcond

/// An extra argument of def and def_fast, and an argument of init. JAX without jax_enable_x64 and
/// MLX store float64 as float32, and complex128 as complex64. Results may then come back so,
/// rounded; BufferError is raised for a finite value that would become infinite. Without it,
/// BufferError is raised for every such result. Integers of 64 bits come back in 32 bits if every
/// value fits, in either case.
DLBRIDGE_LOCAL inline constexpr result_choice narrow{std::nullopt, true};

namespace python::detail {
// What init states of all results of this extension.
DLBRIDGE_LOCAL inline result_choice module_results;

// Returns the object that a library made of a result, or an empty ref with an exception set.
// producer: the Tensor of which the library made it, which owns the memory of `built`
// wider: what callers of the library do to receive 64 bits; may be empty
ref keep_values(ref object, PyObject* producer, tensor_view const& built, result_choice as,
                char const* wider) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/returns.ipp>
#endif
