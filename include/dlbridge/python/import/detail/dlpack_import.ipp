// The bodies of dlpack_import.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API managed_tensor dlpack_import::run() noexcept {
  keywords_.max_version = stated_version_object();
  if (keywords_.max_version == nullptr || refuse_mask(type_.known(), producer_) ||
      (request_.copy != copy_policy::always && type_.tests &&
       !may_import(producer_, import_path::protocol)) ||
      !find_method()) {
    return managed_tensor();
  }
  if (type_.known() != nullptr && type_.known()->is_mostly_host && !is_legacy_ &&
      request_.takes_as_it_is() && !request_.names_stream()) {
    managed_tensor tensor = take_from_host();
    if (tensor || PyErr_Occurred() != nullptr) {
      return tensor;
    }
  }
  if (!find_device()) {
    if (refusal_ && is_suppressible(PyErr_Occurred())) {  // from which this exception follows:
      set_exception(std::move(refusal_));  // JAX knows no device of an array that it gave away
    }
    return managed_tensor();
  }
  return choose_keywords() ? take(call_producer()) : managed_tensor();
}

DLBRIDGE_API managed_tensor dlpack_import::complete(managed_tensor m, stream_ref& ready,
                                                    bool& wants_copy) noexcept {
  if (request_.copy == copy_policy::never && m.view().is_copied()) {
    m = managed_tensor();
    report r =
        refusal(errc::copy_forbidden, "no copy", "", "Leave copy= out if a copy is acceptable");
    r.got.append("one, made by ")
        .append(detail::type_name(Py_TYPE(producer_)).c_str())
        .append(" all the same");
    set_error(r);
    return m;
  }
  wants_copy = request_.copy == copy_policy::always && !is_own_copy(m.view());
  if ((copies_here_ && !may_import(producer_, import_path::protocol)) ||
      (wants_copy && !make_ordered(m))) {
    error_keeper const pending;
    m = managed_tensor();
    return m;
  }
  device const where(m.tensor().device);
  bool const is_there = ready_.device() == where || ready_.device() == stream_device(where);
  ready = is_there ? ready_ : stream_ref::default_of(where);  // the producer may have moved it
  current_.leave();
  return m;
}

DLBRIDGE_API bool dlpack_import::find_method() noexcept {
  ref& method = method_.function;
  if (!method_.takes_self) {
    method = optional_attribute(producer_, names::get().dlpack);
  }
  bool const is_class = PyType_Check(producer_) && method &&
                        (is_python_function(method.get()) || is_method_descriptor(method.get()));
  if ((method && method.get() != Py_None && !is_class) || PyErr_Occurred() != nullptr) {
    is_legacy_ = type_.legacy_only &&
                 (method_.takes_self || (method && is_method_of(method.get(), type_.dlpack)));
    return static_cast<bool>(method);
  }
  set_no_producer(producer_, is_class, request_.remedy);
  return false;
}

DLBRIDGE_API managed_tensor dlpack_import::take_from_host() noexcept {
  ref capsule = call_dlpack(producer_, method_, keywords_);
  if (!capsule) {
    if (is_suppressible(PyErr_Occurred())) {
      refusal_ = take_exception();
    }
    return managed_tensor();
  }
  managed_tensor tensor = receive(std::move(capsule));
  if (tensor && tensor.view().device() != cpu) {
    tensor = managed_tensor();
  }
  return tensor;
}

DLBRIDGE_API bool dlpack_import::find_device() noexcept {
  if (type_.is_ndarray()) {
    return true;
  }
  names const& n = names::get();
  ref const pair = ref::steal(api<detail::call_named>(producer_, n.dlpack_device));
  if (pair) {
    return read_device_pair(pair.get(), "what __dlpack_device__() gives", where_,
                            errc::producer_failed);
  }
  if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    return false;
  }
  ref raised = take_exception();
  ref const method = optional_attribute(producer_, n.dlpack_device);
  if (method && method.get() != Py_None) {  // the method exists, and raised the exception itself
    set_exception(std::move(raised));
  }
  return PyErr_Occurred() == nullptr;
}

DLBRIDGE_API bool dlpack_import::choose_keywords() noexcept {
  moves_ = request_.has_target && !is_on_device(where_, request_.target);
  device const destination = moves_ ? request_.target : where_;
  bool const named = request_.names_stream();
  if (runtime_of(destination) != runtime_kind::none) {
    if (!choose_stream_keyword(request_.stream, destination)) {
      return false;
    }
  } else if (named && !moves_ && !is_host_accessible(where_)) {
    keywords_.stream = request_.stream;  // such as a SYCL queue; passed unchanged (spec 4.8)
  } else if (named && !moves_ && runtime_of_memory(where_) != runtime_kind::none) {
    if (!choose_stream(request_.stream, stream_device(where_), ready_)) {
      return false;  // pinned memory has no stream in DLPack, but the caller's works on it
    }
  }
  // In every other case the producer itself synchronizes (spec 4.3).
  if (moves_) {
    if (runtime_of(destination) == runtime_kind::none) {
      enter_device(stream_ref::default_of(where_));
    }
    dl_device_ =
        ref::steal(api<Py_BuildValue>("(ii)", int{request_.target.type}, int{request_.target.id}));
    keywords_.dl_device = dl_device_.get();
    if (!dl_device_) {
      return false;
    }
  }
  keywords_.copy = request_.copy == copy_policy::always  ? Py_True
                   : request_.copy == copy_policy::never ? Py_False
                                                         : nullptr;
  return true;
}

