// The bodies of build.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/build.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API description describe_view(tensor_view const& view) noexcept {
  auto const rank = static_cast<std::size_t>(view.rank());
  DLTensor const t = view.to_dltensor();
  description d;
  d.data = t.data;
  d.type = view.dtype();
  d.shape = dims::from(view.shape(), rank);
  d.strides = dims::from(view.strides(), view.strides() != nullptr ? rank : 0);
  d.device = view.device();
  d.byte_offset = t.byte_offset;
  d.flags = view.flags();
  return d;
}

DLBRIDGE_API description array_traits<managed_tensor>::describe(managed_tensor& m) noexcept {
  return m ? describe_view(m.view()) : description::of_nothing();
}

namespace detail {
DLBRIDGE_API void require_legacy(dtype type, std::uint64_t flags, read_only_policy policy) {
  if ((flags & flag_read_only) != 0 && policy == read_only_policy::refuse) {
    raise(refusal(errc::read_only, "writable memory, as a legacy tensor has no read-only flag",
                  "read-only memory",
                  "Build a versioned tensor, copy it, or pass read_only_policy::drop"));
  }
  if ((flags & flag_padded) != 0 && is_sub_byte(type)) {
    raise(refusal(errc::version_mismatch, "a versioned tensor for padded sub-byte elements",
                  "a request for a legacy one", "Build a versioned tensor"));
  }
}

DLBRIDGE_API void require_elements(bool inside, void const* owner, std::size_t bytes,
                                   void const* elements) {
  if (owner == nullptr) {
    raise(refusal(errc::null_data, "an owner of the memory", "an empty one",
                  "Pass no_owner{} for memory that outlives the tensor"));
  }
  auto const first = reinterpret_cast<std::uintptr_t>(owner);
  if ((reinterpret_cast<std::uintptr_t>(elements) - first < bytes) == inside) {
    return;
  }
  raise(inside ? refusal(errc::bad_argument, "an array that owns its elements",
                         "a view, whose destructor frees nothing",
                         "Name the owner, build_on(std::move(owner), describe(view)); or state "
                         "borrows in its array_traits, if the caller keeps the memory valid")
               : refusal(errc::bad_argument,
                         "elements that stay where they are when their owner moves",
                         "the address of elements in the owner itself",
                         "Pass a std::unique_ptr or a std::shared_ptr of it"));
}
}  // namespace detail

DLBRIDGE_API managed_tensor to_versioned(managed_tensor&& m) {
  if (m.get_versioned() != nullptr) {
    return std::move(m);
  }
  detail::require_owner(m);
  return build(std::move(m), struct_kind::versioned);
}

DLBRIDGE_API managed_tensor to_legacy(managed_tensor&& m, read_only_policy policy) {
  if (m.get_legacy() != nullptr) {
    return std::move(m);
  }
  detail::require_owner(m);
  return build(std::move(m), struct_kind::legacy, policy);
}

DLBRIDGE_END_NAMESPACE
