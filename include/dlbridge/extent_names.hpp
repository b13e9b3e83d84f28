// extent_names: checks that extents of the same name agree among several tensors.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
constexpr bool has_names(requirement const& need) noexcept {
  bool result = false;
  for (int i = 0; i < need.rank; ++i) {
    result = result || name_of_extent(need.extents[i]) != '\0';
  }
  return result;
}
}  // namespace detail

/// The extents that the tensors of one call have under each name.
class extent_names {
 public:
  struct entry {
    char name;
    std::int64_t extent;
    int source;  ///< the number of the tensor that gave the extent
  };

  /// Compares the named extents of a tensor with those of earlier tensors, and keeps the others.
  /// @param view the tensor, which meets need
  /// @param need the requirement with the names
  /// @param source a number for the tensor
  /// @return the entry with which an extent does not agree, or null
  entry const* add(tensor_view const& view, requirement const& need, int source) noexcept {
    for (int i = 0; need.extents != nullptr && i < need.rank; ++i) {
      char const name = detail::name_of_extent(need.extents[i]);
      if (name == '\0') {
        continue;
      }
      entry* each = entries_;
      while (each != entries_ + size_ && each->name != name) {
        ++each;
      }
      if (each == entries_ + size_) {
        *each = {name, view.extent(i), source};
        ++size_;
      } else if (each->extent != view.extent(i)) {
        return each;
      }
    }
    return nullptr;
  }

 private:
  entry entries_[52];  // one for each letter
  int size_ = 0;
};

namespace detail {
// "expected float32[n] on cpu, with n = 4 as in <where>; got float32[5] on cpu: extents differ"
DLBRIDGE_COLD inline report disagreement(tensor_view const& view, requirement const& need,
                                         extent_names::entry const& with,
                                         char const* where) noexcept {
  report r;
  r.add(errc::extent_mismatch);
  char const name[] = {with.name, '\0'};
  append_requirement(r.expected, need, true)
      .append(", with ")
      .append(name)
      .append(" = ")
      .append(with.extent)
      .append(" as in ")
      .append(where);
  append_name(r.got, view);
  return r;
}

template <class Tensor>
void require_names(extent_names& names, Tensor const& tensor, int position) {
  constexpr requirement need = Tensor::required();
  if constexpr (has_names(need)) {
    extent_names::entry const* const other = names.add(tensor.view(), need, position);
    if (other != nullptr) {
      bounded_text<24> where("tensor ");
      where.append(std::int64_t{other->source});
      raise(disagreement(tensor.view(), need, *other, where.c_str()));
    }
  }
}
}  // namespace detail

/// Checks that extents of the same name agree among tensors: require_agreement(x, y).
/// @param tensors objects of tensor_span, tensor or argument, of which some have extents named<...>
/// @throws error extent_mismatch
template <class... Tensors>
void require_agreement(Tensors const&... tensors) {
  extent_names names;
  int position = 0;
  (detail::require_names(names, tensors, ++position), ...);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
