// overload_set: the Python function behind several C++ functions of one name. A call tries them in
// order, imports each tensor once for all of them, and reports the reason of every one that
// refused.
// layer: call · when a function has several signatures
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>

// Lists are linked and texts are Python objects here: every extension compiles this header, and the
// code runs once for each function, or where a call is refused.
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
    imported_tensor tensor;
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
    if (!fresh->tensor.take_in(object, import_mode::own)) {
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

/// The Python function behind a name with several candidates.
/// thread and GIL: held.
class overload_set {
 public:
  /// The set that a function of make's was made for, or null.
  DLBRIDGE_LOCAL static overload_set* of(PyObject* function) noexcept {
    if (!PyCFunction_Check(function) || PyCFunction_GetFunction(function) != entry_point()) {
      return nullptr;
    }
    return static_cast<overload_set*>(
        PyCapsule_GetPointer(PyCFunction_GetSelf(function), capsule_name()));
  }

  /// A function without candidates yet. fails: none, with a Python exception set.
  DLBRIDGE_COLD static ref make(char const* name, PyObject* module_name) {
    auto* const made = new overload_set;
    ref const self = ref::steal(PyCapsule_New(made, capsule_name(), &destroy));
    if (!self) {
      delete made;
      return ref();
    }
    made->name_ = name;
    made->definition_ = {made->name_.c_str(), entry_point(), METH_FASTCALL | METH_KEYWORDS,
                         nullptr};
    return ref::steal(PyCFunction_NewEx(&made->definition_, self.get(), module_name));
  }

  /// Adds one, tried after those before it. False with a Python exception set.
  DLBRIDGE_COLD bool add(ref function, call_facts& facts) {
    auto added = std::make_unique<candidate>();
    ref const doc = ref::steal(PyObject_GetAttrString(function.get(), "__doc__"));
    char const* text = doc && PyUnicode_Check(doc.get()) ? PyUnicode_AsUTF8(doc.get()) : nullptr;
    PyErr_Clear();
    ref const plain = ref::steal(PyUnicode_FromFormat("%s(...)", name_.c_str()));
    if (text == nullptr) {
      text = plain ? PyUnicode_AsUTF8(plain.get()) : "";
    }
    added->signature = ref::steal(
        PyUnicode_FromStringAndSize(text, static_cast<Py_ssize_t>(std::strcspn(text, "\n"))));
    doc_ = ref::steal(
        doc_ ? PyUnicode_FromFormat("%U\n\n%d. %s", doc_.get(), ++count_, text)
             : PyUnicode_FromFormat("%s(*args, **kwargs)\nOverloaded function.\n\n%d. %s",
                                    name_.c_str(), ++count_, text));
    definition_.ml_doc = doc_ ? PyUnicode_AsUTF8(doc_.get()) : nullptr;
    if (!added->signature || definition_.ml_doc == nullptr) {
      return false;
    }
    facts.overloaded = true;
    added->function = std::move(function);
    added->facts = &facts;
    std::unique_ptr<candidate>* last = &first_;
    while (*last) {
      last = &(*last)->next;
    }
    *last = std::move(added);
    return true;
  }

 private:
  struct candidate {
    ref function;
    call_facts const* facts = nullptr;
    ref signature;
    std::unique_ptr<candidate> next;
  };

  static char const* capsule_name() noexcept { return "dlbridge.overloads"; }
  static PyCFunction entry_point() noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&overload_set::call));
  }
  DLBRIDGE_COLD static void destroy(PyObject* capsule) noexcept {
    delete static_cast<overload_set*>(PyCapsule_GetPointer(capsule, capsule_name()));
  }

  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) noexcept {
    auto const& set = *static_cast<overload_set*>(PyCapsule_GetPointer(self, capsule_name()));
    PyObject* result = nullptr;
    overload_call one;
    for (candidate const* each = set.first_.get(); each != nullptr; each = each->next.get()) {
      bool done = false;
      result = one.try_candidate(each->function.get(), *each->facts, args,
                                 static_cast<std::size_t>(count), keywords, done);
      if (done) {
        return result;
      }
    }
    set.refuse(one);
    return nullptr;
  }

  DLBRIDGE_COLD void refuse(overload_call& one) const noexcept {
    ref const lines = ref::steal(PyList_New(0));
    Py_ssize_t i = 0;
    for (candidate const* each = first_.get(); lines && each != nullptr; each = each->next.get()) {
      ref const line = ref::steal(
          PyUnicode_FromFormat("\n%zd. %U\n  %S", i + 1, each->signature.get(), one.reason(i)));
      static_cast<void>(!line || PyList_Append(lines.get(), line.get()) != 0);
      ++i;
    }
    one.set_error(name_.c_str(), lines.get());
  }

  std::string name_;
  ref doc_;
  int count_ = 0;
  std::unique_ptr<candidate> first_;
  PyMethodDef definition_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
