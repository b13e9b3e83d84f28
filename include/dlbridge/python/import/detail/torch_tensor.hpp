// read_torch_tensor: reads a torch.Tensor by the C functions of PyTorch's stable ABI, after a
// self-test of where an object has its handle.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Whether the self-test has run. read_torch_tensor describes nothing before.
DLBRIDGE_LOCAL inline bool& is_torch_tested() noexcept {
  static bool is_tested = false;
  return is_tested;
}

/// The self-test: compares what read_torch_tensor reads with what the exchange table of
/// torch.Tensor states, for each dtype and for several layouts. It passes on Linux if
/// `libtorch_cpu` has the functions, and objects have the handle behind their header. No exception
/// is pending afterwards, but for one that is not suppressible, after which the test runs again.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs in the first call.
DLBRIDGE_COLD void test_torch(exchange_table table) noexcept;

/// Describes an object of torch.Tensor or torch.nn.Parameter as the exchange table does, in a third
/// of its time. Shape and strides are those of the object.
/// @return false where the table has to: after a failed self-test, for memory that is not the
///   host's, for complex numbers, and for a tensor without memory or strides of its own.
bool read_torch_tensor(PyObject* object, DLTensor& out) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/torch_tensor.ipp>
#endif
