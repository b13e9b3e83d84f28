// host_allocator and build_empty: allocate host memory and create a tensor on it.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Two functions that allocate and free host memory. allocate returns null on failure, otherwise
/// memory with the alignment, in bytes.
struct host_allocator {
  void* (*allocate)(std::size_t bytes, std::size_t alignment) noexcept;
  void (*deallocate)(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
};

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

/// The allocator that uses operator new. On Linux it advises pages of 2 MiB for memory from 4 MiB
/// on.
inline host_allocator default_allocator() noexcept {
  return {&detail::allocate_aligned, &detail::deallocate_aligned};
}
/// The alignment, in bytes, of host memory that dlbridge allocates. With a smaller alignment JAX
/// copies and TensorFlow aborts.
DLBRIDGE_LOCAL inline constexpr std::size_t host_alignment = 64;

namespace detail {
// An owner of host memory. It throws out_of_memory and bad_argument.
struct host_buffer {
  void* memory = nullptr;
  std::size_t bytes = 0;
  host_allocator allocator{};

  host_buffer(std::size_t bytes_, host_allocator const& allocator_)
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
  host_buffer(host_buffer const&) = delete;
  host_buffer(host_buffer&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)),
        bytes(other.bytes),
        allocator(other.allocator) {}
  host_buffer& operator=(host_buffer const&) = delete;
  ~host_buffer() {
    if (memory != nullptr) {
      allocator.deallocate(memory, bytes, host_alignment);
    }
  }
};

// The size in bytes of the memory of a compact tensor. It throws malformed and overflow. A valid
// tensor of few bytes, whose strides are 0, can have a copy that exceeds the address space of a
// 32-bit machine.
inline std::size_t compact_bytes(description const& d) {
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

// Allocates memory for a compact tensor, whose description lacks only data. The unused bits after
// the last packed element are 0.
inline managed_tensor build_compact(description d, struct_kind kind, host_allocator const& memory) {
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

/// Creates a row-major tensor in new host memory. Its elements are not initialized.
///
/// @param type The dtype.
/// @param shape The extents.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return The tensor, aligned to host_alignment.
/// @throws error bad_argument (a negative extent, more than 64 dimensions, or memory of the
///   allocator that is not aligned), dtype_mismatch (not a dtype of DLPack), overflow (a size above
///   64 bits or the address space), out_of_memory.
inline managed_tensor build_empty(dtype type, dims const& shape,
                                  struct_kind kind = struct_kind::versioned,
                                  host_allocator const& memory = default_allocator()) {
  if (report const r = detail::check_extents(shape.size(), shape.data()); !r.ok()) {
    raise(r);
  }
  description d;
  d.type = type;
  d.shape = shape;
  return detail::build_compact(d, kind, memory);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
