// Our exchange table for a Python type: every slot, over a few answers that the type gives.
// floor 9 · IN and OUT: the road without capsules, from our side
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/keywords.hpp>
#include <dlbridge/traits.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// Shape and strides of tensors that are lent, for as long as the slot's caller may look: those of
/// the last 64 in this thread. Only for arrays that have none to point to.
struct lent_dims {
  std::int64_t shape[max_rank];
  std::int64_t strides[max_rank];

  DLBRIDGE_LOCAL static lent_dims& next() noexcept {
    thread_local lent_dims kept[64];
    thread_local unsigned used = 0;
    return kept[used++ % 64];
  }
};

#if DLBRIDGE_DLPACK_AT_LEAST(2)
namespace detail {
// The slots that are the same for every type of ours.
inline int allocate_on_host(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                            void (*set_failure)(void*, char const*, char const*)) noexcept {
  *out = nullptr;
  report why;
  device const where(prototype->device);
  if (where != cpu) {
    why =
        refusal(errc::device_mismatch, "cpu, where this library allocates", name_of(where).c_str());
  } else if (prototype->ndim < 0 || (prototype->ndim > 0 && prototype->shape == nullptr)) {
    why = refusal(errc::malformed, "a prototype with a shape", "none");
  } else {
    try {
      dims const shape = dims::from(prototype->shape, static_cast<std::size_t>(prototype->ndim));
      managed_tensor made = build_empty(dtype(prototype->dtype), shape);
      *out = made.release_versioned();
      return 0;
    } catch (error const& e) {
      why = e.why();
    }
  }
  bool const no_memory = why.broke(errc::out_of_memory);
  set_failure(context, no_memory ? "MemoryError" : "BufferError", message(why).c_str());
  return -1;
}

inline int no_work_stream(DLDeviceType, std::int32_t, void** out) noexcept {
  *out = nullptr;  // we start no work
  return 0;
}

// Owned when it is sound and readable; else an exception is set, and it stays with the caller, as
// torch and tvm-ffi have it.
inline managed_tensor adopt_sound(DLManagedTensorVersioned* raw) noexcept {
  report why;
  if (raw == nullptr) {
    why = refusal(errc::bad_argument, "a managed tensor", "null");
  } else {
    version const stated{raw->version.major, raw->version.minor};
    why = readable(stated) ? check_tensor(raw->dl_tensor) : unreadable(stated);
  }
  if (!why.ok()) {
    set_error(why);
    return managed_tensor();
  }
  return managed_tensor::adopt(raw);
}

DLBRIDGE_COLD inline bool add_exchange_table(PyTypeObject* type, void const* table) noexcept {
  ref const capsule =
      ref::steal(PyCapsule_New(const_cast<void*>(table), exchange_capsule_name(), nullptr));
  return capsule && PyObject_SetAttr(reinterpret_cast<PyObject*>(type), names::get().exchange_table,
                                     capsule.get()) == 0;
}
}  // namespace detail

/// The table of a Python type (spec 5.3), whose objects live in host memory as far as allocation
/// and streams go. Face says what is the type's own:
///
///   static managed_tensor give(PyObject* self);           // owning, versioned; may throw
///   static void lend(PyObject* self, DLTensor& out);      // until control returns; may throw
///   static PyObject* take(managed_tensor& m);             // a new object; m is taken on success
///
/// The first and the last may also set a Python exception, and then give nothing. No slot throws.
/// thread and GIL: held in the slots that take or make an object; not needed by the allocator.
template <class Face>
class exchange_slots {
 public:
  DLBRIDGE_LOCAL static DLPackExchangeAPI const* table() noexcept {
    static DLPackExchangeAPI const made = make();
    return &made;
  }

 private:
  static DLPackExchangeAPI make() noexcept {
    DLPackExchangeAPI made{};
    made.header.version = {stated_major, stated_minor};
    made.managed_tensor_allocator = &detail::allocate_on_host;
    made.managed_tensor_from_py_object_no_sync = &give;
    made.managed_tensor_to_py_object_no_sync = &take;
    made.dltensor_from_py_object_no_sync = &lend;
    made.current_work_stream = &detail::no_work_stream;
    return made;
  }

  static int give(void* object, DLManagedTensorVersioned** out) noexcept {
    *out = nullptr;
    managed_tensor made;
    if (!guarded([&] { made = Face::give(static_cast<PyObject*>(object)); })) {
      return -1;
    }
    *out = made.release_versioned();
    return *out != nullptr ? 0 : -1;
  }

  static int lend(void* object, DLTensor* out) noexcept {
    return guarded([&] { Face::lend(static_cast<PyObject*>(object), *out); }) ? 0 : -1;
  }

  static int take(DLManagedTensorVersioned* raw, void** out) noexcept {
    *out = nullptr;
    managed_tensor m = detail::adopt_sound(raw);
    if (!m) {
      return -1;
    }
    PyObject* made = nullptr;
    guarded([&] { made = Face::take(m); });
    static_cast<void>(made == nullptr ? m.release_versioned() : nullptr);
    *out = made;
    return made != nullptr ? 0 : -1;
  }
};

/// Puts the table on a type, under the name that DLPack gives it. False with an exception set.
template <class Face>
bool add_exchange_table(PyTypeObject* type) noexcept {
  return detail::add_exchange_table(type, exchange_slots<Face>::table());
}
#endif

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
