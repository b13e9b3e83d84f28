// dlpack_import: one import by __dlpack__, from the choice of the keywords to the tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/import/detail/dlpack_call.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
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
  managed_tensor run() noexcept;

  // Completes the import for a request that fulfil_request then fulfils, of the tensor of run.
  // Refuses a forbidden copy.
  // @param[out] ready the stream on which the elements are ready.
  // @param[out] wants_copy whether dlbridge makes the requested copy.
  managed_tensor complete(managed_tensor m, stream_ref& ready, bool& wants_copy) noexcept;

 private:
  // __dlpack__ is an attribute of the type, or of the object, which comes first. A value of None
  // states that the object does not support DLPack.
  bool find_method() noexcept;

  // Calls __dlpack__ without __dlpack_device__ before. Returns an empty tensor, without an
  // exception, for a tensor that is not on the CPU, as its producer did not know the stream, and
  // for one that the producer refuses.
  managed_tensor take_from_host() noexcept;

  // Calls __dlpack_device__ unless the type implies the device. A producer without the method, or
  // with None in its place, counts as one on the CPU: several consumers never call it.
  bool find_device() noexcept;

  // Passes only the keywords that are needed: NumPy, JAX and TensorFlow refuse a stream on the CPU,
  // and TensorFlow any dl_device, even its own.
  bool choose_keywords() noexcept;

  // Sets the stream keyword to a stream of a device, on which the producer makes the elements
  // ready. dlbridge always passes the keyword, because torch orders nothing without it.
  bool choose_stream_keyword(PyObject* named, device where) noexcept;

  // Makes the device of a stream current for the calls of the producer (spec 4.4, 4.6), unless that
  // is a Tensor, which does not need it.
  void enter_device(stream_ref stream) noexcept;

  // Requests the elements on the default stream in place of -1, because dlbridge itself reads them.
  bool order_elements() noexcept;

  // Makes the first call with the chosen keywords. If take_from_host made it and the producer
  // refused, sets that exception: a second call would repeat the side effects, and each producer
  // that imports another one would double the calls.
  ref call_producer() noexcept;

  // Requests the tensor on its present device, on a stream of it: dlbridge moves it afterwards.
  DLBRIDGE_COLD bool leave_in_place() noexcept;

  bool can_move_here() const noexcept;

  // Calls the producer again after its first exception, where another call can succeed. After a
  // refused copy it omits copy, after a refused move dl_device, and dlbridge then copies or moves.
  // It never omits copy=False. Returns an empty reference, with an exception set, on failure.
  DLBRIDGE_COLD ref request_again() noexcept;

  // The exception states why dlbridge does not make a move that the producer refuses, whose
  // exception becomes the cause.
  ref explain_refused_move(refusal_meaning meaning) noexcept;

  // The tensor of the first call, or of what is left to try after an exception.
  managed_tensor take(ref capsule) noexcept;

  managed_tensor receive(ref capsule) noexcept;

  // Whether the tensor is a copy to which its caller may write. Where the mark is missing, as in
  // the copies of torch, or where the copy is read-only, as are those of JAX 0.12, dlbridge makes
  // the copy.
  static bool is_own_copy(tensor_view const& view) noexcept;

  // Imports the tensor once more if no stream was ordered, because dlbridge itself reads it.
  bool make_ordered(managed_tensor& m) noexcept;

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
managed_tensor import_capsule(PyObject* capsule) noexcept;

// As import_tensor() by __dlpack__, for an argument, which requests no device, copy or stream.
managed_tensor import_producer(PyObject* producer) noexcept;

// The same memory for the CPU: the producer then waits for its elements (spec 4.3). For a module
// without device operations.
DLBRIDGE_COLD managed_tensor import_to_host(PyObject* producer, device own) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/dlpack_import.ipp>
#endif
