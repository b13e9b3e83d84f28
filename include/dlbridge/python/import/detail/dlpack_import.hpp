// dlpack_import: one import by __dlpack__, from the choice of the keywords to the tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/dlpack_call.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// One import by __dlpack__: chooses the device, the stream and the keywords, and calls the
// producer. A step that fails returns false or an empty object, with an exception set.
class dlpack_import {
 public:
  dlpack_import(PyObject* producer, import_request const& request) noexcept
      : producer_(producer),
        request_(request),
        type_(type_cache::get_copy(Py_TYPE(producer))),
        method_{ref::borrow(type_.takes_self ? type_.dlpack : nullptr), type_.takes_self} {}
  dlpack_import(dlpack_import const&) = delete;
  dlpack_import& operator=(dlpack_import const&) = delete;

  // The tensor as the producer exports it.
  managed_tensor run() noexcept {
    keywords_.max_version = stated_version_object();
    if (keywords_.max_version == nullptr ||
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

  // Completes the import for a request that fulfil_request then fulfils, of the tensor of run.
  // Refuses a forbidden copy.
  // @param[out] ready the stream on which the elements are ready.
  // @param[out] wants_copy whether dlbridge makes the requested copy.
  managed_tensor complete(managed_tensor m, stream_ref& ready, bool& wants_copy) noexcept {
    if (request_.copy == copy_policy::never && m.view().is_copied()) {
      m = managed_tensor();
      report r =
          refusal(errc::copy_forbidden, "no copy", "", "Leave copy= out if a copy is acceptable");
      r.got.append("one, made by ").append(Py_TYPE(producer_)->tp_name).append(" all the same");
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

 private:
  // __dlpack__ is an attribute of the type, or of the object, which comes first. A value of None
  // states that the object does not support DLPack.
  bool find_method() noexcept {
    ref& method = method_.function;
    if (!method_.takes_self) {
      method = optional_attribute(producer_, names::get().dlpack);
    }
    bool const is_class =
        PyType_Check(producer_) && method &&
        (PyFunction_Check(method.get()) || Py_TYPE(method.get()) == &PyMethodDescr_Type);
    if ((method && method.get() != Py_None && !is_class) || PyErr_Occurred() != nullptr) {
      bool const is_of_type =
          method && PyMethod_Check(method.get()) &&
          reinterpret_cast<PyMethodObject*>(method.get())->im_func == type_.dlpack;
      is_legacy_ = type_.legacy_only && (method_.takes_self || is_of_type);
      return static_cast<bool>(method);
    }
    set_no_producer(producer_, is_class, request_.remedy);
    return false;
  }

  // Calls __dlpack__ without __dlpack_device__ before. Returns an empty tensor, without an
  // exception, for a tensor that is not on the CPU, as its producer did not know the stream, and
  // for one that the producer refuses.
  managed_tensor take_from_host() noexcept {
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

  // Calls __dlpack_device__ unless the type implies the device. A producer without the method, or
  // with None in its place, counts as one on the CPU: several consumers never call it.
  bool find_device() noexcept {
    if (type_.is_ndarray()) {
      return true;
    }
    names const& n = names::get();
    ref const pair = ref::steal(api<PyObject_CallMethodNoArgs>(producer_, n.dlpack_device));
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

  // Passes only the keywords that are needed: NumPy, JAX and TensorFlow refuse a stream on the CPU,
  // and TensorFlow any dl_device, even its own.
  bool choose_keywords() noexcept {
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
      dl_device_ = ref::steal(
          api<Py_BuildValue>("(ii)", int{request_.target.type}, int{request_.target.id}));
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

  // Sets the stream keyword to a stream of a device, on which the producer makes the elements
  // ready. dlbridge always passes the keyword, because torch orders nothing without it.
  bool choose_stream_keyword(PyObject* named, device where) noexcept {
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

  // Makes the device of a stream current for the calls of the producer (spec 4.4, 4.6), unless that
  // is a Tensor, which does not need it.
  void enter_device(stream_ref stream) noexcept {
    if (!type_.has_head) {
      current_.enter(stream);
    }
  }

  // Requests the elements on the default stream in place of -1, because dlbridge itself reads them.
  bool order_elements() noexcept {
    return !is_unordered_ || choose_stream_keyword(nullptr, ready_.device());
  }

  // Makes the first call with the chosen keywords. If take_from_host made it and the producer
  // refused, sets that exception: a second call would repeat the side effects, and each producer
  // that imports another one would double the calls.
  ref call_producer() noexcept {
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

  // Requests the tensor on its present device, on a stream of it: dlbridge moves it afterwards.
  DLBRIDGE_COLD bool leave_in_place() noexcept {
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

  bool can_move_here() const noexcept {
    return moves_ && request_.copy != copy_policy::never && can_move(where_, request_.target);
  }

  // Calls the producer again after its first exception, where another call can succeed. After a
  // refused copy it omits copy, after a refused move dl_device, and dlbridge then copies or moves.
  // It never omits copy=False. Returns an empty reference, with an exception set, on failure.
  DLBRIDGE_COLD ref request_again() noexcept {
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

  // The exception states why dlbridge does not make a move that the producer refuses, whose
  // exception becomes the cause.
  ref explain_refused_move(refusal_meaning meaning) noexcept {
    report const why = moves_ && meaning == refusal_meaning::unavailable
                           ? refused_move(where_, request_, type_.has_head)
                           : report{};
    if (!why.ok()) {
      set_error(why);
    }
    return ref();
  }

  // The tensor of the first call, or of what is left to try after an exception.
  managed_tensor take(ref capsule) noexcept {
    if (!capsule) {
      capsule = request_again();
    }
    copies_here_ = copies_here_ && capsule;
    return capsule  ? receive(std::move(capsule))
           : moves_ ? managed_tensor()  // the refusal of a move
                    : own_refused_ndarray(type_, producer_, request_.copy == copy_policy::always);
  }

  managed_tensor receive(ref capsule) noexcept {
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

  // Whether the tensor is a copy to which its caller may write. Where the mark is missing, as in
  // the copies of torch, or where the copy is read-only, as are those of JAX 0.12, dlbridge makes
  // the copy.
  static bool is_own_copy(tensor_view const& view) noexcept {
    return !view.read_only() && (view.is_copied() || view.empty());
  }

  // Imports the tensor once more if no stream was ordered, because dlbridge itself reads it.
  bool make_ordered(managed_tensor& m) noexcept {
    if (is_unordered_ && !copies_here_) {
      m = order_elements() ? receive(call_dlpack(producer_, method_, keywords_)) : managed_tensor();
    }
    return static_cast<bool>(m);
  }

  PyObject* producer_;
  import_request const& request_;
  type_entry type_;
  producer_method method_;
  bool is_legacy_ = false;  // whether the method has no parameter max_version
  device where_ = cpu;
  call_keywords keywords_{};
  ref stream_{};
  bool is_unordered_ = false;                       // whether that is -1
  stream_ref ready_ = stream_ref::default_of(cpu);  // on which the elements will be ready
  ref dl_device_{};
  ref refusal_{};             // the exception of take_from_host
  bool moves_ = false;        // whether the producer is requested to move the tensor
  bool copies_here_ = false;  // whether dlbridge makes the requested copy
  current_device current_{};
};

// Imports the tensor of a raw capsule, as its producer exported it.
inline managed_tensor import_capsule(PyObject* capsule) noexcept {
  report why;
  managed_tensor tensor = steal_capsule(capsule, why);
  if (!why.ok()) {
    set_error(why);
  }
  return tensor;
}

// As import_tensor() by __dlpack__, for an argument, which requests no device, copy or stream.
inline managed_tensor import_producer(PyObject* producer) noexcept {
  import_request request;
  request.on_work_stream = true;
  return PyCapsule_CheckExact(producer) ? import_capsule(producer)
                                        : dlpack_import(producer, request).run();
}

// The same memory for the CPU: the producer then waits for its elements (spec 4.3). For a module
// without device operations.
DLBRIDGE_COLD inline managed_tensor import_to_host(PyObject* producer, device own) noexcept {
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
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
