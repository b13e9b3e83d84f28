// type_exchange_table: the C exchange table of a Python type of ours, over three operations that
// the type defines.
// layer: export · exchange without capsules
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
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
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

/// The exchange table of a Python type (spec 5.3), whose objects are in host memory as far as
/// allocation and streams are concerned. Operations defines what differs from type to type:
///
///   static managed_tensor export_tensor(PyObject* self);       // owning, versioned; may throw
///   static void lend(PyObject* self, DLTensor& out);           // until control returns; may throw
///   static PyObject* import_tensor(managed_tensor& m);         // a new object; takes m on success
///
/// export_tensor and import_tensor may also set a Python exception and return nothing. No slot
/// throws. thread and GIL: held in the slots that take or make an object; not needed by the
/// allocator.
template <class Operations>
class type_exchange_table {
 public:
  DLBRIDGE_LOCAL static DLPackExchangeAPI const* table() noexcept {
    static DLPackExchangeAPI const table = make_table();
    return &table;
  }

 private:
  static DLPackExchangeAPI make_table() noexcept {
    DLPackExchangeAPI table{};
    table.header.version = {stated_major, stated_minor};
    table.managed_tensor_allocator = &detail::allocate_on_host;
    table.managed_tensor_from_py_object_no_sync = &export_slot;
    table.managed_tensor_to_py_object_no_sync = &import_slot;
    table.dltensor_from_py_object_no_sync = &lend_slot;
    table.current_work_stream = &detail::no_work_stream;
    return table;
  }

  static int export_slot(void* object, DLManagedTensorVersioned** out) noexcept {
    *out = nullptr;
    managed_tensor m;
    if (!guarded([&] { m = Operations::export_tensor(static_cast<PyObject*>(object)); })) {
      return -1;
    }
    *out = m.release_versioned();
    return *out != nullptr ? 0 : -1;
  }

  static int lend_slot(void* object, DLTensor* out) noexcept {
    return guarded([&] { Operations::lend(static_cast<PyObject*>(object), *out); }) ? 0 : -1;
  }

  static int import_slot(DLManagedTensorVersioned* raw, void** out) noexcept {
    *out = nullptr;
    managed_tensor m = detail::adopt_sound(raw);
    if (!m) {
      return -1;
    }
    PyObject* object = nullptr;
    guarded([&] { object = Operations::import_tensor(m); });
    static_cast<void>(object == nullptr ? m.release_versioned() : nullptr);
    *out = object;
    return object != nullptr ? 0 : -1;
  }
};

/// Sets the table as an attribute of a type, under DLPack's name for it. False with an exception
/// set.
template <class Operations>
bool add_exchange_table(PyTypeObject* type) noexcept {
  return detail::add_exchange_table(type, type_exchange_table<Operations>::table());
}
#endif

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
