// The inline bodies of type_exchange_table.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/export/type_exchange_table.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The slots that do not depend on the type.
int allocate_on_host(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                     void (*set_failure)(void*, char const*, char const*)) noexcept;

int no_work_stream(DLDeviceType, std::int32_t, void** out) noexcept;

// Adopts a tensor that is sound and of a readable version. Else returns an empty one with an
// exception set, and the caller of the slot still owns the tensor, as with torch and tvm-ffi.
managed_tensor adopt_checked(DLManagedTensorVersioned* raw) noexcept;
}  // namespace python::detail

namespace python {
#if DLBRIDGE_DLPACK_AT_LEAST(2)

template <class Operations>
inline DLPackExchangeAPI const* type_exchange_table<Operations>::table() noexcept {
  static DLPackExchangeAPI const table = make_table();
  return &table;
}

template <class Operations>
inline DLPackExchangeAPI type_exchange_table<Operations>::make_table() noexcept {
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

template <class Operations>
inline int type_exchange_table<Operations>::export_slot(void* object,
                                                        DLManagedTensorVersioned** out) noexcept {
  *out = nullptr;
  managed_tensor m;
  if (!guarded([&] { m = Operations::export_tensor(static_cast<PyObject*>(object)); })) {
    return -1;
  }
  *out = m.release_versioned();
  return *out != nullptr ? 0 : -1;
}

template <class Operations>
inline int type_exchange_table<Operations>::import_slot(DLManagedTensorVersioned* raw,
                                                        void** out) noexcept {
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

#endif
}  // namespace python
DLBRIDGE_END_NAMESPACE
