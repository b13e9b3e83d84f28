// with_own_dims: gives an imported tensor a shape and strides that its library cannot change.
// layer: import · tensors that outlive a call
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// A managed struct and the imported tensor that its deleter frees, with a shape and strides behind
// them. It has one owner; a shared_tensor would count several with atomic operations.
struct own_dims_block {
  DLManagedTensorVersioned managed;
  managed_tensor imported;

  explicit own_dims_block(managed_tensor&& m) noexcept : managed(), imported(std::move(m)) {}

  // Takes the tensor, unless there is no memory: the result is then null.
  static own_dims_block* make(managed_tensor& m, int rank) noexcept {
    void* const memory = ::operator new(
        sizeof(own_dims_block) + 2 * static_cast<std::size_t>(rank) * sizeof(std::int64_t),
        std::nothrow);
    if (memory == nullptr) {
      return nullptr;
    }
    auto* const block = ::new (memory) own_dims_block(std::move(m));
    block->managed.manager_ctx = block;
    block->managed.deleter = [](DLManagedTensorVersioned* self) {
      auto* const freed = static_cast<own_dims_block*>(self->manager_ctx);
      freed->~own_dims_block();
      ::operator delete(freed);
    };
    return block;
  }
  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
};

/// Gives a tensor a shape and strides of its own.
/// @return A tensor on the same memory, with the same flags, that owns the given one; the given one
///   where there is no memory for another.
/// @par Thread and GIL
/// The deleter needs what that of the given tensor needs.
DLBRIDGE_NOINLINE inline managed_tensor with_own_dims(managed_tensor m) noexcept {
  tensor_view const view = m.view();
  auto* const block = own_dims_block::make(m, view.rank());
  if (block == nullptr) {
    return m;
  }
  std::int64_t* const shape = block->dims();
  std::int64_t* const strides = shape + view.rank();
  for (int i = 0; i < view.rank(); ++i) {
    shape[i] = view.extent(i);
  }
  view.copy_strides(strides);
  managed_tensor result = dlbridge::detail::lend_in(block->managed, view.with_dims(shape, strides));
  block->managed.flags = view.flags();  // the result is the only owner: a copy stays one
  return result;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
