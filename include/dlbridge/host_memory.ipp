// The bodies of host_memory.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// From this size on, the system is advised to use pages of 2 MiB: the first use of memory then
// costs one page fault for each 2 MiB, and not for each 4 KiB.
constexpr std::size_t huge_bytes = std::size_t{4} << 20;

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Advises the system about the pages that lie within the memory. On failure they stay small.
inline void advise_huge_pages(void* memory, std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  auto const first = reinterpret_cast<std::uintptr_t>(memory);
  std::uintptr_t const before = (huge_page - first % huge_page) % huge_page;
  if (bytes >= huge_bytes) {
    static_cast<void>(::madvise(static_cast<char*>(memory) + before,
                                (bytes - before) / huge_page * huge_page, MADV_HUGEPAGE));
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

// operator new without an alignment costs less, and glibc then uses freed memory again. Large
// memory begins a little behind a page, as that of other libraries, for which memcpy is fastest.
constexpr bool is_offset(std::size_t alignment) noexcept { return alignment <= 64; }

// Functions, because nvcc does not compile noexcept lambdas to such pointers.
inline void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory;
  if (is_offset(alignment)) {
    memory = ::operator new(bytes + alignment, std::nothrow);
    if (memory == nullptr) {
      return nullptr;
    }
    std::size_t const offset =
        alignment - (reinterpret_cast<std::uintptr_t>(memory) & (alignment - 1));
    memory = static_cast<unsigned char*>(memory) + offset;
    static_cast<unsigned char*>(memory)[-1] = static_cast<unsigned char>(offset);  // 1 to 64
  } else {
    memory = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    if (memory == nullptr) {
      return nullptr;
    }
  }
  advise_huge_pages(memory, bytes);
  return memory;
}

inline void deallocate_aligned(void* memory, std::size_t, std::size_t alignment) noexcept {
  if (is_offset(alignment)) {
    auto* const first = static_cast<unsigned char*>(memory);
    ::operator delete(first - first[-1]);
    return;
  }
  ::operator delete(memory, std::align_val_t{alignment});
}
}  // namespace detail

DLBRIDGE_API host_allocator default_allocator() noexcept {
  return {&detail::allocate_aligned, &detail::deallocate_aligned};
}

namespace detail {
DLBRIDGE_API host_buffer::host_buffer(std::size_t bytes_, host_allocator const& allocator_)
    : memory(allocator_.allocate(bytes_, host_alignment)), bytes(bytes_), allocator(allocator_) {
  if (memory == nullptr) {
    report r = refusal(errc::out_of_memory, "host memory of ", "none");
    r.expected.append_unsigned(bytes).append(" bytes");
    raise(r);
  }
  if (reinterpret_cast<std::uintptr_t>(memory) % host_alignment != 0) {
    allocator.deallocate(memory, bytes, host_alignment);
    raise(refusal(errc::bad_argument, "memory of the allocator, aligned to 64 bytes",
                  "memory with another alignment"));
  }
}

DLBRIDGE_API host_buffer::~host_buffer() {
  if (memory != nullptr) {
    allocator.deallocate(memory, bytes, host_alignment);
  }
}

DLBRIDGE_API std::size_t compact_bytes(description const& d) {
  require_rank(d.shape.size());
  std::int64_t count = 0;
  std::int64_t bits = 0;
  bool const fits_64_bits = try_count(d.shape.size(), d.shape.data(), count) &&
                            try_multiply(count, element_bytes(d.type) * 8, bits);
  std::int64_t const bytes =
      fits_64_bits ? bytes_for(count, d.type, (d.flags & flag_padded) != 0) : 0;
  if (!fits_64_bits || bytes > (std::numeric_limits<std::ptrdiff_t>::max)()) {
    report r = refusal(
        errc::overflow,
        fits_64_bits ? "a size that fits the address space" : "a size in bits that fits 64 bits",
        "shape ");
    append_extents(r.got, d.shape.size(), d.shape.data());
    raise(r);
  }
  return static_cast<std::size_t>(bytes);
}

DLBRIDGE_API managed_tensor build_compact(description d, struct_kind kind,
                                          host_allocator const& memory) {
  bool const padded = (d.flags & flag_padded) != 0;
  std::size_t const bytes = compact_bytes(d);
  host_buffer buffer(bytes != 0 ? bytes : 1, memory);
  d.data = buffer.memory;
  if (is_sub_byte(d.type) && !padded) {
    std::memset(buffer.memory, 0, bytes);
  }
  return build_on(std::move(buffer), d, kind);
}
}  // namespace detail

DLBRIDGE_API managed_tensor build_empty(dtype type, dims const& shape, struct_kind kind,
                                        host_allocator const& memory) {
  if (report const r = detail::check_extents(shape.size(), shape.data()); !r.ok()) {
    raise(r);
  }
  description d;
  d.type = type;
  d.shape = shape;
  return detail::build_compact(d, kind, memory);
}

DLBRIDGE_END_NAMESPACE
