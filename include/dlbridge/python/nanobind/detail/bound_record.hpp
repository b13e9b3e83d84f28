// bound_record: the parameters of one function that def bound and nanobind's scope of it; the list
// of all records, in which a refused call finds the functions of its name.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// An argument of a refused call, and what its parameter states.
struct refused_argument {
  PyObject* object;
  char const* name;
  int position;
  PyObject* expected;  // the annotation of the parameter
  bool converts;       // false with nb::arg("name").noconvert()
};
// Adds the reason of an argument, if its parameter does not accept it.
using argument_check = void (*)(refusals&, overload_call& imports, refused_argument const&);

struct parameter_facts {
  bool has_default = false;
  bool accepts_none = false;
  bool is_tensor = false;
  bool converts = true;
  argument_check check = nullptr;  // null for nb::args, nb::kwargs and the self of a constructor
};

/// One function that def bound. The Python function owns it.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
struct bound_record : function_record {
  bound_record(char const* function_name, PyObject* in, bool of_class)
      : function_record(function_name), scope(ref::steal(api<PyWeakref_NewRef>(in, nullptr))) {
    is_method = of_class;
    std::lock_guard<std::mutex> const guard(access());
    older = std::exchange(newest(), this);
  }
  bound_record(bound_record const&) = delete;
  bound_record& operator=(bound_record const&) = delete;
  ~bound_record() {
    std::lock_guard<std::mutex> const guard(access());
    bound_record** link = &newest();
    while (*link != this) {
      link = &(*link)->older;
    }
    *link = older;
  }

  /// @return the record of the last overload that def added to a Python function, or null
  static bound_record const* find(PyObject* python_function) noexcept {
    return first([&](bound_record const& each) { return each.function == python_function; });
  }
  /// @return the record of overload i of the Python function, or null
  bound_record const* candidate(Py_ssize_t i) const noexcept {
    return first([&](bound_record const& each) { return is_candidate(each) && each.index == i; });
  }
  /// Sets the Python function, of this record and of the overloads that were added before.
  void set_function(PyObject* python_function) noexcept {
    std::lock_guard<std::mutex> const guard(access());
    for (bound_record* each = newest(); each != nullptr; each = each->older) {
      if (is_candidate(*each)) {
        each->function = python_function;
      }
    }
    function = python_function;
  }

  // A weak reference to the module or class, which a function may outlive; one object for each
  // scope. Null, with an exception set, if it cannot be created.
  ref scope;
  std::string attribute{};     // the name of the Python function there; empty for an accessor
  bool is_operator = false;    // a refusal is NotImplemented
  Py_ssize_t index = 0;        // among the overloads of the Python function
  std::size_t positional = 0;  // the number of parameters that positional arguments fill
  bool has_args = false;       // nb::args is the parameter after the positional ones
  bool has_kwargs = false;     // nb::kwargs is the last parameter
  std::unique_ptr<parameter_facts[]> parameters{};

 private:
  // Locks the list of all records. Without the GIL, a module may be imported, and a function
  // deleted, while another thread looks for a record.
  DLBRIDGE_LOCAL static std::mutex& access() noexcept {
    static std::mutex mutex;
    return mutex;
  }
  DLBRIDGE_LOCAL static bound_record*& newest() noexcept {
    static bound_record* record = nullptr;
    return record;
  }
  template <class Test>
  static bound_record const* first(Test test) noexcept {
    std::lock_guard<std::mutex> const guard(access());
    bound_record const* each = newest();
    while (each != nullptr && !test(*each)) {
      each = each->older;
    }
    return each;
  }
  bool is_candidate(bound_record const& other) const noexcept {
    return scope.get() == other.scope.get() && !attribute.empty() && attribute == other.attribute;
  }

  bound_record* older = nullptr;
};

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
