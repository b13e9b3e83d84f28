// overload_set: calls the first of several C++ functions of one name that accepts the arguments,
// and imports each tensor once for all of them.
// layer: call · from one Python function to its C++ signatures
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>

// Linked lists and Python strings keep the compile time of this header low, which every extension
// includes. The code that uses them runs once for each function or when a call is refused.
namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The properties of one C++ function that def bound. Its Python function refers to the record, and
/// both exist until the process ends.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
struct function_record {
  explicit function_record(char const* function_name) : name(function_name) {}
  function_record(function_record const&) = delete;
  function_record& operator=(function_record const&) = delete;

  std::string name;
  ref parameter_names = ref::steal(api<PyList_New>(0));  // bytes; without the self of a method
  std::optional<library> result_library;                 // as `returns` names it
  bool is_overloaded = false;
  PyObject* function = nullptr;  // the Python function; set by insert_function
  function_record* previous = nullptr;

  /// @param next the name of the next parameter, or null
  /// @return false, with MemoryError set, without memory.
  bool add_parameter(char const* next) noexcept {
    ref const text = ref::steal(api<PyBytes_FromString>(next != nullptr ? next : ""));
    return parameter_names && text && api<PyList_Append>(parameter_names.get(), text.get()) == 0;
  }

  /// @return the name of parameter i of count parameters, or null
  char const* parameter_name(std::size_t i, std::size_t count) const noexcept {
    auto const name_count = static_cast<std::size_t>(PyList_GET_SIZE(parameter_names.get()));
    if (name_count > count || i < count - name_count) {
      return nullptr;
    }
    auto const at = static_cast<Py_ssize_t>(i + name_count - count);
    char const* const text = PyBytes_AS_STRING(PyList_GET_ITEM(parameter_names.get(), at));
    return *text != '\0' ? text : nullptr;
  }
};

/// The state of one call of an overload set: the tensors that are imported, and the reasons of the
/// candidates that refused. A local variable of that call.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class overload_call {
 public:
  overload_call() noexcept : reasons_(ref::steal(api<PyList_New>(0))) {}

  /// @return false, with MemoryError set, when the call cannot begin.
  explicit operator bool() const noexcept { return static_cast<bool>(reasons_); }

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

  /// Makes every imported tensor available to the next candidate.
  void begin() noexcept {
    for (entry* each = imports_.get(); each != nullptr; each = each->next.get()) {
      each->in_use = false;
    }
  }

  /// Loads an argument from an object, whose tensor is imported unless an earlier candidate
  /// imported it already.
  template <class P>
  bool load(tensor_argument<P>& argument, PyObject* object) noexcept {
    entry* const source = entry_for(object);
    if (source == nullptr) {
      api<PyErr_NoMemory>();
      argument.refuse(object, take_exception());
      return false;
    }
    return argument.load_shared(object, source->tensor, source->exception);
  }

  /// The candidate accepts the arguments. An exception that it raises afterwards ends the call.
  void accept() noexcept { accepted_ = true; }

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

  /// Calls one candidate.
  /// @param done receives whether the call has ended, by a result or by an exception that is set;
  /// otherwise the caller tries the next candidate
  /// @return the result, or null
  PyObject* try_candidate(PyObject* function, function_record const& candidate,
                          PyObject* const* args, std::size_t count, PyObject* keywords,
                          bool& done) noexcept {
    candidate_ = &candidate;
    refused_ = false;
    accepted_ = false;
    overload_call* const outer = std::exchange(current(), this);
    PyObject* const result = api<PyObject_Vectorcall>(function, args, count, keywords);
    current() = outer;
    done =
        result != nullptr || accepted_ || (!refused_ && !PyErr_ExceptionMatches(PyExc_TypeError));
    if (done) {
      return result;
    }
    api<PyErr_Clear>();
    if (!refused_) {  // pybind11 refused another argument, a keyword or the number of arguments
      done = !add_reason(
          ref::steal(api<PyUnicode_FromString>("the arguments are not those of this signature")));
    }
    return nullptr;
  }

  /// Sets the TypeError of a call that every candidate refused.
  /// @param name the name of the function
  /// @param lines a list with the signature and the reason of each candidate
  DLBRIDGE_COLD void set_error(char const* name, PyObject* lines) noexcept {
    ref const separator = ref::steal(api<PyUnicode_FromString>(""));
    ref const text = separator ? ref::steal(api<PyUnicode_Join>(separator.get(), lines)) : ref();
    if (text) {
      api<PyErr_Format>(PyExc_TypeError, "%s(): no overload takes these arguments:%U", name,
                        text.get());
    }
    refusals::chain(cause_.get());
  }
  /// @return why candidate i, counted from 0, refused; borrowed
  PyObject* reason(Py_ssize_t i) const noexcept { return api<PyList_GetItem>(reasons_.get(), i); }

 private:
  struct entry {
    PyObject* object = nullptr;
    bool in_use = false;  // by an argument of the current candidate
    imported_tensor tensor;
    ref exception;  // that the import raised, or none
    std::unique_ptr<entry> next;
  };

  // Imports an object twice if it is passed as two arguments, as each may move its tensor out.
  // Returns null without memory for the entry.
  entry* entry_for(PyObject* object) noexcept {
    for (entry* each = imports_.get(); each != nullptr; each = each->next.get()) {
      if (each->object == object && !each->in_use) {
        each->in_use = true;
        return each;
      }
    }
    std::unique_ptr<entry> fresh(new (std::nothrow) entry);
    if (!fresh) {
      return nullptr;
    }
    fresh->object = object;
    fresh->in_use = true;
    if (!fresh->tensor.import_object(object, import_mode::own,
                                     device_filter{device_filter::anywhere})) {
      fresh->exception = take_exception();
    }
    fresh->next = std::move(imports_);
    imports_ = std::move(fresh);
    return imports_.get();
  }

  DLBRIDGE_LOCAL static overload_call*& current() noexcept {
    thread_local overload_call* call = nullptr;
    return call;
  }

  // Returns false, with an exception set, when the reason cannot be kept.
  bool add_reason(ref reason) noexcept {
    return reason && api<PyList_Append>(reasons_.get(), reason.get()) == 0;
  }

  function_record const* candidate_ = nullptr;
  bool refused_ = false;
  bool accepted_ = false;
  std::unique_ptr<entry> imports_;
  ref reasons_;
  ref cause_;
};

