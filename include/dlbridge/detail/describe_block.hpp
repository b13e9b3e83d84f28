// describe_block: writes the description of an array to the struct of a new tensor, or explains why
// the description is refused.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/managed_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Writes a description to a struct, and its shape and strides to two arrays that the struct then
// points to. Strides are always written (spec 1.7).
inline void write_tensor(description const& d, std::int64_t* dims, std::int64_t* strides,
                         DLTensor& t) noexcept;

// Brings data and byte_offset of a valid struct into the form of exported tensors: data is null for
// an empty tensor (spec 1.7), and an address includes the byte offset (spec 1.6). On oneAPI both
// stay as they are (spec 4.8).
inline void canonicalize_data(DLTensor& t) noexcept;

// Writes a description to the struct t of a new tensor, with shape and strides at numbers, and
// returns the tensor. It frees the tensor if the description is refused. It is not a template, so
// all owner types share its code.
managed_tensor describe_block(managed_tensor tensor, DLTensor& t, std::int64_t* numbers,
                              description const& d, int rank);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/detail/describe_block.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/describe_block.ipp>
#endif
