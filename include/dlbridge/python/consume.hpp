// The consumer algorithm: find the device, choose the stream, ask, fall back, steal, settle.
// floor 9 · IN: from a Python object to a managed tensor
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/ask.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/consume_request.hpp>
#include <dlbridge/python/device_work.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/keywords.hpp>
#include <dlbridge/python/type_cache.hpp>
#include <dlbridge/python/values.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// One consumption, from the question to the settled tensor. Every step gives false, or nothing,
/// with a Python exception set.
class consumption {
 public:
  consumption(PyObject* producer, consume_request const& request) noexcept
      : producer_(producer),
        request_(request),
        type_(type_cache::find(Py_TYPE(producer))),
        method_(ref::borrow(type_.dlpack)) {}

  stream_ref ready_on() const noexcept { return ready_; }

  managed_tensor run() noexcept {
    if (type_.host_only && !type_.legacy_only && !request_.has_target &&
        request_.copy == copy_policy::if_needed) {
      return run_common();
    }
    if (!find_method() || !find_device() || !choose_keywords()) {
      return managed_tensor();
    }
    return settle(receive(negotiate()));
  }

 private:
  // A NumPy array as it is: one question, one answer, and nothing left to settle.
  managed_tensor run_common() noexcept {
    keywords_.max_version = stated_version_object();
    ref capsule = call_dlpack(producer_, type_, keywords_);
    return receive(capsule ? std::move(capsule) : negotiate_after_refusal());
  }

  // __dlpack__ is on the type, or on the object alone. None says that there is none on purpose.
  bool find_method() noexcept {
    PyObject* found = type_.dlpack;
    ref own;
    if (found == nullptr) {
      own = optional_attribute(producer_, names::get().dlpack);
      found = own.get();
    }
    if ((found != nullptr && found != Py_None) || PyErr_Occurred() != nullptr) {
      return found != nullptr;
    }
    report r = refusal(errc::not_a_producer, "an object with __dlpack__ and __dlpack_device__",
                       "one of type ", request_.advice);
    r.got.append(Py_TYPE(producer_)->tp_name);
    set_error(r);
    return false;
  }

  // Asks where the tensor is, unless that is known. A producer without __dlpack_device__ is taken
  // to be on the CPU: several consumers never ask, so several producers lack it.
  bool find_device() noexcept {
    if (type_.host_only) {
      return true;
    }
    names const& n = names::get();
    ref const pair = ref::steal(PyObject_CallMethodNoArgs(producer_, n.dlpack_device));
    if (pair) {
      return read_device_pair(pair.get(), "what __dlpack_device__() gives", where_,
                              errc::producer_failed);
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
      return false;
    }
    ref raised = take_exception();
    ref const method = optional_attribute(producer_, n.dlpack_device);
    if (method) {  // it is there, and raised for a reason of its own
      set_exception(std::move(raised));
    }
    return PyErr_Occurred() == nullptr;
  }

  // Only what is needed is sent: NumPy, JAX and TensorFlow refuse a stream on the CPU, and
  // TensorFlow any dl_device, even its own.
  bool choose_keywords() noexcept {
    keywords_.max_version = stated_version_object();
    moves_ = request_.has_target && !same_place(where_, request_.target);
    device const asked = moves_ ? request_.target : where_;
    bool const named = request_.stream != nullptr && request_.stream != Py_None;
    if (runtime_of(asked) != runtime_kind::none) {
      if (!send_stream(request_.stream, asked)) {
        return false;
      }
    } else if (named && !moves_ && !is_host_accessible(where_)) {
      keywords_.stream = request_.stream;  // a SYCL queue, say: not ours to read (spec 4.4)
    }  // to the CPU the producer waits itself (spec 4.3)
    if (moves_) {
      dl_device_ =
          ref::steal(Py_BuildValue("(ii)", int{request_.target.type}, int{request_.target.id}));
      keywords_.dl_device = dl_device_.get();
    }
    keywords_.copy = request_.copy == copy_policy::always  ? Py_True
                     : request_.copy == copy_policy::never ? Py_False
                                                           : nullptr;
    return PyErr_Occurred() == nullptr;
  }

