// The bodies of the C++ library, which units with DLBRIDGE_COMPILED link.
// SPDX-License-Identifier: BSD-3-Clause
#if !defined(DLBRIDGE_COMPILED)
#define DLBRIDGE_COMPILED
#endif

#include <dlbridge/any_tensor.ipp>
#include <dlbridge/as.ipp>
#include <dlbridge/broadcast.ipp>
#include <dlbridge/build.ipp>
#include <dlbridge/check.ipp>
#include <dlbridge/convert.ipp>
#include <dlbridge/copy.ipp>
#include <dlbridge/detail/copy_elements.ipp>
#include <dlbridge/detail/copy_kernel.ipp>
#include <dlbridge/detail/copy_plainly.ipp>
#include <dlbridge/detail/copy_plan.ipp>
#include <dlbridge/detail/describe_block.ipp>
#include <dlbridge/detail/index.ipp>
#include <dlbridge/detail/owned_block.ipp>
#include <dlbridge/device.ipp>
#include <dlbridge/dtype.ipp>
#include <dlbridge/error.ipp>
#include <dlbridge/exchange_table.ipp>
#include <dlbridge/exit_guard.ipp>
#include <dlbridge/extent_names.ipp>
#include <dlbridge/host_memory.ipp>
#include <dlbridge/kept_stream.ipp>
#include <dlbridge/layout.ipp>
#include <dlbridge/lend.ipp>
#include <dlbridge/managed_tensor.ipp>
#include <dlbridge/parallel_copy.ipp>
#include <dlbridge/shared_tensor.ipp>
#include <dlbridge/stream_ref.ipp>
#include <dlbridge/tensor_view.ipp>
#include <dlbridge/types/small_floats.ipp>
#include <dlbridge/validate.ipp>
#include <dlbridge/version.ipp>
