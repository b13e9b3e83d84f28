// overload_call: one call of several C++ functions of one name; it imports each tensor once for all
// of them, and keeps the reasons of those that refuse.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/refused_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>

// Linked lists keep the compile time of this header low, which every extension includes. The code
// that uses them runs when a call is refused.
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The state of one call of an overload set: the tensors that are imported, and the reasons of the
/// candidates that refused. A local variable of that call.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class overload_call {
 public:
  /// @param name the name of the function in the binding library's refusals, for try_candidate
  explicit overload_call(char const* name = "") noexcept
      : name_(name), reasons_(ref::steal(api<PyList_New>(0))) {}
  overload_call(overload_call const&) = delete;
  overload_call& operator=(overload_call const&) = delete;

  /// @return false, with MemoryError set, when the call cannot begin.
  explicit operator bool() const noexcept { return static_cast<bool>(reasons_); }

  /// @return whether a call is trying a candidate, which has not entered it
  DLBRIDGE_LOCAL static bool is_trying(function_record const& candidate) noexcept {
    return current() != nullptr && current()->candidate_ == &candidate;
  }

  /// Returns the call that is trying a candidate. The candidate enters it once, since Python code
  /// that runs while it imports its arguments may call overload sets in turn.
  /// @return the call, or null if Python called the candidate without an overload set
  DLBRIDGE_LOCAL static overload_call* enter(function_record const& candidate) noexcept {
    overload_call* const call = current();
    if (call == nullptr || call->candidate_ != &candidate) {
      return nullptr;
    }
    current() = nullptr;
    return call;
  }

  /// Makes every imported tensor available to the next candidate. A candidate that accepted them
  /// and then passed the call on, as by nanobind::next_overload, has moved them out.
  void begin() noexcept {
    if (accepted_) {
      imports_.reset();
      accepted_ = false;
    }
    for (entry* each = imports_.get(); each != nullptr; each = each->next.get()) {
      each->in_use = false;
    }
  }

  /// Loads an argument from an object, whose tensor is imported unless an earlier candidate
  /// imported it already.
  template <class P>
  bool load(tensor_argument<P>& argument, PyObject* object) noexcept {
    entry* const source = find_or_import(object, true);
    if (source == nullptr) {
      api<PyErr_NoMemory>();
      argument.refuse(object, take_exception());
      return false;
    }
    return argument.load_shared(object, source->tensor, source->exception);
  }

  /// Whether a candidate may accept an object for parameter P: false where the object has no
  /// tensor, or one that does not meet the requirement. The function composes no reason: explain()
  /// does if no candidate accepts the call.
  template <class P>
  bool may_accept(PyObject* object) noexcept {
    if constexpr (can_test<P>()) {
      bool const is_none = parameter<P>::optional && object == Py_None;
      entry* const source = is_none || accepted_ || is_fatal_ || is_raw_capsule(object)
                                ? nullptr
                                : find_or_import(object, false);
      return source == nullptr ||
             (source->exception ? is_fatal_ : tensor_argument<P>::accepts(source->tensor.view()));
    } else {
      return true;
    }
  }

  /// Whether Python code may have changed tensors that were imported before it ran.
  bool expects_changes() const noexcept { return expects_changes_; }
  void expect_changes() noexcept { expects_changes_ = true; }

  /// The candidate accepts the arguments. An exception that it raises afterwards ends the call.
  void accept() noexcept { accepted_ = true; }
  bool is_accepted() const noexcept { return accepted_; }

  /// The candidate refuses the arguments. Sets the fatal exception, if there is one, which ends the
  /// call, as does that of a reason which cannot be kept; otherwise a TypeError, which
  /// try_candidate() clears.
  DLBRIDGE_COLD void refuse(refusals&& why) noexcept {
    if (why.fatal_exception()) {
      accepted_ = true;
      why.set_error("");
      return;
    }
    if (!add_reason(why.text())) {
      accepted_ = true;
      return;
    }
    if (!cause_) {
      cause_ = ref::borrow(why.cause());
    }
    refused_ = true;
    api<PyErr_SetNone>(PyExc_TypeError);
  }

  /// Leaves out candidate i, counted from 0, until the others have been tried.
  /// @return false, with MemoryError set, without memory
  bool leave_out(Py_ssize_t i) noexcept {
    position_ = i;
    return add_reason(ref::borrow(Py_None));
  }

  /// Calls candidate i.
  /// @param done receives whether the call has ended, by a result or by an exception that is set;
  /// otherwise the caller tries the next candidate
  /// @return the result, or null
  PyObject* try_candidate(Py_ssize_t i, PyObject* function, function_record const& candidate,
                          PyObject* const* args, std::size_t count, PyObject* keywords,
                          bool& done) noexcept {
    position_ = i;
    candidate_ = &candidate;
    refused_ = false;
    accepted_ = false;
    overload_call* const outer = std::exchange(current(), this);
    PyObject* const result = api<PyObject_Vectorcall>(function, args, count, keywords);
    current() = outer;
    if (result == Py_NotImplemented && !accepted_) {  // how pybind11 refuses operands
      is_operator_ = true;
      static_cast<void>(ref::steal(result));
    } else if (result != nullptr || accepted_ || (!refused_ && !is_library_refusal())) {
      done = true;
      return result;
    } else {
      api<PyErr_Clear>();
    }
    if (!refused_) {  // the binding library refused: explain() finds the reason if it is needed
      done = !add_reason(ref::borrow(Py_None));
    }
    return nullptr;
  }

  /// Keeps why a candidate refused, for the caller that explains the call.
  DLBRIDGE_COLD void keep_reason(function_record const& candidate, ref text) noexcept {
    kept_reason* own = kept_.get();
    while (own != nullptr && own->candidate != &candidate) {
      own = own->next.get();
    }
    if (own == nullptr) {
      std::unique_ptr<kept_reason> fresh(new (std::nothrow) kept_reason);
      if (!fresh) {
        return;  // the explanation has a line without the reason
      }
      own = fresh.get();
      own->candidate = &candidate;
      own->next = std::move(kept_);
      kept_ = std::move(fresh);
    }
    own->text = std::move(text);
  }
  /// @return the last reason of a candidate that keep_reason kept, or none
  DLBRIDGE_COLD ref reason_of(function_record const& candidate) const noexcept {
    kept_reason const* own = kept_.get();
    while (own != nullptr && own->candidate != &candidate) {
      own = own->next.get();
    }
    return own != nullptr ? ref::borrow(own->text.get()) : ref();
  }

  /// @return whether a candidate is a binary operator: if all refuse, the result is NotImplemented
  bool is_operator() const noexcept { return is_operator_; }

  /// Finds why candidate i, counted from 0, refused the call.
  /// @return the reason, or an empty ref with an exception set, which ends the call
  DLBRIDGE_COLD ref explain(Py_ssize_t i, function_record const& candidate, PyObject* const* args,
                            std::size_t count, PyObject* keywords) noexcept {
    ref reason = ref::borrow(api<PyList_GetItem>(reasons_.get(), i));
    if (reason.get() != Py_None) {
      return reason;
    }
    refusals why;
    if (candidate.add_reasons != nullptr) {
      begin();
      candidate.add_reasons(candidate, this, why, args, count, keywords);
    }
    if (why.fatal_exception()) {
      why.set_error(nullptr);
      return ref();
    }
    keep_cause(why);
    return why ? why.text() : ref::steal(api<PyUnicode_FromString>(no_reason()));
  }
  /// Keeps the first exception among the reasons, which becomes the cause of set_error's.
  void keep_cause(refusals const& why) noexcept {
    if (!cause_) {
      cause_ = ref::borrow(why.cause());
    }
  }
  /// The text for a signature whose reason is not known.
  static char const* no_reason() noexcept {
    return "the arguments are not those of this signature";
  }

  /// Sets the TypeError of a call that every candidate refused.
  /// @param name the name of the function
  /// @param lines a list with the signature of each candidate, followed by its reason. Candidates
  /// in a row with one reason state it once, after the last of them
  DLBRIDGE_COLD void set_error(char const* name, PyObject* lines) noexcept {
    ref text =
        ref::steal(api<PyUnicode_FromFormat>("%s(): no overload takes these arguments:", name));
    for (Py_ssize_t i = 0; text && i < PyList_GET_SIZE(lines); i += 2) {
      PyObject* const reason = PyList_GET_ITEM(lines, i + 1);
      bool const is_last = i + 2 == PyList_GET_SIZE(lines) ||
                           api<PyUnicode_Compare>(reason, PyList_GET_ITEM(lines, i + 3)) != 0;
      if (PyErr_Occurred() != nullptr) {
        return;
      }
      text = ref::steal(api<PyUnicode_FromFormat>("%U\n%zd. %U%s%V", text.get(), i / 2 + 1,
                                                  PyList_GET_ITEM(lines, i), is_last ? "\n  " : "",
                                                  is_last ? reason : nullptr, ""));
    }
    if (text) {
      api<PyErr_SetObject>(PyExc_TypeError, text.get());
    }
    set_cause(cause_.get());
  }
  /// Adds a signature and its reason to the list of set_error.
  /// @return false with an exception set on failure, or if signature or reason is empty
  static bool add_line(PyObject* lines, ref const& signature, ref const& reason) noexcept {
    return signature && reason && api<PyList_Append>(lines, signature.get()) == 0 &&
           api<PyList_Append>(lines, reason.get()) == 0;
  }

 private:
  struct entry {
    entry() noexcept = default;
    entry(entry const&) = delete;
    entry& operator=(entry const&) = delete;
    // Out of line: compilers would inline the destructor of the list into itself several times.
    DLBRIDGE_COLD ~entry() {}

    PyObject* object = nullptr;
    bool in_use = false;  // by an argument of the current candidate
    imported_tensor tensor{};
    ref exception{};  // that the import raised, or none
    std::unique_ptr<entry> next{};
  };

  struct kept_reason {
    kept_reason() noexcept = default;
    kept_reason(kept_reason const&) = delete;
    kept_reason& operator=(kept_reason const&) = delete;
    DLBRIDGE_COLD ~kept_reason() {}  // out of line, as that of entry

    function_record const* candidate = nullptr;
    ref text{};
    std::unique_ptr<kept_reason> next{};
  };

  // Whether the tensor alone decides whether a parameter accepts an object.
  template <class P>
  static constexpr bool can_test() noexcept {
    if constexpr (is_tensor_parameter<P>) {
      return !parameter<P>::takes_others && !parameter<P>::required().converts;
    } else {
      return false;
    }
  }
  // A raw capsule is imported by the first candidate that the binding library enters.
  static bool is_raw_capsule(PyObject* object) noexcept { return PyCapsule_CheckExact(object); }

  // Imports an object twice if it is used as two arguments, as each may move its tensor out.
  // Returns null without memory for the entry.
  DLBRIDGE_NOINLINE entry* find_or_import(PyObject* object, bool to_use) noexcept {
    for (entry* each = imports_.get(); each != nullptr; each = each->next.get()) {
      if (each->object == object && !(each->in_use && to_use)) {
        each->in_use = each->in_use || to_use;
        return each;
      }
    }
    std::unique_ptr<entry> fresh(new (std::nothrow) entry);
    if (!fresh) {
      return nullptr;
    }
    fresh->object = object;
    fresh->in_use = to_use;
    if (!fresh->tensor.import_object(object, import_mode::own,
                                     device_filter{device_filter::anywhere})) {
      fresh->exception = take_exception();
      is_fatal_ = !refusals::is_refusal(fresh->exception);
    }
    expects_changes_ =
        expects_changes_ || fresh->exception || !fresh->tensor.is_read_directly(object);
    fresh->next = std::move(imports_);
    imports_ = std::move(fresh);
    return imports_.get();
  }

  DLBRIDGE_LOCAL static overload_call*& current() noexcept {
    thread_local overload_call* call = nullptr;
    return call;
  }

  // Whether the pending exception is the binding library's refusal, and none of another function
  // that the library tried.
  DLBRIDGE_COLD bool is_library_refusal() const noexcept {
    ref exception = take_exception();
    bool const is_refusal = binding::is_refusal_of(name_, exception.get());
    if (PyErr_Occurred() == nullptr) {
      set_exception(std::move(exception));
    }
    return is_refusal;
  }

  // Returns false, with an exception set, when the reason cannot be kept.
  bool add_reason(ref reason) noexcept {
    if (reason && position_ < PyList_GET_SIZE(reasons_.get())) {
      return api<PyList_SetItem>(reasons_.get(), position_, reason.release()) == 0;
    }
    return reason && api<PyList_Append>(reasons_.get(), reason.get()) == 0;
  }

  char const* name_;
  function_record const* candidate_ = nullptr;
  Py_ssize_t position_ = 0;  // of the candidate
  bool is_operator_ = false;
  bool refused_ = false;
  bool accepted_ = false;
  bool expects_changes_ = false;
  bool is_fatal_ = false;  // an exception of an import ends the call
  std::unique_ptr<entry> imports_{};
  std::unique_ptr<kept_reason> kept_{};
  ref reasons_;
  ref cause_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
