// describe_block: writes the description of an array to the struct of a new tensor, or explains why
// the description is refused.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// Writes a description to a struct, and its shape and strides to two arrays that the struct then
// points to. Strides are always written (spec 1.7).
inline void write_tensor(description const& d, std::int64_t* dims, std::int64_t* strides,
                         DLTensor& t) noexcept {
  int const rank = d.shape.size();
  copy_extents(d.shape.data(), rank, dims);
  if (d.strides.size() == 0) {
    fill_row_major(rank, dims, strides);
  }
  copy_extents(d.strides.data(), d.strides.size(), strides);
  t.data = d.data;
  t.byte_offset = d.byte_offset;
  t.device = d.device.abi();
  t.ndim = rank;
  t.dtype = d.type.abi();
  t.shape = rank == 0 ? nullptr : dims;
  t.strides = rank == 0 ? nullptr : strides;
}

// Brings data and byte_offset of a valid struct into the form of exported tensors: data is null for
// an empty tensor (spec 1.7), and an address includes the byte offset (spec 1.6). On oneAPI both
// stay as they are (spec 4.8).
inline void canonicalize_data(DLTensor& t) noexcept {
  if (keeps_data(device(t.device))) {
    return;
  }
  if (count_of(t.ndim, t.shape) == 0) {
    t.data = nullptr;
    t.byte_offset = 0;
  } else if (has_address(device(t.device))) {
    t.data = static_cast<char*>(t.data) + t.byte_offset;
    t.byte_offset = 0;
  }
}

// Explains the ranks of a description: shape and strides have one rank, and that of the first call
// of describe, before the array moved into the tensor.
DLBRIDGE_COLD inline report explain_ranks(description const& d, int rank) noexcept {
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

// Writes a description to the struct t of a new tensor, with shape and strides at numbers, and
// returns the tensor. It frees the tensor if the description is refused. It is not a template, so
// all owner types share its code.
DLBRIDGE_NOINLINE inline managed_tensor describe_block(managed_tensor tensor, DLTensor& t,
                                                       std::int64_t* numbers, description const& d,
                                                       int rank) {
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
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
