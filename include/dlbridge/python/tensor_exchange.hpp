// What Tensor's exchange table answers.
// floor 10 · IN and OUT: a Tensor without capsules
#pragma once

#include <dlbridge/abi.hpp>

#if DLBRIDGE_DLPACK_AT_LEAST(2)

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/device_work.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/slots.hpp>
#include <dlbridge/python/tensor_object.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The Face (slots.hpp) of Tensor. TensorType gives the type, which is made above.
template <PyTypeObject* (*TensorType)() noexcept>
struct tensor_face {
  static managed_tensor give(PyObject* object) {
    tensor_object& self = tensor_in(object);
    order_default_stream(self);
    return dlbridge::lend(share(self), self.view, flavour::versioned);
  }

  // A bare DLTensor has no mark for read-only memory; __dlpack__, which is asked next, has.
  static void lend(PyObject* object, DLTensor& out) {
    tensor_view const& view = tensor_in(object).view;
    order_default_stream(tensor_in(object));
    if (view.read_only()) {
      raise(refusal(errc::read_only, "writable memory for a tensor that is lent",
                    "read-only memory", "Ask for an owning one"));
    }
    out = view.to_dltensor();
    if (out.strides == nullptr && out.ndim != 0) {  // to be written out, as 1.2 demands
      out.strides = lent_dims::next().strides;
      view.copy_strides(out.strides);
    }
  }

  static PyObject* take(managed_tensor& m) noexcept {
    PyTypeObject* const type = TensorType();
    ref made =
        type != nullptr ? new_tensor(type, m.view(), managed_tensor(), shared_tensor()) : ref();
    if (made) {
      tensor_in(made.get()).owned = std::move(m);
    }
    return made.release();
  }

 private:
  // Nobody waits here but for the stream that current_work_stream names (spec 5.3).
  DLBRIDGE_INLINE static void order_default_stream(tensor_object const& self) {
    if (self.stream != nullptr) {  // as on the CPU, and on ROCm's default stream
      stream_ref const ready = self.ready_on();
      require_order(stream_ref::default_of(ready.device()), ready);
    }
  }
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

#endif
