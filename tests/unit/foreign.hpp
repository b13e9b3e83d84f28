// foreign_ptr: owns a tensor of the plain-C producer in tests/fakes for a C++ test.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "foreign_producer.h"

struct foreign_deleter {
  void operator()(foreign_tensor* t) const { foreign_free(t); }
};
using foreign_ptr = std::unique_ptr<foreign_tensor, foreign_deleter>;

inline foreign_ptr make_foreign() { return foreign_ptr(foreign_new()); }

/// The managed struct of one kind. A test may change any field of it.
template <class Managed>
Managed* struct_of(foreign_ptr const& t);
template <>
inline DLManagedTensor* struct_of(foreign_ptr const& t) {
  return foreign_legacy(t.get());
}
template <>
inline DLManagedTensorVersioned* struct_of(foreign_ptr const& t) {
  return foreign_versioned(t.get());
}
