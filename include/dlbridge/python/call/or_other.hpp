// or_other<P>, row_major_of<P>: tensor parameters that also accept numbers, lists, buffers and
// arrays of libraries without DLPack; and tensors of another layout.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/python/call/parameter.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// A tag of or_other: a Python number, and lists, tuples and ranges of numbers at any depth. Their
/// values are copied to a new tensor with the dtype of the parameter. For elements `T const`, of
/// bool, an integer, float, double, or a complex number of these.
struct numbers {};
/// A tag of or_other: an object with the buffer protocol: bytes, bytearray, memoryview,
/// array.array, mmap.mmap, an array of ctypes. The memory is not copied; that of bytes is
/// read-only. The buffer stays exported as long as the tensor exists, so that a bytearray cannot be
/// resized.
struct buffers {};
/// A tag of or_other: an object with `__array__` or `__array_interface__`, such as one of pandas,
/// xarray, h5py, zarr, or an image of Pillow. The tensor is that of the ndarray which `__array__`
/// returns, a view or a copy, as the library decides. For elements `T const`, and read-only.
struct arrays {};
/// A tag of or_other: an object with Arrow's PyCapsule interface, such as one of pyarrow, polars,
/// DuckDB: integers or floats, one column in one chunk, without nulls. The memory is not copied,
/// and belongs to the tensor. For elements `T const`, and read-only.
struct arrow {};

namespace python::detail {
template <class P, class Kind>
struct other_kind;
}  // namespace python::detail

/// A parameter of type P that accepts a DLPack producer as P does, and also other objects. The
/// function uses it as a P.
/// @tparam P a tensor parameter type, such as tensor_span, argument, convert or any_tensor
/// @tparam Kinds the tags `numbers`, `buffers`, `arrays` and `arrow`, in the order in which an
///   object is tried: the first that an object has decides. None stands for all that P can take, in
///   the order above
/// @par Lifetime
/// As P.
template <class P, class... Kinds>
class or_other : public P {
  static_assert(python::is_tensor_parameter<P> && !python::parameter<P>::optional,
                "dlbridge: or_other<P> extends a tensor parameter. Write "
                "std::optional<or_other<P>> to accept None");
  static_assert(!python::parameter<P>::takes_others,
                "dlbridge: an or_other extends no other one. Write all tags in one: "
                "or_other<P, numbers, buffers>");
  static_assert((python::detail::other_kind<P, Kinds>::require_elements() && ...));

 public:
  /// Takes the tensor of a P.
  or_other(P parameter) noexcept(std::is_nothrow_move_constructible_v<P>)
      : P(std::move(parameter)) {}
};

/// A parameter of type P whose tensor is compact, with the last dimension fastest: one in another
/// layout is copied to a new row-major host tensor, with flag_is_copied, if the CPU can access its
/// memory. The function uses it as a P. What it writes to a copy is lost.
/// @tparam P any_tensor, any_argument, managed_tensor, or any_tensor_of const elements
/// @par Lifetime
/// As P.
template <class P>
class row_major_of : public P {
 public:
  row_major_of(P parameter) noexcept : P(std::move(parameter)) {}  ///< Takes the tensor of a P.
};
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/or_other.inl>
