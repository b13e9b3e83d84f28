// The inline bodies of eigen.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/eigen.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Dense>
inline description dense_traits<Dense>::describe(Dense& m) noexcept {
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
inline description array_traits<Eigen::Ref<Plain, Options, Strides>>::describe(ref& r) noexcept {
  if constexpr (std::is_const_v<Plain>) {
    if (detail::ref_access<ref>::owns_copy(r)) {
      return description::of_nothing();
    }
  }
  return detail::dense_traits<ref>::describe(r);
}

template <class Plain, int Options, class Strides>
inline auto view_traits<Eigen::Map<Plain, Options, Strides>>::view(tensor_view const& of) -> map {
  std::int64_t const extents[] = {is_vector ? map::SizeAtCompileTime : map::RowsAtCompileTime,
                                  map::ColsAtCompileTime};
  requirement need = detail::requirement_of<element>(is_vector ? 1 : 2, extents);
  constexpr auto aligned = static_cast<std::size_t>(Options & Eigen::AlignedMask);
  need.alignment = aligned > need.alignment ? aligned : need.alignment;
  require_view(of, need);
  detail::require_index_type<Eigen::Index>(of);

  constexpr Eigen::Index fixed_outer = Strides::OuterStrideAtCompileTime;
  constexpr Eigen::Index fixed_inner = Strides::InnerStrideAtCompileTime;
  constexpr int inner_dimension = !is_vector && map::IsRowMajor ? 1 : 0;
  auto const step = [&of](int dimension, Eigen::Index otherwise) {
    bool const is_used = of.extent(dimension) > 1 && !of.empty();
    return is_used ? static_cast<Eigen::Index>(of.stride(dimension)) : otherwise;
  };
  Eigen::Index const least = fixed_inner > 0 ? fixed_inner : 1;
  Eigen::Index const inner = step(inner_dimension, least);
  auto const implied = detail::step_over(inner, of.extent(inner_dimension));
  Eigen::Index const next = fixed_outer > 0 ? fixed_outer : static_cast<Eigen::Index>(implied);
  Eigen::Index const outer = is_vector ? next : step(1 - inner_dimension, next);
  if ((fixed_inner != Eigen::Dynamic && inner != least) ||
      (fixed_outer != Eigen::Dynamic && outer != next)) {
    detail::raise_layout(of, need, ", in the strides of the Map");
  }
  auto const first = static_cast<Eigen::Index>(of.extent(0));
  Eigen::Index const rows = is_vector && map::RowsAtCompileTime == 1 ? 1 : first;
  Eigen::Index const columns = !is_vector ? static_cast<Eigen::Index>(of.extent(1))
                                          : (map::RowsAtCompileTime == 1 ? first : 1);
  return map(detail::elements_of<element>(of), rows, columns,
             detail::strides_of<Strides>(outer, inner));
}

DLBRIDGE_END_NAMESPACE
