// Main umbrella header: everything that needs no Python, no device runtime and no other library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/broadcast.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/constraints.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/extent_names.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/parallel_copy.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>
#include <dlbridge/types/conversion_rules.hpp>
#include <dlbridge/types/small_floats.hpp>
#include <dlbridge/validate.hpp>
#include <dlbridge/version.hpp>
