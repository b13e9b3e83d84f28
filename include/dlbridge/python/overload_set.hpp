// overload_set: the Python function behind several candidates of one name, and how a function comes
// into its module or class.
// floor 17 · IN: when a function has several signatures
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/overloads.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

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

namespace detail {
// The functions that were made, the last one first, so that another of its name can join one. Not
// in the module, whose every attribute comes into its stubs.
DLBRIDGE_LOCAL inline call_facts*& made_functions() noexcept {
  static call_facts* last = nullptr;
  return last;
}
inline call_facts* find_made(PyObject* function) noexcept {
  call_facts* each = made_functions();
  while (each != nullptr && each->function != function) {
    each = each->earlier;
  }
  return each;
}

// What a module or class has under a name by itself, not by its bases; none when nothing.
inline ref own_attribute(PyObject* scope, char const* name) noexcept {
  ref const attributes = ref::steal(PyObject_GetAttrString(scope, "__dict__"));
  ref found = attributes ? ref::steal(PyMapping_GetItemString(attributes.get(), name)) : ref();
  PyErr_Clear();
  return found;
}

// The overload set of a name that a function made by def has so far; null with an exception set.
DLBRIDGE_COLD inline overload_set* make_set(PyObject* scope, char const* name, PyObject* present) {
  call_facts* const first = find_made(present);
  if (first == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "%s is there already, and was not made by dlbridge::def; an overload can only be "
                 "added to one that was",
                 name);
    return nullptr;
  }
  bool const is_method = PyType_Check(scope) != 0;
  ref const module_name =
      ref::steal(PyObject_GetAttrString(scope, is_method ? "__module__" : "__name__"));
  ref const made = module_name ? overload_set::make(name, module_name.get()) : ref();
  ref const placed = !made       ? ref()
                     : is_method ? ref::steal(PyInstanceMethod_New(made.get()))
                                 : ref::borrow(made.get());
  overload_set* const set = placed ? overload_set::of(made.get()) : nullptr;
  bool const done = set != nullptr && set->add(ref::borrow(first->function), *first) &&
                    PyObject_SetAttrString(scope, name, placed.get()) == 0;
  return done ? set : nullptr;
}
}  // namespace detail

/// Puts a function into its module or class: by itself, or as one more candidate of its name. It
/// and its facts are kept for the process. False with a Python exception set.
DLBRIDGE_COLD inline bool place(PyObject* scope, char const* name, ref function,
                                call_facts& facts) {
  ref const present = detail::own_attribute(scope, name);
  if (!present) {
    if (PyObject_SetAttrString(scope, name, function.get()) != 0) {
      return false;
    }
    facts.function = function.release();
    facts.earlier = std::exchange(detail::made_functions(), &facts);
    return true;
  }
  overload_set* set = overload_set::of(PyInstanceMethod_Check(present.get()) != 0
                                           ? PyInstanceMethod_Function(present.get())
                                           : present.get());
  set = set != nullptr ? set : detail::make_set(scope, name, present.get());
  return set != nullptr && set->add(std::move(function), facts);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
