// The inline bodies of exchange_table.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/exchange_table.hpp>

DLBRIDGE_BEGIN_NAMESPACE
#if DLBRIDGE_DLPACK_AT_LEAST(2)

inline managed_tensor exchange_table::try_export(void* object, report& why) const noexcept {
  DLManagedTensorVersioned* raw = nullptr;
  if (call(api_->managed_tensor_from_py_object_no_sync, object, &raw) != 0) {
    return managed_tensor();
  }
  if (raw == nullptr) {
    why =
        refusal(errc::producer_failed, "a tensor from the exchange table", "success and no tensor");
  }
  return managed_tensor::try_steal(raw, why);
}

#endif
DLBRIDGE_END_NAMESPACE
