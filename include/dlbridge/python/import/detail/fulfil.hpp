// fulfil_request: moves an imported tensor to the requested device, or copies it, where the
// producer did not.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Copies a tensor to another device, or one that the CPU cannot read, in the order of a stream.
// named: the stream that the caller named, or null. Sets ready to the stream on which the copy is
// ready; the caller records that stream for the memory (record_lasting_stream), as it knows the
// object that owns it. Throws.
inline managed_tensor move_tensor(managed_tensor m, device to, stream_ref on, PyObject* named,
                                  stream_ref& ready) {
  python::order_after(on, ready);
  tensor_view const source = m.view();
  shared_tensor const owner(std::move(m));
  managed_tensor moved = device_operations::get().move(
      move_request{owner, source, to, on, struct_kind::versioned, named == nullptr});
  ready = runtime_of(to) == runtime_kind::none ? stream_ref::default_of(to) : on;
  return moved;
}

// The tensor on device cpu: on the same memory, which is host-accessible (pinned or managed), or a
// copy. Throws.
inline managed_tensor fulfil_on_host(managed_tensor m, bool wants_copy, stream_ref& ready) {
  python::host_wait(ready);
  ready = stream_ref::default_of(cpu);
  if (wants_copy) {
    auto* const operation = device_operations::get().copy_host;
    return operation != nullptr ? operation(m.view(), struct_kind::versioned) : copy_of(m.view());
  }
  description d = describe(m);
  d.device = cpu;
  return build_on(std::move(m), d);
}

// Moves or copies a tensor that is not yet as requested. ready is the stream on which the elements
// are ready, before and after. On failure the deleter of m runs before the exception is set, or
// while the exception is put aside.
inline managed_tensor fulfil_request(managed_tensor m, consume_request const& request,
                                     bool wants_copy, stream_ref& ready) noexcept {
  device const where = m.view().device();
  device const target = request.has_target ? request.target : where;
  bool const elsewhere = !is_on_device(where, target);
  if (!elsewhere && !wants_copy) {
    return m;
  }
  bool const on_host = stays_on_host(where, target);
  report why = on_host ? report{} : check_move(where, target);
  if (!why.ok() && !elsewhere && !lacks_driver(why)) {
    why = refusal(errc::device_mismatch, "memory that the CPU can read, to copy it",
                  name_of(where).c_str(), "Copy the tensor with its own library first");
  } else if (!on_host && elsewhere && forbids_move(request.copy, where, target, why)) {
    why = forbidden_move(where, target);
  }
  if (!why.ok()) {
    m = managed_tensor();
    set_error(why);
    return m;
  }
  managed_tensor result;
  stream_ref on = ready;
  bool const is_named = request.names_stream();
  bool const chooses = runtime_of(target) != runtime_kind::none && (elsewhere || is_named);
  std::int64_t value = -1;  // of stream=; -1 for no order
  bool const done = (!chooses || choose_stream(request.stream, target, on, &value)) && guarded([&] {
                      PyObject* const named = is_named && value != -1 ? request.stream : nullptr;
                      result = on_host ? fulfil_on_host(std::move(m), wants_copy, ready)
                                       : move_tensor(std::move(m), target, on, named, ready);
                    });
  error_keeper const pending;
  m = managed_tensor();
  if (!done) {
    result = managed_tensor();
  }
  return result;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
