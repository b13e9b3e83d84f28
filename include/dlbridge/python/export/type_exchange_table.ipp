// The bodies of type_exchange_table.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <utility>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_NOINLINE DLBRIDGE_API void refuse_lending(std::uint64_t flags) {
  constexpr char const* advice = "Ask for an owning one";
  if ((flags & flag_read_only) != 0) {
    raise(refusal(errc::read_only, "writable memory for a tensor that is lent", "read-only memory",
                  advice));
  }
  raise(refusal(errc::version_mismatch, "packed elements for a tensor that is lent",
                "padded sub-byte elements", advice));
}

#if DLBRIDGE_DLPACK_AT_LEAST(2)

DLBRIDGE_API int allocate_on_host(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* context,
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

DLBRIDGE_API int no_work_stream(DLDeviceType, std::int32_t, void** out) noexcept {
  *out = nullptr;  // dlbridge enqueues no work of its own
  return 0;
}

DLBRIDGE_API managed_tensor adopt_checked(DLManagedTensorVersioned* raw) noexcept {
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

DLBRIDGE_NOINLINE DLBRIDGE_API bool add_exchange_table(PyTypeObject* type,
                                                       void const* table) noexcept {
  if (!names::prepare()) {
    return false;
  }
  ref const capsule =
      ref::steal(api<PyCapsule_New>(const_cast<void*>(table), exchange_capsule_name(), nullptr));
  return capsule && api<PyObject_SetAttr>(reinterpret_cast<PyObject*>(type),
                                          names::get().exchange_table, capsule.get()) == 0;
}

#endif
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
