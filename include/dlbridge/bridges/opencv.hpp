// array_traits and view_traits of cv::Mat and cv::Mat_: channels are a last dimension.
// layer: arrays · OUT and IN: OpenCV, whose Mat can also own a tensor
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <opencv2/core.hpp>

#include <dlbridge/abi.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
/// The dtype of each depth, which is the index.
DLBRIDGE_LOCAL inline constexpr dtype cv_depths[] = {
    dtype(kDLUInt, 8), dtype(kDLInt, 8),    dtype(kDLUInt, 16),  dtype(kDLInt, 16),
    dtype(kDLInt, 32), dtype(kDLFloat, 32), dtype(kDLFloat, 64), dtype(kDLFloat, 16)};
constexpr int cv_max_rank = 32;  // CV_MAX_DIM, which only the C interface has
constexpr int cv_depth_count = sizeof(cv_depths) / sizeof(cv_depths[0]);
static_assert(CV_8U == 0 && CV_8S == 1 && CV_16U == 2 && CV_16S == 3 && CV_32S == 4 &&
              CV_32F == 5 && CV_64F == 6 && CV_16F == 7);

/// The depth of a dtype, or -1.
inline int cv_depth_of(dtype type) noexcept {
  int depth = cv_depth_count - 1;
  while (depth >= 0 && cv_depths[depth] != type) {
    --depth;
  }
  return depth;
}

/// A Mat has at least two dimensions, steps forwards, the last one without gaps, the others never
/// into a faster one. False where the tensor cannot be one; sizes and steps (in bytes) then mean
/// nothing. Of a tensor with several channels the last dimension is none of the Mat's.
inline bool mat_layout(tensor_view const& of, int channels, int* sizes,
                       std::size_t* steps) noexcept {
  int const given = of.rank() - (channels > 1 ? 1 : 0);
  bool const empty = of.empty();
  auto const bytes = static_cast<std::size_t>(element_bytes(of.dtype()));
  std::int64_t inside = channels;
  bool fits = channels == 1 || empty || of.stride(given) == 1;
  sizes[0] = sizes[1] = 1;
  steps[0] = steps[1] = static_cast<std::size_t>(channels) * bytes;
  for (int i = given; i-- > 0;) {
    bool const alone = empty || of.extent(i) == 1;
    std::int64_t const step = alone ? inside : of.stride(i);
    fits = fits && step >= inside && (step == channels || i + 1 < given || given == 1);
    sizes[i] = static_cast<int>(of.extent(i));
    steps[i] = static_cast<std::size_t>(step) * bytes;
    inside = step_over(step, of.extent(i));
  }
  return fits;
}

/// A Mat on the memory of a tensor. depth and channels of a Mat_; -1 and 1 for any depth.
inline cv::Mat mat_view(tensor_view const& of, int depth, int channels) {
  int const found = cv_depth_of(of.dtype());
  requirement need;
  need.type = depth >= 0 ? cv_depths[depth] : dtype();
  need.writable = true;
  need.alignment = found >= 0 ? static_cast<std::size_t>(element_bytes(of.dtype())) : 1;
  int const given = of.rank() - (channels > 1 ? 1 : 0);
  bool small = true;
  for (int i = 0; i < given; ++i) {
    small = small && of.extent(i) <= INT_MAX;
  }
  bool const ranked = given >= 0 && given <= cv_max_rank;
  bool const whole = channels == 1 || !ranked || of.extent(given) == channels;
  int sizes[cv_max_rank];
  std::size_t steps[cv_max_rank];
  bool const stepped = !ranked || !whole || mat_layout(of, channels, sizes, steps);
  if (!meets(of, need) || found < 0 || !small || !ranked || !whole || !stepped) {
    report r = explain_mismatch(of, need);
    auto const rule = [&r](bool kept, errc code, char const* expected) {
      if (!kept) {
        r.breaks(code);
        r.expected.append(expected);
      }
    };
    rule(found >= 0 || depth >= 0, errc::dtype_mismatch, ", of a depth of OpenCV");
    rule(ranked, errc::rank_mismatch, ", of at most 32 dimensions and the channels");
    rule(whole && small, errc::extent_mismatch, whole ? ", of int extents" : ", the channels last");
    if (!stepped) {
      break_layout(r, of, ", row-major but for gaps between rows");
    }
    raise(r);
  }
  return cv::Mat(given < 2 ? 2 : given, sizes, CV_MAKETYPE(found, channels), elements_of<void>(of),
                 steps);
}

/// What a Mat has for memory that OpenCV did not allocate: it ends the tensor with the last Mat.
class DLBRIDGE_LOCAL tensor_allocator final : public cv::MatAllocator {
 public:
  static tensor_allocator const* get() {
    static tensor_allocator const one;
    return &one;
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

/// A Mat shares its memory with the tensor; one on memory that is not its own borrows it. The shape
/// is that of the Mat, with the channels behind it where there are several.
template <>
struct array_traits<cv::Mat> {
  static description describe(cv::Mat& m) noexcept {
    int const channels = m.channels();
    std::int64_t extents[detail::cv_max_rank + 1] = {0, 0};
    std::int64_t strides[detail::cv_max_rank + 1] = {1, 1};
    int rank = m.dims;
    for (int i = 0; i < rank; ++i) {
      extents[i] = m.size[i];
      strides[i] = static_cast<std::int64_t>(m.step[i] / m.elemSize1());
    }
    rank = rank == 0 ? 2 : rank;  // a Mat without anything is no scalar
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
  /// A Mat that owns the tensor: its deleter runs when the last Mat lets go of the memory.
  /// fails: as as<cv::Mat>; the tensor is then still the caller's.
  static cv::Mat adopt(managed_tensor&& tensor) {
    cv::Mat m = detail::mat_view(tensor, -1, 1);
    auto owner = std::make_unique<managed_tensor>();
    auto* const record = new cv::UMatData(detail::tensor_allocator::get());
    *owner = std::move(tensor);
    record->data = record->origdata = m.data;
    record->userdata = owner.release();
    record->refcount = 1;
    m.u = record;
    return m;
  }
};
template <class T>
struct array_traits<cv::Mat_<T>> {
  static description describe(cv::Mat_<T>& m) noexcept {
    return array_traits<cv::Mat>::describe(m);
  }
};

/// as<cv::Mat>(view): one channel, all dimensions are the Mat's; a rank below 2 becomes a column.
/// as<cv::Mat_<cv::Vec3b>>(view): typed, and the last dimension is the channels. Writable memory
/// only, since a copy of a const Mat writes.
template <>
struct view_traits<cv::Mat> {
  static cv::Mat view(tensor_view const& of) { return detail::mat_view(of, -1, 1); }
};
template <class T>
struct view_traits<cv::Mat_<T>> {
  static cv::Mat_<T> view(tensor_view const& of) {
    constexpr int type = cv::traits::Type<T>::value;
    cv::Mat const m = detail::mat_view(of, CV_MAT_DEPTH(type), CV_MAT_CN(type));
    // Converted to a Mat_ an empty Mat would lose its sizes.
    return cv::Mat_<T>(m.dims, m.size.p, reinterpret_cast<T*>(m.data), m.step.p);
  }
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
