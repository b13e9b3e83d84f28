// The inline bodies of tensor_type.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
#if DLBRIDGE_DLPACK_AT_LEAST(2)

// The Operations of Tensor's exchange table.
struct tensor_operations {
  static managed_tensor export_tensor(PyObject* object) {
    tensor_object& self = prepare(object);
    return dlbridge::lend(share(self), self.view, struct_kind::versioned);
  }

  static void lend(PyObject* object, DLTensor& out) {
    tensor_object& self = prepare(object);
    if ((self.view.flags() & not_lent) != 0) {
      refuse_lending(self.view.flags());
    }
    if (self.view.strides() == nullptr && self.view.rank() != 0) {
      share(self);  // the owner then has the explicit strides that DLPack 1.2 requires
    }
    out = self.view.to_dltensor();
  }

  static PyObject* give_tensor(managed_tensor& m) noexcept {
    PyTypeObject* const type = tensor_type();
    return type != nullptr ? try_new_tensor(type, m).release() : nullptr;
  }

 private:
  // The slots do no ordering; the consumer orders its work after the stream that
  // current_work_stream returns, the default one, so that one is ordered after the tensor's
  // (spec 5.3).
  DLBRIDGE_INLINE static tensor_object& prepare(PyObject* object) {
    if (Py_TYPE(object) != tensor_type()) {  // the consumer breaks the condition of the slot
      refuse_other_type(object);
    }
    tensor_object& self = tensor_in(object);
    if (self.view.device().type != kDLCPU) {
      order_consumer(object);
    }
    return self;
  }
  DLBRIDGE_NOINLINE static void order_consumer(PyObject* object) {
    tensor_object const& self = tensor_in(object);
    if (self.stream.is_none()) {
      return;
    }
    stream_ref const ready = self.ready_on();
    if (is_host_accessible(self.view.device())) {  // the consumer may be a library of the CPU
      python::host_wait(ready);
      return;
    }
    stream_ref const used = stream_ref::default_of(ready.device());
    python::order_after(used, ready);
    critical_section const section(object);
    record_lasting_stream(owning_tensor(self), used);
  }
};

#endif
}  // namespace detail

PyTypeObject* tensor_type() noexcept {
  static lazy_object type;
  PyObject* const object = type.get([]() noexcept {
    ref created = ref::steal(reinterpret_cast<PyObject*>(detail::make_tensor_type()));
    if (created && !(names::prepare() &&
                     detail::add_tensor_head(reinterpret_cast<PyTypeObject*>(created.get())))) {
      created = ref();
    }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
    if (created && !add_exchange_table<detail::tensor_operations>(
                       reinterpret_cast<PyTypeObject*>(created.get()))) {
      created = ref();
    }
#endif
    return created;
  });
  return reinterpret_cast<PyTypeObject*>(object);
}

ref wrap_tensor(managed_tensor m) noexcept {
  if (!m) {
    return detail::refuse_empty_owner();
  }
  PyTypeObject* const type = tensor_type();
  return type != nullptr ? new_tensor(type, std::move(m)) : ref();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
