// The plain-C producer of tests/fakes, for C++ tests: freed at scope's end, handed out by struct
// kind.
#pragma once

#include <memory>

#include "foreign_producer.h"

struct foreign_freer {
  void operator()(foreign_tensor* t) const { foreign_free(t); }
};
using foreign_ptr = std::unique_ptr<foreign_tensor, foreign_freer>;

inline foreign_ptr make_foreign() { return foreign_ptr(foreign_new()); }

/// The managed struct of one struct kind, of which a test may break any field.
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