  // Asks for the elements to be ready on a stream of a device; always on one that is named, as
  // torch takes a missing stream for no order at all.
  bool send_stream(PyObject* named, device where) noexcept {
    std::int64_t value = 0;
    if (!choose_stream(named, where, ready_, &value)) {
      return false;
    }
    stream_ = ref::steal(PyLong_FromLongLong(value));
    keywords_.stream = stream_.get();
    return static_cast<bool>(stream_);
  }

  // From here on the tensor is asked for as it is, to be moved by us; the stream is then one of its
  // own device.
  bool leave_in_place() noexcept {
    moves_ = false;
    keywords_.dl_device = nullptr;
    keywords_.stream = nullptr;
    ready_ = stream_ref::default_of(where_);
    bool const named_here = runtime_of(request_.target) == runtime_kind::none;
    return runtime_of(where_) == runtime_kind::none ||
           send_stream(named_here ? request_.stream : nullptr, where_);
  }

  // Asks, and asks again where the answer means that the producer is older than the question.
  ref negotiate() noexcept {
    bool const simple = keywords_.dl_device == nullptr && keywords_.copy == nullptr;
    if (type_.legacy_only && simple) {
      ref capsule = call_dlpack(producer_, type_, without(true, false));
      if (capsule) {
        return capsule;
      }
      if (!forgive_exception()) {  // else it is asked in full, and that answer is reported
        return capsule;
      }
    }
    ref capsule = call_dlpack(producer_, type_, keywords_);
    return capsule ? std::move(capsule) : negotiate_after_refusal();
  }

  ref negotiate_after_refusal() noexcept {
    if (!may_ask_again()) {
      return ref();
    }
    bool const simple = keywords_.dl_device == nullptr && keywords_.copy == nullptr;
    ref first = take_exception();
    bool const old = PyErr_GivenExceptionMatches(first.get(), PyExc_TypeError) != 0;
    if (old && request_.copy == copy_policy::never) {
      return refuse_dropped_copy(std::move(first));
    }
    copy_here_ = request_.copy == copy_policy::always;
    // A refused copy is asked for without copy, a refused move without one; an unknown keyword
    // without every newer one.
    if (moves_ && (old || may_move_here()) && !leave_in_place()) {
      return ref();
    }
    ref capsule = call_dlpack(producer_, type_, without(old, true));
    if (capsule) {
      if (old && simple) {
        type_cache::set_legacy_only(type_);
      }
      return capsule;
    }
    ref second = take_exception();
    ref const context = ref::steal(PyException_GetContext(second.get()));
    if (!context && second.get() != first.get()) {
      PyException_SetContext(second.get(), first.release());
    }
    set_exception(std::move(second));
    return ref();
  }

