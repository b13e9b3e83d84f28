// SPDX-License-Identifier: BSD-3-Clause
// Without exceptions and RTTI every header without Python compiles, and raise calls
// DLBRIDGE_ON_ERROR with the report.
#include <cstdlib>
#include <cstring>

#define DLBRIDGE_ON_ERROR(why) \
  std::exit(std::strcmp(dlbridge::message(why).c_str(), expected_refusal) == 0 ? 0 : 2)
static char const* const expected_refusal =
    "malformed tensor: expected ndim from 0 to 64; got ndim -1. The producer is broken; dlbridge "
    "cannot read this tensor";

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/runtime.hpp>

static_assert(DLBRIDGE_EXCEPTIONS == 0);

int main() {
  DLManagedTensorVersioned broken = {};
  broken.version.major = 1;
  broken.dl_tensor.ndim = -1;
  dlbridge::report why;
  if (dlbridge::managed_tensor::try_steal(&broken, why) || why.ok()) {
    return 1;  // functions named try_ work without exceptions
  }
  static_cast<void>(dlbridge::managed_tensor::steal(&broken));
  return 1;
}
