// One call of overloads: the candidates are tried in order, each tensor is imported once for all of
// them, and the reasons of every one are kept.
// floor 16 · IN: when a function has several signatures
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dlbridge/python/error.hpp>
#include <dlbridge/python/intake.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/origin.hpp>
#include <dlbridge/python/parameter.hpp>
#include <dlbridge/python/refusals.hpp>

// Lists are chains here, and texts are Python's: every extension compiles all of this, and it runs
// once for each function, or where a call is refused.
namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What one C++ function knows of how Python calls it. Kept for the process, as the function is.
/// thread and GIL: held.
struct call_facts {
  explicit call_facts(char const* called) : name(called) {}
  call_facts(call_facts const&) = delete;
  call_facts& operator=(call_facts const&) = delete;

  std::string name;
  ref parameters = ref::steal(PyList_New(0));  // names; a method's self has none
  std::optional<library> home;
  bool overloaded = false;
  PyObject* function = nullptr;  // as Python has it, once it is made
  call_facts* earlier = nullptr;

  /// name may be null.
  void add_parameter(char const* of_parameter) noexcept {
    ref const text = ref::steal(PyUnicode_FromString(of_parameter != nullptr ? of_parameter : ""));
    static_cast<void>(!text || PyList_Append(parameters.get(), text.get()) != 0);
  }

  /// The name of parameter i of count, or null.
  char const* parameter(std::size_t i, std::size_t count) const noexcept {
    auto const named = static_cast<std::size_t>(PyList_GET_SIZE(parameters.get()));
    if (named > count || i < count - named) {
      return nullptr;
    }
    auto const at = static_cast<Py_ssize_t>(i + named - count);
    char const* const text = PyUnicode_AsUTF8(PyList_GET_ITEM(parameters.get(), at));
    return text != nullptr && *text != '\0' ? text : nullptr;
  }
};

/// One call of an overload set, while its candidates are tried. Lives on the stack of that call.
/// thread and GIL: held.
class overload_call {
 public:
  overload_call() noexcept : reasons_(ref::steal(PyList_New(0))) {}

  /// The call that tries this candidate now, or null when it was called by itself. Until leave()
  /// nobody else finds it: what runs meanwhile may call overloads of its own.
  DLBRIDGE_LOCAL static overload_call* enter(call_facts const& candidate) noexcept {
    overload_call* const found = current();
    if (found == nullptr || found->candidate_ != &candidate) {
      return nullptr;
    }
    current() = nullptr;
    return found;
  }

  void begin() noexcept {
    for (entry* each = taken_.get(); each != nullptr; each = each->next.get()) {
      each->asked = false;
    }
  }

  /// Takes a tensor in, unless an earlier candidate had it already.
  template <class P>
  bool load(tensor_argument<P>& into, PyObject* object) noexcept {
    entry& found = entry_for(object);
    return into.load_shared(object, found.tensor, found.raised);
  }

  /// The candidate fits and is called: whatever it raises now is the call's own.
  void accept() noexcept { accepted_ = true; }

  /// The candidate does not fit. Leaves an exception pending, which only ends the candidate.
  DLBRIDGE_COLD void refuse(refusals&& why) noexcept {
    if (why.stop()) {
      accepted_ = true;
      why.set_error("");
      return;
    }
    note(why.text());
    if (!cause_) {
      cause_ = ref::borrow(why.cause());
    }
    refused_ = true;
    PyErr_SetNone(PyExc_TypeError);
  }

  /// Calls one candidate. A result, or null and done, or null and not done: the next may be tried.
  PyObject* try_candidate(PyObject* function, call_facts const& candidate, PyObject* const* args,
                          std::size_t count, PyObject* keywords, bool& done) noexcept {
    candidate_ = &candidate;
    refused_ = false;
    accepted_ = false;
    overload_call* const outer = std::exchange(current(), this);
    PyObject* const result = PyObject_Vectorcall(function, args, count, keywords);
    current() = outer;
    done =
        result != nullptr || accepted_ || (!refused_ && !PyErr_ExceptionMatches(PyExc_TypeError));
    if (done) {
      return result;
    }
    if (refused_) {
      PyErr_Clear();
    } else {  // their number, a keyword, or one that is no tensor; pybind11 does not say which
      PyErr_Clear();
      note(ref::steal(PyUnicode_FromString("the arguments are not those of this signature")));
    }
    return nullptr;
  }

  /// Sets the TypeError once every candidate has refused. lines: one for each, in order, each with
  /// a reason from here.
  DLBRIDGE_COLD void set_error(char const* name, PyObject* lines) noexcept {
    ref const nothing = ref::steal(PyUnicode_FromString(""));
    ref const text = ref::steal(PyUnicode_Join(nothing.get(), lines));
    if (text) {
      PyErr_Format(PyExc_TypeError, "%s(): no overload takes these arguments:%U", name, text.get());
    }
    refusals::chain(cause_.get());
  }
  /// Why candidate i, counted from 0, refused. Borrowed.
  PyObject* reason(Py_ssize_t i) const noexcept { return PyList_GetItem(reasons_.get(), i); }

 private:
  struct entry {
    PyObject* object = nullptr;
    bool asked = false;  // by the candidate that is tried now
    intake tensor;
    ref raised;
    std::unique_ptr<entry> next;
  };

  // An object that is given twice is taken in twice: it may be moved out twice.
  entry& entry_for(PyObject* object) noexcept {
    for (entry* each = taken_.get(); each != nullptr; each = each->next.get()) {
      if (each->object == object && !each->asked) {
        each->asked = true;
        return *each;
      }
    }
    auto fresh = std::make_unique<entry>();
    fresh->object = object;
    fresh->asked = true;
    if (!fresh->tensor.take_in(object, intake_mode::own)) {
      fresh->raised = take_exception();
    }
    fresh->next = std::move(taken_);
    taken_ = std::move(fresh);
    return *taken_;
  }

  DLBRIDGE_LOCAL static overload_call*& current() noexcept {
    thread_local overload_call* call = nullptr;
    return call;
  }

  void note(ref reason) noexcept {
    if (reason && reasons_) {
      static_cast<void>(PyList_Append(reasons_.get(), reason.get()));
    }
  }

  call_facts const* candidate_ = nullptr;
  bool refused_ = false;
  bool accepted_ = false;
  std::unique_ptr<entry> taken_;
  ref reasons_;
  ref cause_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
