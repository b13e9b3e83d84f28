// exchange_table: the checked C++ face of the C exchange table (major version, older tables behind
// prev_api, null slots, who owns what after a failure).
// layer: tensors · IN and OUT: the road without capsules
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

#if DLBRIDGE_DLPACK_AT_LEAST(2)
/// A table found on a Python type (spec 5). Objects are void* here, because nothing on this floor
/// knows Python; each must be of the very type that the table was found on.
/// lives: tables are static, they outlive the process's last tensor (spec 5.2).
/// thread and GIL: every slot that takes or makes an object needs an attached thread state.
/// fails: a slot that fails leaves a Python exception set; it is not touched here.
class exchange_table {
 public:
  exchange_table() noexcept = default;

  /// The table of our major version, from this header or the older ones behind it; empty if none.
  static exchange_table find(void const* first) noexcept {
    auto const* header = static_cast<DLPackExchangeAPIHeader const*>(first);
    for (; header != nullptr; header = older_than(*header)) {
      if (readable({header->version.major, header->version.minor})) {
        return exchange_table(reinterpret_cast<DLPackExchangeAPI const*>(header));
      }
    }
    return exchange_table();
  }

  explicit operator bool() const noexcept { return api_ != nullptr; }
  DLPackExchangeAPI const* get() const noexcept { return api_; }

  // Slots that the header calls mandatory are null in practice (spec 5.3), so each is asked for.
  bool can_lend() const noexcept { return api_->dltensor_from_py_object_no_sync != nullptr; }
  bool can_export() const noexcept {
    return api_->managed_tensor_from_py_object_no_sync != nullptr;
  }
  bool can_import() const noexcept { return api_->managed_tensor_to_py_object_no_sync != nullptr; }
  bool can_allocate() const noexcept { return api_->managed_tensor_allocator != nullptr; }
  bool has_work_stream() const noexcept { return api_->current_work_stream != nullptr; }

  /// Lends the object's tensor: valid until control returns to its library. False, with a Python
  /// exception set, when it cannot. What comes out is not checked yet.
  bool try_lend(void* object, DLTensor& out) const noexcept {
    return api_->dltensor_from_py_object_no_sync(object, &out) == 0;
  }

  /// An owned tensor of the object, checked; empty when refused. why.ok() then means that the slot
  /// failed and left a Python exception. reports: producer_failed (success without a tensor), or as
  /// managed_tensor::steal.
  managed_tensor try_export(void* object, report& why) const noexcept {
    DLManagedTensorVersioned* raw = nullptr;
    if (api_->managed_tensor_from_py_object_no_sync(object, &raw) != 0) {
      return managed_tensor();
    }
    if (raw == nullptr) {
      why = refusal(errc::producer_failed, "a tensor from the exchange table",
                    "success and no tensor");
    }
    return managed_tensor::try_steal(raw, why);
  }

  /// A new object of the table's library around the tensor; null with a Python exception when it
  /// fails. owns: the tensor is given away on success, and kept when it fails, as torch and tvm-ffi
  /// do (spec 5.3 leaves it open). m must be versioned.
  void* try_import(managed_tensor& m) const noexcept {
    void* object = nullptr;
    if (api_->managed_tensor_to_py_object_no_sync(m.get_versioned(), &object) != 0) {
      return nullptr;
    }
    static_cast<void>(m.release_versioned());
    return object;
  }

  /// A new tensor in the library's own memory, of the prototype's dtype, shape and device; empty
  /// when refused. reports: out_of_memory or producer_failed with the library's own words, or as
  /// managed_tensor::steal.
  managed_tensor try_allocate(DLTensor& prototype, report& why) const noexcept {
    DLManagedTensorVersioned* raw = nullptr;
    bool const made = api_->managed_tensor_allocator(&prototype, &raw, &why, &note_failure) == 0;
    if (!made || raw == nullptr) {
      if (why.ok()) {
        why = refusal(errc::producer_failed, "a tensor from the library's allocator", "none");
      }
      return managed_tensor();
    }
    why = report{};
    return managed_tensor::try_steal(raw, why);
  }

  /// The stream on which the library works now on that device. False when it cannot tell.
  bool try_work_stream(dlbridge::device where, stream_ref& out) const noexcept {
    void* handle = nullptr;  // Paddle leaves it unwritten for the CPU
    if (api_->current_work_stream(where.abi().device_type, where.id, &handle) != 0) {
      return false;
    }
    out = stream_ref(where, handle);
    return true;
  }

 private:
  static void note_failure(void* context, char const* kind, char const* words) {
    bool const no_memory = kind != nullptr && std::strcmp(kind, "MemoryError") == 0;
    *static_cast<report*>(context) =
        refusal(no_memory ? errc::out_of_memory : errc::producer_failed,
                "a tensor from the library's allocator", words != nullptr ? words : "no reason");
  }

  explicit exchange_table(DLPackExchangeAPI const* api) noexcept : api_(api) {}

  // A chain that does not go back in time would lead round in a circle; it ends here.
  static DLPackExchangeAPIHeader const* older_than(DLPackExchangeAPIHeader const& header) noexcept {
    DLPackExchangeAPIHeader const* const next = header.prev_api;
    bool const is_older = next != nullptr && (next->version.major < header.version.major ||
                                              (next->version.major == header.version.major &&
                                               next->version.minor < header.version.minor));
    return is_older ? next : nullptr;
  }

  DLPackExchangeAPI const* api_ = nullptr;
};
#else
/// With a dlpack.h before 1.2, which does not declare the table: none is ever found.
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

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
