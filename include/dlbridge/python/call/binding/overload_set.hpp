// overload_set: the Python function that calls the first of several C++ functions of one name that
// accepts the arguments.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/function_state.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// A Python function that calls the first of its candidates that accepts the arguments.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class overload_set : public function_state {
 public:
  /// @return the set of a Python function that make() returned; null for every other function
  DLBRIDGE_LOCAL static overload_set* of(PyObject* function) noexcept {
    return PyCFunction_Check(function) && PyCFunction_GetFunction(function) == entry_point()
               ? &in(PyCFunction_GetSelf(function))
               : nullptr;
  }

  /// @param name the name of the Python function
  /// @param display_name the name in messages: of a constructor that of its class
  /// @param module_name the `__module__` of the function, a str
  /// @param is_in_class whether the function is an attribute of a class, which no pickle can name
  /// @return a Python function without candidates, or an empty ref with a Python exception set
  DLBRIDGE_COLD static ref make(char const* name, char const* display_name, PyObject* module_name,
                                bool is_in_class) {
    auto owner = std::make_unique<overload_set>();
    overload_set& set = *owner;
    set.name_ = name;
    set.display_name_ = display_name;
    set.definition_ = {set.name_.c_str(), entry_point(), METH_FASTCALL | METH_KEYWORDS, nullptr};
    ref const self = function_state::make(std::move(owner), is_in_class ? nullptr : module_name);
    return self ? ref::steal(api<PyCFunction_NewEx>(&set.definition_, self.get(), module_name))
                : ref();
  }

  /// Adds a candidate. A call tries the candidates in the order in which they were added.
  /// @param function the candidate's Python function
  /// @param record its record
  /// @param texts a list of its signature and of those that the binding library itself added, each
  /// a str in which the docstring follows the first line; or none with a Python exception set
  /// @return false with a Python exception set on failure
  DLBRIDGE_COLD bool add(ref function, function_record& record, ref texts) {
    if (!texts || !add_to_doc(texts.get())) {
      return false;
    }
    auto last = std::make_unique<candidate>();
    record.is_overloaded = true;
    last->function = std::move(function);
    last->record = &record;
    last->texts = std::move(texts);
    std::unique_ptr<candidate>* end = &first_;
    while (*end) {
      end = &(*end)->next;
    }
    *end = std::move(last);
    return true;
  }

 private:
  struct candidate {
    candidate() noexcept = default;
    candidate(candidate const&) = delete;
    candidate& operator=(candidate const&) = delete;
    DLBRIDGE_COLD ~candidate() {}  // out of line, as that of overload_call::entry

    ref function{};
    function_record const* record = nullptr;
    ref texts{};  // as of add
    std::unique_ptr<candidate> next{};
  };

  static overload_set& in(PyObject* self) noexcept {
    return *static_cast<overload_set*>(function_state::of(self));
  }
  static PyCFunction entry_point() noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&overload_set::call));
  }

  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) noexcept {
    auto const& set = in(self);
    PyObject* result = nullptr;
    overload_call state(set.name_.c_str());
    if (!state) {
      return nullptr;
    }
    auto const size = static_cast<std::size_t>(count);
    // As in pybind11, candidates for which an argument is converted are tried last; but none for
    // which a float would be truncated.
    bool left_out = false;
    for (bool const converts : {false, true}) {
      Py_ssize_t i = 0;
      for (candidate const* each = set.first_.get(); each != nullptr; each = each->next.get()) {
        bool done = false;
        conversion const needed = each->record->find_conversion(args, size, keywords);
        if (needed != conversion::none && PyErr_Occurred() != nullptr) {
          return nullptr;
        }
        bool const is_tried = needed == (converts ? conversion::other : conversion::none);
        if (is_tried && each->record->may_accept(state, args, size)) {
          result = state.try_candidate(i, each->function.get(), *each->record, args, size, keywords,
                                       done);
        } else if (is_tried || !converts) {
          left_out = left_out || needed == conversion::other;
          done = !state.leave_out(i);
        }
        if (done) {
          return result;
        }
        ++i;
      }
      if (!left_out) {
        break;
      }
    }
    if (state.is_operator()) {
      return ref::borrow(Py_NotImplemented).release();
    }
    set.set_error(state, args, static_cast<std::size_t>(count), keywords);
    return nullptr;
  }

  // False with a Python exception set on failure.
  DLBRIDGE_COLD bool add_to_doc(PyObject* texts) noexcept {
    ref all = doc_ ? ref::borrow(doc_.get())
                   : ref::steal(api<PyUnicode_FromFormat>(
                         "%s(*args, **kwargs)\nOverloaded function.", name_.c_str()));
    int number = count_;
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(texts); ++i) {
      all = ref::steal(api<PyUnicode_FromFormat>("%U\n\n%d. %U", all.get(), ++number,
                                                 PyList_GET_ITEM(texts, i)));
    }
    char const* const text = all ? api<PyUnicode_AsUTF8>(all.get()) : nullptr;
    if (text == nullptr) {
      return false;
    }
    count_ = number;
    doc_ = std::move(all);
    definition_.ml_doc = text;
    return true;
  }

  // The first line of a text; empty with an exception set on failure.
  DLBRIDGE_COLD static ref first_line(PyObject* text) noexcept {
    char const* const characters = api<PyUnicode_AsUTF8>(text);
    return characters != nullptr
               ? ref::steal(api<PyUnicode_FromStringAndSize>(
                     characters, static_cast<Py_ssize_t>(std::strcspn(characters, "\n"))))
               : ref();
  }

  DLBRIDGE_COLD void set_error(overload_call& state, PyObject* const* args, std::size_t count,
                               PyObject* keywords) const noexcept {
    ref const lines = ref::steal(api<PyList_New>(0));
    if (!lines) {
      return;
    }
    Py_ssize_t i = 0;
    for (candidate const* each = first_.get(); each != nullptr; each = each->next.get()) {
      ref reason = state.explain(i++, *each->record, args, count, keywords);
      if (!reason) {
        return;
      }
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(each->texts.get()); ++k) {
        if (k != 0) {  // the binding library states none for the signatures that it added
          reason = ref::steal(api<PyUnicode_FromString>(overload_call::no_reason()));
        }
        if (!overload_call::add_line(lines.get(), first_line(PyList_GET_ITEM(each->texts.get(), k)),
                                     reason)) {
          return;
        }
      }
    }
    state.set_error(display_name_.c_str(), lines.get());
  }

  std::string name_{};
  std::string display_name_{};
  ref doc_{};
  int count_ = 0;
  std::unique_ptr<candidate> first_{};
  PyMethodDef definition_{};
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