DLBRIDGE_API bool dlpack_import::choose_stream_keyword(PyObject* named, device where) noexcept {
  std::int64_t value = 0;
  if (request_.on_work_stream) {
    ready_ = work_stream_of(producer_, type_.exchange, where);
    value = protocol_stream(ready_);
  } else if (!choose_stream(named, where, ready_, &value)) {
    return false;
  }
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  is_unordered_ = value == -1;
  enter_device(ready_);
  stream_ = ref::steal(PyLong_FromLongLong(value));
  keywords_.stream = stream_.get();
  return static_cast<bool>(stream_);
}

DLBRIDGE_API void dlpack_import::enter_device(stream_ref stream) noexcept {
  if (!type_.has_head) {
    current_.enter(stream);
  }
}

DLBRIDGE_API bool dlpack_import::order_elements() noexcept {
  return !is_unordered_ || choose_stream_keyword(nullptr, ready_.device());
}

DLBRIDGE_API ref dlpack_import::call_producer() noexcept {
  if (refusal_ && keywords_.stream == nullptr) {
    set_exception(std::move(refusal_));
    return ref();
  }
  refusal_ = ref();
  if (is_legacy_ && keywords_.dl_device == nullptr && keywords_.copy == nullptr) {
    ref capsule = call_dlpack(producer_, method_, before_1_0(keywords_));
    if (capsule || !suppress_exception()) {
      return capsule;
    }
  }
  return call_dlpack(producer_, method_, keywords_);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool dlpack_import::leave_in_place() noexcept {
  moves_ = false;
  keywords_.dl_device = nullptr;
  keywords_.stream = nullptr;
  is_unordered_ = false;
  ready_ = stream_ref::default_of(where_);
  bool const named_here = runtime_of(request_.target) == runtime_kind::none;
  return runtime_of(where_) == runtime_kind::none ||
         (choose_stream_keyword(named_here ? request_.stream : nullptr, where_) &&
          order_elements());
}

DLBRIDGE_API bool dlpack_import::can_move_here() const noexcept {
  return moves_ && request_.copy != copy_policy::never && can_move(where_, request_.target);
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref dlpack_import::request_again() noexcept {
  refusal_meaning const meaning = meaning_of_refusal();
  bool const is_old = meaning == refusal_meaning::old_producer;
  bool const is_ours = meaning == refusal_meaning::unavailable &&
                       (request_.copy == copy_policy::always || can_move_here());
  if (!is_old && !is_ours) {
    return explain_refused_move(meaning);
  }
  ref first = take_exception();
  if (is_old && request_.copy == copy_policy::never) {
    set_exception(std::move(first));
    refuse_dropped_copy(producer_);
    return ref();
  }
  copies_here_ = request_.copy == copy_policy::always;
  if ((moves_ && (is_old || can_move_here()) && !leave_in_place()) ||
      (copies_here_ && !order_elements())) {
    return ref();
  }
  call_keywords fewer = is_old ? before_1_0(keywords_) : keywords_;
  fewer.copy = nullptr;
  ref capsule = call_dlpack(producer_, method_, fewer);
  if (!capsule) {
    set_context(std::move(first));
  }
  return capsule ? std::move(capsule) : explain_refused_move(meaning_of_refusal());
}

DLBRIDGE_API ref dlpack_import::explain_refused_move(refusal_meaning meaning) noexcept {
  report const why = moves_ && meaning == refusal_meaning::unavailable
                         ? refused_move(where_, request_, type_.has_head)
                         : report{};
  if (!why.ok()) {
    set_error(why);
  }
  return ref();
}

DLBRIDGE_API managed_tensor dlpack_import::take(ref capsule) noexcept {
  if (!capsule) {
    capsule = request_again();
  }
  copies_here_ = copies_here_ && capsule;
  return capsule  ? receive(std::move(capsule))
         : moves_ ? managed_tensor()  // the refusal of a move
                  : own_refused_ndarray(type_, producer_, request_.copy == copy_policy::always);
}

DLBRIDGE_API managed_tensor dlpack_import::receive(ref capsule) noexcept {
  report why;
  managed_tensor tensor = steal_capsule(capsule.get(), why);
  if (!why.ok()) {
    if (why.has(errc::not_a_capsule) || why.has(errc::capsule_used)) {
      why.reasons = 0;
      why.add(errc::producer_failed);
      why.advice = "Its __dlpack__ is broken";
    }
    capsule = ref();  // its destructor runs before the exception is set (spec 3.4)
    set_error(why);
  }
  return type_.known() != nullptr && type_.known()->is_immutable && tensor
             ? as_immutable(std::move(tensor))
             : std::move(tensor);
}

DLBRIDGE_API bool dlpack_import::is_own_copy(tensor_view const& view) noexcept {
  return !view.read_only() && (view.is_copied() || view.empty());
}

DLBRIDGE_API bool dlpack_import::make_ordered(managed_tensor& m) noexcept {
  if (is_unordered_ && !copies_here_) {
    m = order_elements() ? receive(call_dlpack(producer_, method_, keywords_)) : managed_tensor();
  }
  return static_cast<bool>(m);
}

DLBRIDGE_API managed_tensor import_capsule(PyObject* capsule) noexcept {
  report why;
  managed_tensor tensor = steal_capsule(capsule, why);
  if (!why.ok()) {
    set_error(why);
  }
  return tensor;
}

DLBRIDGE_API managed_tensor import_producer(PyObject* producer) noexcept {
  import_request request;
  request.on_work_stream = true;
  return PyCapsule_CheckExact(producer) ? import_capsule(producer)
                                        : dlpack_import(producer, request).run();
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor import_to_host(PyObject* producer,
                                                             device own) noexcept {
  import_request request;
  request.has_target = true;
  request.target = cpu;
  request.copy = copy_policy::never;
  managed_tensor tensor = dlpack_import(producer, request).run();
  if (!tensor && suppress_exception()) {
    set_error(no_device_operations(own));
  }
  return tensor;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
