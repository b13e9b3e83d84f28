// SPDX-License-Identifier: BSD-3-Clause
// adopt_as takes the owner of a tensor whose dtype adopt examines.
// says: adopt_as takes a managed_tensor, by move. .* std::move\(x\).release\(\)
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/array_traits.hpp>

#include <utility>

struct array {
  dlbridge::managed_tensor owner;
};
template <>
struct dlbridge::array_traits<array> {
  static array adopt(managed_tensor&& m) { return {std::move(m)}; }
};

array use(dlbridge::any_tensor x) {
#ifdef WRONG
  return dlbridge::adopt_as<array>(std::move(x));
#else
  return dlbridge::adopt_as<array>(std::move(x).release());
#endif
}
