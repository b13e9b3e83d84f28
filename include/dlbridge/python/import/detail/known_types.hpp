// known_types: the types whose objects are usually on the CPU, and which of them never change.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/import/detail/property_tests.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
/// A type whose __dlpack_device__ takes about as long as __dlpack__, and whose objects are usually
/// on the CPU, where no stream is passed: the tensor tells the device sooner.
struct known_type {
  char const* module;
  char const* type;
  /// The library promises that its arrays never change: they are read-only, whatever their capsules
  /// state. It hands out legacy structs of them, which have no flag for that.
  bool is_immutable;
};

DLBRIDGE_LOCAL inline constexpr known_type known_types[] = {
    {"numpy", "ndarray", false},
    {"jaxlib._jax", "ArrayImpl", true},
    {"jaxlib.xla_extension", "ArrayImpl", true},
    {"tensorflow.python.framework.ops", "EagerTensor", true},
    {"tvm_ffi.core", "Tensor", false},
};

/// The row of a type, or of one from which it is derived; null for most types.
/// @param classes of the type, as classes_of returned them.
DLBRIDGE_COLD inline known_type const* find_known_type(ref const& classes) noexcept {
  for (known_type const& each : known_types) {
    if (has_class(classes, each.module, each.type)) {
      return &each;
    }
  }
  return nullptr;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
