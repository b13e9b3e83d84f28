// The bodies of describe_block.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Explains the ranks of a description: shape and strides have one rank, and that of the first call
// of describe, before the array moved into the tensor.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report explain_ranks(description const& d,
                                                            int rank) noexcept {
  report r = refusal(errc::bad_argument, "one stride for each dimension of ", "strides ",
                     "Correct the description of the array");
  if (d.shape.size() == rank) {
    append_extents(r.expected, rank, d.shape.data());
    append_extents(r.got, d.strides.size(), d.strides.data());
    return r;
  }
  r = refusal(errc::bad_argument, "rank ", "shape ",
              "Correct array_traits<T>::describe. An array that points into itself, such as an "
              "Eigen::Ref to a copy of its own, cannot be exported");
  r.expected.append(rank).append(", as before the array moved into the tensor");
  append_extents(r.got, d.shape.size(), d.shape.data());
  return r;
}

// Whether a description is that of_nothing.
inline bool is_nothing(description const& d) noexcept {
  return d.data == nullptr && d.shape.size() == 0 && d.type == dtype_of<std::byte>();
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor describe_block(managed_tensor tensor, DLTensor& t,
                                                             std::int64_t* numbers,
                                                             description const& d, int rank) {
  if (d.shape.size() != rank || (d.strides.size() != 0 && d.strides.size() != rank)) {
    report const why = explain_ranks(d, rank);
    tensor = managed_tensor();
    raise(why);
  }
  write_tensor(d, numbers, numbers + rank, t);
  flaw const what = find_flaw(t);
  if (what != flaw::none) {
    report why = explain(what, t);
    why.advice = "Correct the description of the array";
    if (what == flaw::null_data && is_nothing(d)) {
      why = refusal(errc::null_data, "an owner of an array", "an empty one");
    }
    tensor = managed_tensor();
    raise(why);
  }
  canonicalize_data(t);
  return tensor;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
