// A tensor that came, brought to where and how it was asked for.
// floor 8 · IN: the last step
#pragma once

#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/consume_request.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// Brings a tensor to the requested device and into its own memory, where that is still to do. When
// that is refused its deleter runs before the exception is set, or without seeing it.
inline managed_tensor settle_tensor(managed_tensor m, consume_request const& request,
                                    bool wants_copy) noexcept {
  device const where = m.view().device();
  bool const elsewhere = request.has_target && !same_place(where, request.target);
  if (elsewhere && !(request.target == cpu && is_host_accessible(where))) {
    report r = refusal(errc::device_mismatch, "", name_of(where).c_str(),
                       "The producer did not move it; move it with its own library first");
    r.expected.append(name_of(request.target).c_str());
    m.reset();
    set_error(r);
    return m;
  }
  if (wants_copy && !is_host_accessible(where)) {
    m.reset();
    set_error(refusal(errc::device_mismatch, "memory that the CPU can read, to copy it",
                      name_of(where).c_str(), "Copy the tensor with its own library first"));
    return m;
  }
  managed_tensor settled;
  bool const done = guarded([&] {
    if (wants_copy) {
      settled = copy_of(m.view());
    } else if (elsewhere) {  // pinned and managed memory is the CPU's as well
      description d = describe(m);
      d.device = cpu;
      settled = build_on(std::move(m), d);
    } else {
      settled = std::move(m);
    }
  });
  if (!done) {
    error_keeper const kept;
    m.reset();
  }
  return settled;
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
