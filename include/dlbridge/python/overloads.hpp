// Overloads of one name: the candidates are tried in order, each tensor is imported once for all of
// them, and a refusal lists the reasons of every one.
// floor 16 · IN: when a function has several signatures
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dlbridge/python/error.hpp>
#include <dlbridge/python/intake.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/origin.hpp>
#include <dlbridge/python/parameter.hpp>
#include <dlbridge/python/refusals.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What one C++ function knows of how Python calls it.
struct call_facts {
  std::string name;
  std::vector<std::string> parameters;  // those that were named; a method's self is not
  std::optional<library> home;
  bool overloaded = false;

  /// The name of parameter i of count, or null.
  char const* parameter(std::size_t i, std::size_t count) const noexcept {
    std::size_t const unnamed = count - parameters.size();
    return parameters.size() > count || i < unnamed || parameters[i - unnamed].empty()
               ? nullptr
               : parameters[i - unnamed].c_str();
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

  void begin() noexcept { used_ = 0; }

  /// Takes a tensor in, unless an earlier candidate had it already.
  template <class P>
  bool load(tensor_argument<P>& into, PyObject* object) noexcept {
    int nth = 0;
    for (std::size_t i = 0; i < used_; ++i) {
      nth += order_[i] == object ? 1 : 0;
    }
    order_.resize(used_);
    order_.push_back(object);
    ++used_;
    for (auto const& each : taken_) {
      if (each->object == object && nth-- == 0) {
        return into.load_shared(object, each->tensor, each->raised);
      }
    }
    taken_.push_back(std::make_unique<entry>());
    entry& fresh = *taken_.back();
    fresh.object = object;
    if (!fresh.tensor.take_in(object, intake_mode::own)) {
      fresh.raised = take_exception();
    }
    return into.load_shared(object, fresh.tensor, fresh.raised);
  }

  /// The candidate fits and is called: whatever it raises now is the call's own.
  void accept() noexcept { accepted_ = true; }

  /// The candidate does not fit. Leaves an exception pending, which only ends the candidate.
  void refuse(refusals&& why) noexcept {
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

  /// Sets the TypeError once every candidate has refused. signatures: one for each, in order.
  void set_error(char const* name, std::vector<std::string> const& signatures) noexcept {
    ref const lines = ref::steal(PyList_New(0));
    for (std::size_t i = 0; lines && i < signatures.size(); ++i) {
      PyObject* const reason = PyList_GetItem(reasons_.get(), static_cast<Py_ssize_t>(i));
      ref const line =
          ref::steal(PyUnicode_FromFormat("\n%zu. %s\n  %S", i + 1, signatures[i].c_str(), reason));
      static_cast<void>(!line || PyList_Append(lines.get(), line.get()) != 0);
    }
    ref const nothing = ref::steal(PyUnicode_FromString(""));
    ref const text = ref::steal(PyUnicode_Join(nothing.get(), lines.get()));
    if (text) {
      PyErr_Format(PyExc_TypeError, "%s(): no overload takes these arguments:%U", name, text.get());
    }
    refusals::chain(cause_.get());
  }

 private:
  struct entry {
    PyObject* object = nullptr;
    intake tensor;
    ref raised;
  };

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
  std::size_t used_ = 0;          // tensors that the candidate has asked for
  std::vector<PyObject*> order_;  // and in which order
  std::vector<std::unique_ptr<entry>> taken_;
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
  static ref make(char const* name, PyObject* module_name) {
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

  /// Adds one, tried after those before it.
  void add(ref function, std::shared_ptr<call_facts> facts) {
    facts->overloaded = true;
    ref const doc = ref::steal(PyObject_GetAttrString(function.get(), "__doc__"));
    char const* const text =
        doc && PyUnicode_Check(doc.get()) ? PyUnicode_AsUTF8(doc.get()) : nullptr;
    PyErr_Clear();
    std::string const all = text != nullptr ? text : name_ + "(...)";
    signatures_.push_back(all.substr(0, all.find('\n')));
    doc_ += (doc_.empty() ? name_ + "(*args, **kwargs)\nOverloaded function." : std::string()) +
            "\n\n" + std::to_string(signatures_.size()) + ". " + all;
    definition_.ml_doc = doc_.c_str();
    candidates_.push_back({std::move(function), std::move(facts)});
  }

 private:
  struct candidate {
    ref function;
    std::shared_ptr<call_facts> facts;
  };

  static char const* capsule_name() noexcept { return "dlbridge.overloads"; }
  static PyCFunction entry_point() noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&overload_set::call));
  }
  static void destroy(PyObject* capsule) noexcept {
    delete static_cast<overload_set*>(PyCapsule_GetPointer(capsule, capsule_name()));
  }

  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) noexcept {
    auto const& set = *static_cast<overload_set*>(PyCapsule_GetPointer(self, capsule_name()));
    PyObject* result = nullptr;
    guarded([&] {
      overload_call one;
      bool done = false;
      for (std::size_t i = 0; i < set.candidates_.size() && !done; ++i) {
        candidate const& each = set.candidates_[i];
        result = one.try_candidate(each.function.get(), *each.facts, args,
                                   static_cast<std::size_t>(count), keywords, done);
      }
      if (!done) {
        one.set_error(set.name_.c_str(), set.signatures_);
      }
    });
    return result;
  }

  std::string name_;
  std::string doc_;
  std::vector<std::string> signatures_;
  std::vector<candidate> candidates_;
  PyMethodDef definition_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
