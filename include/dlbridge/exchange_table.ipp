// The bodies of exchange_table.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/exchange_table.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_NAMESPACE
#if DLBRIDGE_DLPACK_AT_LEAST(2)

DLBRIDGE_API exchange_table exchange_table::find(void const* first) noexcept {
  auto const* header = static_cast<DLPackExchangeAPIHeader const*>(first);
  for (; header != nullptr; header = older_than(*header)) {
    if (readable({header->version.major, header->version.minor})) {
      return exchange_table(reinterpret_cast<DLPackExchangeAPI const*>(header));
    }
  }
  return exchange_table();
}

DLBRIDGE_API void* exchange_table::try_import(managed_tensor& m) const noexcept {
  void* object = nullptr;
  if (call(api_->managed_tensor_to_py_object_no_sync, m.get_versioned(), &object) != 0) {
    return nullptr;
  }
  static_cast<void>(m.release_versioned());
  return object;
}

DLBRIDGE_API managed_tensor exchange_table::try_allocate(DLTensor& prototype,
                                                         report& why) const noexcept {
  DLManagedTensorVersioned* raw = nullptr;
  bool const success =
      call(api_->managed_tensor_allocator, &prototype, &raw, &why, &record_failure) == 0;
  if (!success || raw == nullptr) {
    if (why.ok()) {
      why = refusal(errc::producer_failed, "a tensor from the library's allocator", "none");
    }
    return managed_tensor();
  }
  why = report{};
  return managed_tensor::try_steal(raw, why);
}

DLBRIDGE_API bool exchange_table::try_work_stream(dlbridge::device where,
                                                  stream_ref& out) const noexcept {
  void* handle = nullptr;  // Paddle does not write it for the CPU
  if (call(api_->current_work_stream, where.abi().device_type, where.id, &handle) != 0) {
    return false;
  }
  out = stream_ref(where, handle);
  return true;
}

DLBRIDGE_API void exchange_table::record_failure(void* context, char const* kind,
                                                 char const* message) {
  char const* const text = message != nullptr ? message : "no reason";
  char const* const frames = std::strstr(text, "\nException raised from");  // of torch's C++
  // PyTorch states MemoryError for each of its exceptions, such as that of a dtype that it lacks.
  char const* const cause = frames != nullptr ? std::strstr(text, "memory") : text;
  bool const no_memory = kind != nullptr && std::strcmp(kind, "MemoryError") == 0 &&
                         cause != nullptr && (frames == nullptr || cause < frames);
  report& why = *static_cast<report*>(context);
  why = refusal(no_memory ? errc::out_of_memory : errc::producer_failed,
                "a tensor from the library's allocator", "");
  why.got.append(text,
                 frames != nullptr ? static_cast<std::size_t>(frames - text) : std::strlen(text));
}

DLBRIDGE_API DLPackExchangeAPIHeader const* exchange_table::older_than(
    DLPackExchangeAPIHeader const& header) noexcept {
  DLPackExchangeAPIHeader const* const next = header.prev_api;
  bool const is_older =
      next != nullptr &&
      (next->version.major < header.version.major ||
       (next->version.major == header.version.major && next->version.minor < header.version.minor));
  return is_older ? next : nullptr;
}

#endif
DLBRIDGE_END_NAMESPACE
