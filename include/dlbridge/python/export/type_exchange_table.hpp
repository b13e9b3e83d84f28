// type_exchange_table: makes the C exchange table of a Python type from three operations of the
// type.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
// Lending slots refuse what a bare DLTensor has no flag for. The consumer then calls __dlpack__ or
// the exporting slot.
constexpr std::uint64_t not_lent = flag_read_only | flag_padded;

[[noreturn]] DLBRIDGE_COLD inline void refuse_lending(std::uint64_t flags) {
  constexpr char const* advice = "Ask for an owning one";
  if ((flags & flag_read_only) != 0) {
    raise(refusal(errc::read_only, "writable memory for a tensor that is lent", "read-only memory",
                  advice));
  }
  raise(refusal(errc::version_mismatch, "packed elements for a tensor that is lent",
                "padded sub-byte elements", advice));
}
}  // namespace detail

#if DLBRIDGE_DLPACK_AT_LEAST(2)
namespace detail {
// The slots that do not depend on the type.
inline int allocate_on_host(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                            void (*set_failure)(void*, char const*, char const*)) noexcept {
  *out = nullptr;
  report why;
  device const where(prototype->device);
  if (where.type != kDLCPU) {
    why =
        refusal(errc::device_mismatch, "cpu, where this library allocates", name_of(where).c_str());
  } else if (prototype->ndim < 0 || (prototype->ndim > 0 && prototype->shape == nullptr)) {
    why = refusal(errc::malformed, "a prototype with a shape", "none");
  } else {
    try {
      dims const shape = dims::from(prototype->shape, static_cast<std::size_t>(prototype->ndim));
      managed_tensor tensor = build_empty(dtype(prototype->dtype), shape);
      *out = tensor.release_versioned();
      return 0;
    } catch (error const& e) {
      why = e.why();
    }
  }
  bool const no_memory = why.has(errc::out_of_memory);
  set_failure(context, no_memory ? "MemoryError" : "BufferError", message(why).c_str());
  return -1;
}

inline int no_work_stream(DLDeviceType, std::int32_t, void** out) noexcept {
  *out = nullptr;  // dlbridge enqueues no work of its own
  return 0;
}

// Adopts a tensor that is sound and of a readable version. Else returns an empty one with an
// exception set, and the caller of the slot still owns the tensor, as with torch and tvm-ffi.
inline managed_tensor adopt_checked(DLManagedTensorVersioned* raw) noexcept {
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
  if (!names::prepare()) {
    return false;
  }
  ref const capsule =
      ref::steal(api<PyCapsule_New>(const_cast<void*>(table), exchange_capsule_name(), nullptr));
  return capsule && api<PyObject_SetAttr>(reinterpret_cast<PyObject*>(type),
                                          names::get().exchange_table, capsule.get()) == 0;
}
}  // namespace detail

namespace detail {
template <class Operations, class = void>
inline constexpr bool can_lend = false;
template <class Operations>
inline constexpr bool can_lend<Operations, std::void_t<decltype(&Operations::lend)>> = true;
}  // namespace detail

/// The exchange table of a Python type (spec 5.3). Its allocator allocates in host memory, and its
/// work stream is the default one. Operations defines what depends on the type:
///
///   static managed_tensor export_tensor(PyObject* self);  // an owning tensor, versioned
///   static PyObject* give_tensor(managed_tensor& m);      // a new object; moves m on success
///   static void lend(PyObject* self, DLTensor& out);      // until control returns to Python
///
/// A type whose objects have no memory for shape and strides as int64 has no lend: that slot of its
/// table is null. All three may throw. export_tensor and give_tensor may also set a Python
/// exception and return an empty tensor or null. The slots themselves do not throw.
/// @par Thread and GIL
/// The consumer holds the GIL in the slots that take or make an object. The allocator does not
/// require it.
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
    if constexpr (detail::can_lend<Operations>) {
      table.dltensor_from_py_object_no_sync = &lend_slot;
    }
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
    managed_tensor m = detail::adopt_checked(raw);
    if (!m) {
      return -1;
    }
    PyObject* object = nullptr;
    guarded([&] { object = Operations::give_tensor(m); });
    static_cast<void>(object == nullptr ? m.release_versioned() : nullptr);
    *out = object;
    return object != nullptr ? 0 : -1;
  }
};

/// Sets the table as the attribute `__dlpack_c_exchange_api__` of a type.
/// @return false, with an exception set, on failure.
/// @par Thread and GIL
/// The caller holds the GIL.
template <class Operations>
bool add_exchange_table(PyTypeObject* type) noexcept {
  return detail::add_exchange_table(type, type_exchange_table<Operations>::table());
}
#endif

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