  // TypeError may mean an unknown keyword; any other exception only that copy=True, or the tensor
  // elsewhere, cannot be had from this producer.
  bool may_ask_again() const noexcept {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      return true;
    }
    return (request_.copy == copy_policy::always || may_move_here()) &&
           PyErr_ExceptionMatches(PyExc_Exception);
  }

  bool may_move_here() const noexcept {
    return moves_ && request_.copy != copy_policy::never && can_move(where_, request_.target);
  }

  call_keywords without(bool newer, bool copy) const noexcept {
    call_keywords fewer = keywords_;
    if (newer) {
      fewer.max_version = nullptr;
      fewer.dl_device = nullptr;
    }
    if (newer || copy) {
      fewer.copy = nullptr;
    }
    return fewer;
  }

  ref refuse_dropped_copy(ref first) noexcept {
    set_exception(std::move(first));
    report r = refusal(errc::copy_forbidden, "a producer that understands copy=False", "",
                       "Leave copy= out if a copy is acceptable");
    r.got.append(Py_TYPE(producer_)->tp_name).append(", which does not take the keyword");
    set_error(r);
    return ref();
  }

  managed_tensor receive(ref capsule) noexcept {
    if (!capsule) {
      return managed_tensor();
    }
    report why;
    managed_tensor taken = steal_capsule(capsule.get(), why);
    if (!why.ok()) {
      if (why.broke(errc::not_a_capsule) || why.broke(errc::capsule_used)) {
        why.broken = 0;
        why.breaks(errc::producer_failed);
        why.advice = "Its __dlpack__ is broken";
      }
      capsule = ref();  // a foreign destructor runs before our exception is set (spec 3.4)
      set_error(why);
    }
    return taken;
  }

  // Does what the producer was asked for and did not do.
  managed_tensor settle(managed_tensor m) noexcept {
    if (!m || request_.settle == nullptr) {
      return m;
    }
    if (request_.copy == copy_policy::never && m.view().is_copied()) {
      m.reset();
      report r =
          refusal(errc::copy_forbidden, "no copy", "", "Leave copy= out if a copy is acceptable");
      r.got.append("one, made by ").append(Py_TYPE(producer_)->tp_name).append(" all the same");
      set_error(r);
      return m;
    }
    bool const wants_copy = copy_here_ || (request_.copy == copy_policy::always && !is_copy(m));
    if (PyErr_Occurred() != nullptr) {
      return managed_tensor();
    }
    if (ready_.device() != m.view().device()) {  // moved by the producer, or never where it said
      ready_ = stream_ref::default_of(m.view().device());
    }
    return request_.settle(std::move(m), request_, wants_copy, ready_);
  }

  // A copy is marked, or proven: torch and JAX mark none, tvm-ffi and dpnp may make none, and what
  // the CPU can read anyway, CuPy moves to the CPU without one.
  bool is_copy(managed_tensor const& m) noexcept {
    tensor_view const view = m.view();
    if (view.is_copied() || view.empty() ||
        (keywords_.dl_device != nullptr && !is_host_accessible(where_))) {
      return true;
    }
    ref const capsule = call_dlpack(producer_, type_, without(false, true));
    report why;
    managed_tensor const original = capsule ? steal_capsule(capsule.get(), why) : managed_tensor();
    return forgive_exception() && original && original.view().data() != view.data();
  }

  PyObject* producer_;
  consume_request const& request_;
  type_entry type_;
  ref method_;  // the type may lose it while Python code runs
  device where_ = cpu;
  call_keywords keywords_;
  ref stream_;
  stream_ref ready_ = stream_ref::default_of(cpu);  // on which the elements will be
  ref dl_device_;
  bool moves_ = false;  // whether the producer is asked to move the tensor
  bool copy_here_ = false;
};
}  // namespace detail

/// Takes the tensor of a producer, or out of a raw capsule.
/// stream: ready becomes the one of its device on which its elements are, as asked or by default.
/// owns: the result owns; a refused tensor has been freed or never left its producer.
/// thread and GIL: held; Python code runs.
/// fails: empty, with a Python exception: the producer's own, unchanged; CopyForbiddenError when
/// copy=False cannot be promised; else as set_error of not_a_producer, not_a_capsule, capsule_used,
/// producer_failed, device_mismatch, bad_stream, bad_argument, or as managed_tensor::steal and
/// device_work::move.
inline managed_tensor consume(PyObject* producer, consume_request const& request,
                              stream_ref& ready) noexcept {
  if (!PyCapsule_CheckExact(producer)) {
    detail::consumption asking(producer, request);
    managed_tensor taken = asking.run();
    ready = asking.ready_on();
    return taken;
  }
  report why;
  managed_tensor taken = steal_capsule(producer, why);
  if (!why.ok()) {
    set_error(why);
  }
  if (!taken) {
    return taken;
  }
  ready = stream_ref::default_of(taken.view().device());  // a capsule cannot say another
  if (request.settle == nullptr) {
    return taken;
  }
  return request.settle(std::move(taken), request, request.copy == copy_policy::always, ready);
}
inline managed_tensor consume(PyObject* producer, consume_request const& request) noexcept {
  stream_ref ready = stream_ref::default_of(cpu);
  return consume(producer, request, ready);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
