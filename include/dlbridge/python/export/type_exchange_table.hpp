// type_exchange_table: makes the C exchange table of a Python type from three operations of the
// type.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Lending slots refuse what a bare DLTensor has no flag for. The consumer then calls __dlpack__ or
// the exporting slot.
constexpr std::uint64_t not_lent = flag_read_only | flag_padded;

[[noreturn]] DLBRIDGE_COLD void refuse_lending(std::uint64_t flags);
}  // namespace detail

#if DLBRIDGE_DLPACK_AT_LEAST(2)
namespace detail {
DLBRIDGE_COLD bool add_exchange_table(PyTypeObject* type, void const* table) noexcept;

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
  DLBRIDGE_LOCAL static DLPackExchangeAPI const* table() noexcept;  ///< The table, made once.

 private:
  static DLPackExchangeAPI make_table() noexcept;

  static int export_slot(void* object, DLManagedTensorVersioned** out) noexcept;

  static int lend_slot(void* object, DLTensor* out) noexcept {
    return guarded([&] { Operations::lend(static_cast<PyObject*>(object), *out); }) ? 0 : -1;
  }

  static int import_slot(DLManagedTensorVersioned* raw, void** out) noexcept;
};

/// Sets the table as the attribute `__dlpack_c_exchange_api__` of a type.
/// @return false, with an exception set, on failure.
/// @pre The caller holds the GIL.
template <class Operations>
bool add_exchange_table(PyTypeObject* type) noexcept {
  return detail::add_exchange_table(type, type_exchange_table<Operations>::table());
}
#endif
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/export/type_exchange_table.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/export/type_exchange_table.ipp>
#endif
