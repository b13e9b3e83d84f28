// The inline bodies of eigen.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/eigen.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Dense>
description dense_traits<Dense>::describe(Dense& m) noexcept {
  if constexpr (Dense::IsVectorAtCompileTime) {
    return description::of(m.data(), {m.size()}, {m.innerStride()});
  } else {
    return description::of(m.data(), {m.rows(), m.cols()}, {m.rowStride(), m.colStride()});
  }
}

// A Ref to const copies an array to which it cannot refer directly. A move does not move that copy.
// The class accesses the protected member of Ref.
template <class Ref>
struct ref_access : Ref {
  static bool owns_copy(Ref const& r) noexcept {
    auto const member = &ref_access::m_object;
    return r.data() != nullptr && (r.*member).data() == r.data();
  }
};

template <class Strides>
Strides strides_of(Eigen::Index outer, Eigen::Index inner) noexcept {
  constexpr Eigen::Index fixed_outer = Strides::OuterStrideAtCompileTime;
  constexpr Eigen::Index fixed_inner = Strides::InnerStrideAtCompileTime;
  outer = fixed_outer == Eigen::Dynamic ? outer : fixed_outer;
  inner = fixed_inner == Eigen::Dynamic ? inner : fixed_inner;
  if constexpr (std::is_constructible_v<Strides, Eigen::Index, Eigen::Index>) {
    return Strides(outer, inner);
  } else {
    return Strides(fixed_inner == 0 ? outer : inner);
  }
}
}  // namespace detail

template <class Plain, int Options, class Strides>
description array_traits<Eigen::Ref<Plain, Options, Strides>>::describe(ref& r) noexcept {
  if constexpr (std::is_const_v<Plain>) {
    if (detail::ref_access<ref>::owns_copy(r)) {
      return description::of_nothing();
    }
  }
  return detail::dense_traits<ref>::describe(r);
}

DLBRIDGE_END_NAMESPACE
