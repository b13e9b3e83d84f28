// The inline bodies of parallel_copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/check.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/parallel_copy.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The indices [first, last) of one dimension of a tensor.
class copy_slice {
 public:
  copy_slice(tensor_view const& whole, int dimension, std::int64_t first,
             std::int64_t last) noexcept
      : tensor_(whole.to_dltensor()), flags_(whole.flags()) {
    whole.copy_strides(strides_);
    for (int i = 0; i < whole.rank(); ++i) {
      shape_[i] = whole.extent(i);
    }
    shape_[dimension] = last - first;
    tensor_.shape = shape_;
    tensor_.strides = strides_;
    tensor_.data =
        static_cast<char*>(tensor_.data) + first * strides_[dimension] * bit_pitch(whole) / 8;
  }
  copy_slice(copy_slice const&) = delete;
  copy_slice& operator=(copy_slice const&) = delete;

  tensor_view view() const noexcept { return tensor_view(tensor_, flags_); }

 private:
  DLTensor tensor_;
  std::uint64_t flags_;
  std::int64_t shape_[max_rank];
  std::int64_t strides_[max_rank];
};

// Copies between tensors that are not empty and do not overlap, in up to `parts` parts of any size.
template <class Run>
void copy_in_parts(tensor_view const& source, tensor_view const& destination, int parts, Run& run) {
  copy_division const division =
      parts > 1 ? divide_copy(source, destination, parts) : copy_division{};
  if (division.parts <= 1) {
    return copy_disjoint(source, destination);
  }
  copy_method const method = method_of_parts(source.count() * element_bytes(source.dtype()));
  auto const body = [&](int part) noexcept {
    std::int64_t const first = division.first(part);
    std::int64_t const last = division.first(part + 1);
    copy_slice const from(source, division.dimension, first, last);
    copy_slice const to(destination, division.dimension, first, last);
    copy_disjoint(from.view(), to.view(), method);
  };
  run(division.parts, body);
}
}  // namespace detail

template <class Run>
managed_tensor copy_of(tensor_view const& source, int parts, Run&& run, layout order,
                       struct_kind kind, host_allocator const& memory) {
  managed_tensor result = detail::build_for_copy(source, order, kind, memory);
  if (!source.empty()) {
    detail::copy_in_parts(source, result.view(), detail::useful_parts(source, parts), run);
  }
  return result;
}

template <class Run>
void copy(tensor_view const& source, tensor_view const& destination, int parts, Run&& run) {
  require_view(source, requirement{});
  detail::require_destination(source, destination, device_filter{});
  if (source.empty()) {
    return;
  }
  int const count = detail::useful_parts(source, parts);
  if (detail::may_overlap(source, destination)) {
    managed_tensor const snapshot = copy_of(source, parts, run);
    return detail::copy_in_parts(snapshot.view(), destination, count, run);
  }
  detail::copy_in_parts(source, destination, count, run);
}

DLBRIDGE_END_NAMESPACE