/// A Python function that calls the first of its candidates that accepts the arguments. The capsule
/// that is the function's self owns the set.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class overload_set {
 public:
  /// @return the set of a Python function that make() returned; null for every other function
  DLBRIDGE_LOCAL static overload_set* of(PyObject* function) noexcept {
    if (!PyCFunction_Check(function) || PyCFunction_GetFunction(function) != entry_point()) {
      return nullptr;
    }
    return static_cast<overload_set*>(
        api<PyCapsule_GetPointer>(PyCFunction_GetSelf(function), capsule_name()));
  }

  /// @return a Python function without candidates, or an empty ref with a Python exception set
  DLBRIDGE_COLD static ref make(char const* name, PyObject* module_name) {
    auto* const set = new overload_set;
    ref const self = ref::steal(api<PyCapsule_New>(set, capsule_name(), &destroy));
    if (!self) {
      delete set;
      return ref();
    }
    set->name_ = name;
    set->definition_ = {set->name_.c_str(), entry_point(), METH_FASTCALL | METH_KEYWORDS, nullptr};
    return ref::steal(api<PyCFunction_NewEx>(&set->definition_, self.get(), module_name));
  }

  /// Adds a candidate. A call tries the candidates in the order in which they were added.
  /// @param function the candidate's Python function
  /// @param record its record
  /// @return false with a Python exception set on failure
  DLBRIDGE_COLD bool add(ref function, function_record& record) {
    auto last = std::make_unique<candidate>();
    ref doc = ref::steal(api<PyObject_GetAttrString>(function.get(), "__doc__"));
    if (doc && !PyUnicode_Check(doc.get())) {
      doc = ref::steal(api<PyUnicode_FromFormat>("%s(...)", name_.c_str()));
    }
    char const* const text = doc ? api<PyUnicode_AsUTF8>(doc.get()) : nullptr;
    if (text == nullptr) {
      return false;
    }
    last->signature = ref::steal(
        api<PyUnicode_FromStringAndSize>(text, static_cast<Py_ssize_t>(std::strcspn(text, "\n"))));
    if (!last->signature) {
      return false;
    }
    ref all = ref::steal(
        doc_ ? api<PyUnicode_FromFormat>("%U\n\n%d. %s", doc_.get(), count_ + 1, text)
             : api<PyUnicode_FromFormat>("%s(*args, **kwargs)\nOverloaded function.\n\n%d. %s",
                                         name_.c_str(), count_ + 1, text));
    char const* const all_text = all ? api<PyUnicode_AsUTF8>(all.get()) : nullptr;
    if (all_text == nullptr) {
      return false;
    }
    ++count_;
    doc_ = std::move(all);
    definition_.ml_doc = all_text;
    record.is_overloaded = true;
    last->function = std::move(function);
    last->record = &record;
    std::unique_ptr<candidate>* end = &first_;
    while (*end) {
      end = &(*end)->next;
    }
    *end = std::move(last);
    return true;
  }

 private:
  struct candidate {
    ref function;
    function_record const* record = nullptr;
    ref signature;  // the first line of the docstring
    std::unique_ptr<candidate> next;
  };

  static char const* capsule_name() noexcept { return "dlbridge.overloads"; }
  static PyCFunction entry_point() noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&overload_set::call));
  }
  DLBRIDGE_COLD static void destroy(PyObject* capsule) noexcept {
    delete static_cast<overload_set*>(api<PyCapsule_GetPointer>(capsule, capsule_name()));
  }

  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) noexcept {
    auto const& set = *static_cast<overload_set*>(api<PyCapsule_GetPointer>(self, capsule_name()));
    PyObject* result = nullptr;
    overload_call state;
    if (!state) {
      return nullptr;
    }
    for (candidate const* each = set.first_.get(); each != nullptr; each = each->next.get()) {
      bool done = false;
      result = state.try_candidate(each->function.get(), *each->record, args,
                                   static_cast<std::size_t>(count), keywords, done);
      if (done) {
        return result;
      }
    }
    set.set_error(state);
    return nullptr;
  }

  DLBRIDGE_COLD void set_error(overload_call& state) const noexcept {
    ref const lines = ref::steal(api<PyList_New>(0));
    if (!lines) {
      return;
    }
    Py_ssize_t i = 0;
    for (candidate const* each = first_.get(); each != nullptr; each = each->next.get()) {
      ref const line = ref::steal(api<PyUnicode_FromFormat>(
          "\n%zd. %U\n  %S", i + 1, each->signature.get(), state.reason(i)));
      if (!line || api<PyList_Append>(lines.get(), line.get()) != 0) {
        return;
      }
      ++i;
    }
    state.set_error(name_.c_str(), lines.get());
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
