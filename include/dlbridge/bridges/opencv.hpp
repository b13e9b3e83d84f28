// array_traits and view_traits of OpenCV: export, view and adopt tensors as cv::Mat and cv::Mat_,
// with the channels as the last dimension.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <opencv2/core.hpp>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
static_assert(CV_8U == 0 && CV_8S == 1 && CV_16U == 2 && CV_16S == 3 && CV_32S == 4 &&
              CV_32F == 5 && CV_64F == 6 && CV_16F == 7);

// A Mat on the memory of a tensor. required_depth and channels are those of a Mat_; a Mat passes
// -1, which accepts every depth, and 1.
inline cv::Mat mat_view(tensor_view const& of, int required_depth, int channels);
}  // namespace detail

/// Exports a Mat. The shape is that of the Mat, with several channels as the last dimension.
/// @par Ownership
/// The tensor owns a copy of the Mat, and so shares its memory.
/// @par Lifetime
/// If the Mat does not own the memory, the caller keeps it valid until the tensor is freed.
template <>
struct array_traits<cv::Mat> {
  static description describe(cv::Mat& m) noexcept;  ///< The memory of a Mat.
  /// Creates a Mat that owns a tensor.
  /// @param tensor The tensor.
  /// @throws error as as<cv::Mat>, or null_data (the owner is empty).
  /// @par Ownership
  /// The last Mat on the memory frees the tensor. After an error the caller still owns it.
  static cv::Mat adopt(managed_tensor&& tensor);
};
/// Exports a Mat_, in the same way as a Mat.
template <class T>
struct array_traits<cv::Mat_<T>> {
  /// The memory of a Mat_.
  static description describe(cv::Mat_<T>& m) noexcept {
    return array_traits<cv::Mat>::describe(m);
  }
};

/// as<cv::Mat>(view) returns a Mat with one channel and all dimensions of the tensor; a tensor of
/// rank 0 or 1 becomes a column. The memory must be writable, because a copy of a const Mat can
/// write.
template <>
struct view_traits<cv::Mat> {
  /// As as<T>.
  static cv::Mat view(tensor_view const& of) { return detail::mat_view(of, -1, 1); }
};
/// as<cv::Mat_<cv::Vec3b>>(view) returns a Mat_ whose channels are the last dimension of the
/// tensor.
template <class T>
struct view_traits<cv::Mat_<T>> {
  static cv::Mat_<T> view(tensor_view const& of);  ///< As as<T>.
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/opencv.inl>
