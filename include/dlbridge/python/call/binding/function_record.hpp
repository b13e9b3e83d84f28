// function_record: the name, the parameter names, the result library and the binding flags of one
// C++ function that def bound.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

class overload_call;
class refusals;

/// What the binding library would convert to accept an argument: nothing, a number that is no
/// integer to one, or something else.
enum class conversion : unsigned char { none, other, to_integer };

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
  returns results{};                                     // its extras `returns` and `narrow`
  bool is_overloaded = false;
  bool is_method = false;  // the first parameter is the object
  // Adds the reasons why the binding library refused a call before the C++ function could import
  // its arguments; or null. `call` is that of an overload set, or null.
  void (*add_reasons)(function_record const& self, overload_call* call, refusals& reasons,
                      PyObject* const* args, std::size_t count, PyObject* keywords) = nullptr;
  PyObject* function = nullptr;  // the Python function; borrowed
  // What the binding library would convert to take an object for a parameter, or null where it
  // takes objects only as they are; null if no parameter has a test. Not `none` with an exception
  // set for one that ends the call.
  using exact_test = conversion (*)(PyObject*);
  exact_test const* exact_tests = nullptr;
  // Whether the function may accept an object for a tensor parameter, or null where its call tells;
  // null if no parameter has a test.
  using tensor_test = bool (*)(overload_call&, PyObject*);
  tensor_test const* tensor_tests = nullptr;
  std::size_t positional_count = 0;  // of the parameters before *args, or of all
  std::size_t parameter_count = 0;
  function_record* older_inserted = nullptr;

  /// @param next the name of the next parameter, or null
  /// @return false, with MemoryError set, without memory.
  bool add_parameter(char const* next) noexcept {
    return parameter_names &&
           insert_parameter(static_cast<std::size_t>(PyList_GET_SIZE(parameter_names.get())), next);
  }
  /// The same for parameter i among those that have names.
  bool insert_parameter(std::size_t i, char const* text) noexcept {
    ref const own = ref::steal(api<PyBytes_FromString>(text != nullptr ? text : ""));
    return own &&
           api<PyList_Insert>(parameter_names.get(), static_cast<Py_ssize_t>(i), own.get()) == 0;
  }

  /// @param args the positional arguments, and then those of the keywords
  /// @param count the number of positional arguments
  /// @param keywords the names of the others, or null
  /// @return what the binding library would convert; not `none` with an exception set for one that
  /// ends the call
  conversion find_conversion(PyObject* const* args, std::size_t count,
                             PyObject* keywords) const noexcept {
    conversion result = conversion::none;
    if (exact_tests == nullptr) {
      return result;
    }
    auto const add = [&](std::size_t i, PyObject* object) {
      bool const has_test = i < parameter_count && exact_tests[i] != nullptr;
      if (has_test && (result == conversion::none || PyErr_Occurred() == nullptr)) {
        result = (std::max)(result, exact_tests[i](object));
      }
    };
    for (std::size_t i = 0; i < positional_count && i < count; ++i) {
      add(i, args[i]);
    }
    Py_ssize_t const keyword_count = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t k = 0; k < keyword_count; ++k) {
      add(find_parameter(PyTuple_GET_ITEM(keywords, k)), args[count + static_cast<std::size_t>(k)]);
    }
    return result;
  }

  /// @return false if a tensor among the positional arguments, which `call` imports, does not fit
  bool may_accept(overload_call& call, PyObject* const* args, std::size_t count) const noexcept {
    if (tensor_tests == nullptr || count > positional_count) {
      return true;
    }
    std::size_t i = 0;
    while (i < count && (tensor_tests[i] == nullptr || tensor_tests[i](call, args[i]))) {
      ++i;
    }
    return i == count;
  }

  /// @return the position of parameter i in messages, counted from 1. Methods do not count the
  /// object.
  int position(std::size_t i) const noexcept { return static_cast<int>(i) + (is_method ? 0 : 1); }
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

 private:
  // The parameter of a name; parameter_count if none has it, such as of those in **kwargs.
  std::size_t find_parameter(PyObject* key) const noexcept {
    std::size_t i = 0;
    while (i < parameter_count) {
      char const* const text = parameter_name(i, parameter_count);
      if (text != nullptr && detail::is_text(key, text)) {
        break;
      }
      ++i;
    }
    return i;
  }
};

namespace binding {
/// Sets the TypeError of a class whose method of this name is of the other kind: the binding
/// libraries call one of the two wrongly.
/// @param is_static whether the new method is static
DLBRIDGE_COLD inline void set_kind_mismatch(PyObject* bound, char const* name,
                                            bool is_static) noexcept {
  constexpr char const* kinds[] = {"a static", "an instance"};
  api<PyErr_Format>(PyExc_TypeError,
                    "%R has %s method %s already, so that %s cannot be %s method too", bound,
                    kinds[is_static ? 1 : 0], name, name, kinds[is_static ? 0 : 1]);
}
}  // namespace binding

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
