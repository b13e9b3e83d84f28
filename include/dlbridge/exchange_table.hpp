// exchange_table: calls the functions of a library's C exchange table, which exchange tensors
// without capsules, and checks their results.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_NAMESPACE

#if DLBRIDGE_DLPACK_AT_LEAST(2)
/// The exchange table of a Python type (spec 5), or none. Python objects are void*, because this
/// layer does not include Python.h. An object must have exactly the type that the table belongs to.
/// @par Lifetime
/// The table of a library outlives all its tensors (spec 5.2).
/// @par Thread and GIL
/// Functions that take or return a Python object require an attached thread state. If a function of
/// the table fails, its Python exception stays set.
class exchange_table {
 public:
  exchange_table() noexcept = default;  ///< No table.

  /// The newest table with a major version that dlbridge can read.
  /// @param first The newest table of the library, which links the older ones; may be null.
  /// @return The table; empty if there is none.
  static exchange_table find(void const* first) noexcept;

  /// Whether there is a table.
  explicit operator bool() const noexcept { return api_ != nullptr; }
  /// The table, or null.
  DLPackExchangeAPI const* get() const noexcept { return api_; }

  /// Whether the table, which must exist, has the function of try_lend. Some libraries leave out
  /// functions that dlpack.h declares mandatory (spec 5.2).
  bool can_lend() const noexcept { return api_->dltensor_from_py_object_no_sync != nullptr; }
  /// Whether the table has the function of try_export.
  bool can_export() const noexcept {
    return api_->managed_tensor_from_py_object_no_sync != nullptr;
  }
  /// Whether the table has the function of try_import.
  bool can_import() const noexcept { return api_->managed_tensor_to_py_object_no_sync != nullptr; }
  /// Whether the table has the function of try_allocate.
  bool can_allocate() const noexcept { return api_->managed_tensor_allocator != nullptr; }
  /// Whether the table has the function of try_work_stream.
  bool has_work_stream() const noexcept { return api_->current_work_stream != nullptr; }

  /// Borrows the tensor of an object, without checks.
  /// @param object The Python object.
  /// @param[out] out The tensor.
  /// @return Whether the call succeeded; if not, a Python exception is set.
  /// @pre can_lend().
  /// @par Lifetime
  /// The tensor is valid until control returns to the library of the object.
  DLBRIDGE_INLINE bool try_lend(void* object, DLTensor& out) const noexcept {
    return call(api_->dltensor_from_py_object_no_sync, object, &out) == 0;
  }

  /// Exports the tensor of an object, and validates it.
  /// @param object The Python object.
  /// @param[out] why The refusal: producer_failed if the table returns success without a tensor,
  ///   otherwise as managed_tensor::steal. It stays ok if a Python exception is set instead.
  /// @return The owner of the tensor; empty after a failure.
  /// @pre can_export().
  managed_tensor try_export(void* object, report& why) const noexcept;

  /// Creates an object of the table's library from a tensor.
  /// @param m The tensor.
  /// @return A new reference to the object. Null after a failure, with a Python exception set; null
  ///   without one if the table returned success and no object.
  /// @pre can_import(), and m is versioned.
  /// @par Ownership
  /// The object owns the tensor. After a failure m still owns it, as in PyTorch and tvm-ffi; DLPack
  /// does not specify it (spec 5.3). After success the library owns it, also without an object.
  void* try_import(managed_tensor& m) const noexcept;

  /// Allocates a tensor in memory of the table's library, and validates it.
  /// @param prototype The dtype, the shape and the device of the tensor.
  /// @param[out] why The refusal: out_of_memory or producer_failed with the message of the library,
  ///   or as managed_tensor::steal.
  /// @return The owner of the tensor; empty after a failure.
  /// @pre can_allocate().
  managed_tensor try_allocate(DLTensor& prototype, report& why) const noexcept;

  /// Queries the stream on which the library currently enqueues work on a device.
  /// @param where The device.
  /// @param[out] out The stream; unchanged after a failure.
  /// @return Whether the call succeeded; if not, a Python exception is set.
  /// @pre has_work_stream().
  bool try_work_stream(dlbridge::device where, stream_ref& out) const noexcept;

 private:
  // Calls a function of the library, which may run Python code (exit_guard.hpp).
  template <class... Parameters, class... Arguments>
  DLBRIDGE_INLINE static int call(int (*function)(Parameters...), Arguments... arguments) {
    return detail::call_guarded([&] { return function(arguments...); });
  }

  // The table's library calls it when an allocation fails.
  static void record_failure(void* context, char const* kind, char const* message);

  explicit exchange_table(DLPackExchangeAPI const* api) noexcept : api_(api) {}

  // The previous table, or null. A table that is not older is ignored, so the search ends even if
  // the tables form a cycle.
  static DLPackExchangeAPIHeader const* older_than(DLPackExchangeAPIHeader const& header) noexcept;

  DLPackExchangeAPI const* api_ = nullptr;
};
#else
/// The class for dlpack.h before 1.2, which does not declare exchange tables: it is always empty.
class exchange_table {
 public:
  static exchange_table find(void const*) noexcept { return exchange_table(); }
  explicit operator bool() const noexcept { return false; }
  bool can_lend() const noexcept { return false; }
  bool can_export() const noexcept { return false; }
  bool can_import() const noexcept { return false; }
  bool can_allocate() const noexcept { return false; }
  bool has_work_stream() const noexcept { return false; }
  bool try_lend(void*, DLTensor&) const noexcept { return false; }
  managed_tensor try_export(void*, report&) const noexcept { return managed_tensor(); }
  void* try_import(managed_tensor&) const noexcept { return nullptr; }
  managed_tensor try_allocate(DLTensor&, report&) const noexcept { return managed_tensor(); }
  bool try_work_stream(dlbridge::device, stream_ref&) const noexcept { return false; }
};
#endif

DLBRIDGE_END_NAMESPACE

#include <dlbridge/exchange_table.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/exchange_table.ipp>
#endif
