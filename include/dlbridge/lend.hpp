// lend: exports a view of a shared tensor as a managed tensor, without a copy of its shape.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Exports a view of a shared tensor.
/// @param owner The shared tensor.
/// @param view A view of its memory, whose shape and strides are valid as long as the owner.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, with the flags of the view except flag_is_copied, because the consumer is
///   not the only owner (spec 1.8).
/// @throws error null_data (the owner is empty), read_only (legacy, and policy is refuse),
///   version_mismatch (legacy, and padded sub-byte elements), out_of_memory.
/// @par Ownership
/// The result shares the owner.
/// @par Thread and GIL
/// The deleter needs neither a certain thread nor the GIL.
managed_tensor lend(shared_tensor const& owner, tensor_view const& view, struct_kind kind,
                    read_only_policy policy = read_only_policy::refuse);

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/lend.ipp>
#endif
