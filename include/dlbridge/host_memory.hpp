// Memory of our own: where it comes from, and build_empty, a fresh compact tensor on it.
// layer: arrays · OUT: when there is no array yet
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Where host memory comes from. allocate returns null when there is none.
struct host_allocator {
  void* (*allocate)(std::size_t bytes, std::size_t alignment) noexcept;
  void (*deallocate)(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
};

namespace detail {
// Functions, as nvcc does not get lambdas of these types through.
inline void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
}
inline void deallocate_aligned(void* memory, std::size_t, std::size_t alignment) noexcept {
  ::operator delete(memory, std::align_val_t{alignment});
}
}  // namespace detail

/// operator new. Memory is aligned to 64 bytes: JAX copies below that, TensorFlow aborts.
inline host_allocator default_allocator() noexcept {
  return {&detail::allocate_aligned, &detail::deallocate_aligned};
}
constexpr std::size_t host_alignment = 64;

namespace detail {
// Memory that is freed with the tensor built on it.
struct host_buffer {
  void* memory = nullptr;
  std::size_t bytes = 0;
  host_allocator from{};

  host_buffer(std::size_t bytes_, host_allocator const& from_)
      : memory(from_.allocate(bytes_, host_alignment)), bytes(bytes_), from(from_) {
    if (memory == nullptr) {
      report r = refusal(errc::out_of_memory, "host memory of ", "none");
      r.expected.append_unsigned(bytes).append(" bytes");
      raise(r);
    }
  }
  host_buffer(host_buffer&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)), bytes(other.bytes), from(other.from) {}
  host_buffer& operator=(host_buffer&&) = delete;
  ~host_buffer() {
    if (memory != nullptr) {
      from.deallocate(memory, bytes, host_alignment);
    }
  }
};

// Memory for a compact tensor that is described but for its data. Bits behind the last of packed
// elements are 0.
inline managed_tensor build_compact(description d, struct_kind kind, host_allocator const& memory) {
  std::int64_t count = 0;
  std::int64_t bits = 0;
  if (d.shape.size() > max_rank || !try_count(d.shape.size(), d.shape.data(), count) ||
      !try_multiply(count, element_bytes(d.type) * 8, bits)) {
    report r = refusal(errc::overflow, "a size that fits 64 bits", "shape ");
    append_extents(r.got, d.shape.size() > max_rank ? 0 : d.shape.size(), d.shape.data());
    raise(r);
  }
  bool const padded = (d.flags & flag_padded) != 0;
  auto const bytes = static_cast<std::size_t>(bytes_for(count, d.type, padded));
  host_buffer buffer(bytes != 0 ? bytes : 1, memory);
  d.data = buffer.memory;
  if (is_sub_byte(d.type) && !padded) {
    std::memset(buffer.memory, 0, bytes);
  }
  return build_on(std::move(buffer), d, kind);
}
}  // namespace detail

/// A new row-major tensor in host memory of its own, its elements not set.
/// fails: malformed (an extent below 0), dtype_mismatch (not one of DLPack's), overflow,
/// out_of_memory.
inline managed_tensor build_empty(dtype type, dims const& shape,
                                  struct_kind kind = struct_kind::versioned,
                                  host_allocator const& memory = default_allocator()) {
  for (int i = 0; i < shape.size() && i < max_rank; ++i) {
    if (shape[i] < 0) {
      report r = refusal(errc::malformed, "extents of 0 and above", "shape ");
      append_extents(r.got, shape.size() < max_rank ? shape.size() : max_rank, shape.data());
      raise(r);
    }
  }
  description d;
  d.type = type;
  d.shape = shape;
  return detail::build_compact(d, kind, memory);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
