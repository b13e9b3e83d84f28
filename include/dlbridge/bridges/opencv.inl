// The inline bodies of opencv.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <dlbridge/bridges/opencv.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The dtype of each depth of OpenCV; the index is the depth.
DLBRIDGE_LOCAL inline constexpr dtype cv_depths[] = {
    dtype(kDLUInt, 8), dtype(kDLInt, 8),    dtype(kDLUInt, 16),  dtype(kDLInt, 16),
    dtype(kDLInt, 32), dtype(kDLFloat, 32), dtype(kDLFloat, 64), dtype(kDLFloat, 16)};

constexpr int cv_max_rank = 32;  // CV_MAX_DIM, which only the C interface defines

constexpr int cv_depth_count = sizeof(cv_depths) / sizeof(cv_depths[0]);

// The depth of a dtype, or -1.
inline int cv_depth_of(dtype type) noexcept {
  int depth = cv_depth_count - 1;
  while (depth >= 0 && cv_depths[depth] != type) {
    --depth;
  }
  return depth;
}

// Computes sizes and steps, in bytes, of a Mat. With several channels, the last dimension of the
// tensor becomes the channels. A Mat has at least two dimensions, no negative steps, no gaps in the
// last dimension, and no step shorter than the span of the faster dimensions. False if the tensor
// does not meet this; sizes and steps are then unspecified.
inline bool mat_layout(tensor_view const& of, int channels, int* sizes,
                       std::size_t* steps) noexcept {
  int const rank = of.rank() - (channels > 1 ? 1 : 0);
  bool const empty = of.empty();
  auto const bytes = static_cast<std::size_t>(element_bytes(of.dtype()));
  std::int64_t inside = channels;
  bool fits = channels == 1 || empty || of.stride(rank) == 1;
  sizes[0] = sizes[1] = 1;
  steps[0] = steps[1] = static_cast<std::size_t>(channels) * bytes;
  for (int i = rank; i-- > 0;) {
    bool const is_unused = empty || of.extent(i) == 1;
    std::int64_t const step = is_unused ? inside : of.stride(i);
    fits = fits && step >= inside && (step == channels || i + 1 < rank || rank == 1);
    sizes[i] = static_cast<int>(of.extent(i));
    steps[i] = static_cast<std::size_t>(step) * bytes;
    inside = step_over(step, of.extent(i));
  }
  return fits;
}

cv::Mat mat_view(tensor_view const& of, int required_depth, int channels) {
  int const depth = cv_depth_of(of.dtype());
  requirement need;
  need.type = required_depth >= 0 ? cv_depths[required_depth] : dtype();
  need.writable = true;
  need.alignment = depth >= 0 ? static_cast<std::size_t>(element_bytes(of.dtype())) : 1;
  int const rank = of.rank() - (channels > 1 ? 1 : 0);
  bool fits_int = true;
  for (int i = 0; i < rank; ++i) {
    fits_int = fits_int && of.extent(i) <= INT_MAX;
  }
  bool const has_rank = rank >= 0 && rank <= cv_max_rank;
  bool const has_channels = channels == 1 || !has_rank || of.extent(rank) == channels;
  int sizes[cv_max_rank];
  std::size_t steps[cv_max_rank];
  bool const has_steps = !has_rank || !has_channels || mat_layout(of, channels, sizes, steps);
  if (!meets(of, need) || depth < 0 || !fits_int || !has_rank || !has_channels || !has_steps) {
    report r = explain_mismatch(of, need);
    auto const rule = [&r](bool passes, errc code, char const* expected) {
      if (!passes) {
        r.add(code);
        r.expected.append(expected);
      }
    };
    rule(depth >= 0 || required_depth >= 0, errc::dtype_mismatch,
         ", of a dtype that OpenCV supports");
    rule(
        has_rank, errc::rank_mismatch,
        channels > 1 ? ", of 1 to 33 dimensions, the channels last" : ", of at most 32 dimensions");
    rule(fits_int, errc::extent_mismatch, ", of int extents");
    if (!has_channels) {
      rule(false, errc::extent_mismatch, ", with ");
      r.expected.append(channels).append(" channels as the last dimension");
    }
    if (!has_steps) {
      break_layout(r, of, ", row-major but for gaps between rows");
    }
    if (r.has(errc::read_only)) {
      r.advice = "Pass a writable copy: also a const Mat gives writable memory to its copies";
    }
    raise(r);
  }
  return cv::Mat(rank < 2 ? 2 : rank, sizes, CV_MAKETYPE(depth, channels), elements_of<void>(of),
                 steps);
}

// The allocator of Mats that own a tensor: OpenCV calls deallocate for the last Mat on the memory,
// which frees the tensor.
class DLBRIDGE_LOCAL tensor_allocator final : public cv::MatAllocator {
 public:
  // Never destroyed: a Mat with static storage duration may use it while the process exits.
  static tensor_allocator const* get() {
    static tensor_allocator const* const instance = new tensor_allocator;
    return instance;
  }
  cv::UMatData* allocate(int dimensions, int const* sizes, int type, void* data, std::size_t* steps,
                         cv::AccessFlag access, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(dimensions, sizes, type, data, steps, access,
                                                usage);
  }
  bool allocate(cv::UMatData* data, cv::AccessFlag, cv::UMatUsageFlags) const override {
    return data != nullptr;
  }
  void deallocate(cv::UMatData* data) const override {
    std::unique_ptr<cv::UMatData> const record(data);
    delete static_cast<managed_tensor*>(record->userdata);
  }
};
}  // namespace detail

inline description array_traits<cv::Mat>::describe(cv::Mat& m) noexcept {
  int const channels = m.channels();
  std::int64_t extents[detail::cv_max_rank + 1] = {0, 0};
  std::int64_t strides[detail::cv_max_rank + 1] = {1, 1};
  int rank = m.dims;
  for (int i = 0; i < rank; ++i) {
    extents[i] = m.size[i];
    strides[i] = static_cast<std::int64_t>(m.step[i] / m.elemSize1());
  }
  rank = rank == 0 ? 2 : rank;  // an empty Mat is not a scalar
  if (channels > 1) {
    extents[rank] = channels;
    strides[rank++] = 1;
  }
  description d;
  d.data = m.data;
  d.type = m.depth() < detail::cv_depth_count ? detail::cv_depths[m.depth()] : dtype();
  d.shape = dims::from(extents, static_cast<std::size_t>(rank));
  d.strides = dims::from(strides, static_cast<std::size_t>(rank));
  return d;
}

inline cv::Mat array_traits<cv::Mat>::adopt(managed_tensor&& tensor) {
  cv::Mat m = detail::mat_view(detail::require_owner(tensor), -1, 1);
  auto owner = std::make_unique<managed_tensor>();
  auto* const record = new cv::UMatData(detail::tensor_allocator::get());
  *owner = std::move(tensor);
  record->data = record->origdata = m.data;
  record->userdata = owner.release();
  record->refcount = 1;
  m.u = record;
  return m;
}

template <class T>
inline cv::Mat_<T> view_traits<cv::Mat_<T>>::view(tensor_view const& of) {
  constexpr int type = cv::traits::Type<T>::value;
  cv::Mat const m = detail::mat_view(of, CV_MAT_DEPTH(type), CV_MAT_CN(type));
  // The conversion of an empty Mat to a Mat_ would drop its sizes.
  return cv::Mat_<T>(m.dims, m.size.p, reinterpret_cast<T*>(m.data), m.step.p);
}

DLBRIDGE_END_NAMESPACE
