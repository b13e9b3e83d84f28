// function_record: the name, the parameters, the result library and the flags of one C++ function
// that def bound.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/returns.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
class active_call;
class refusals;

/// Which arguments a parameter takes: one, or all further ones by position or by keyword.
enum class parameter_kind : unsigned char { one, args, kwargs };

/// One parameter of a C++ function.
struct parameter_record {
  parameter_kind kind = parameter_kind::one;
  bool refuses_none = false;  ///< a tensor or a container of tensors, which is never None
  bool has_default = false;
  std::string name{};  ///< empty if it has none
};

/// The properties of one C++ function that def or def_fast bound. Its Python function owns them.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
struct function_record {
  /// @param function_name the name in messages
  explicit function_record(char const* function_name) : name(function_name) {}
  function_record(function_record const&) = delete;
  function_record& operator=(function_record const&) = delete;
  virtual ~function_record() = default;

  std::string name;
  result_choice results{};  // its extras `returns` and `narrow`
  std::unique_ptr<parameter_record[]> parameters{};
  std::size_t parameter_count = 0;
  std::size_t positional = 0;       // the number of parameters that positional arguments fill
  std::size_t positional_only = 0;  // the number of those that keywords do not
  bool takes_args = false;
  bool takes_kwargs = false;
  bool is_method = false;    // the first parameter is the object
  bool is_operator = false;  // a refusal is NotImplemented

  /// Adds the reasons why the function refuses the arguments of a call.
  void (*explain)(function_record const& self, active_call& call, refusals& reasons) = nullptr;

  function_record* older = nullptr;  // in a record_list

  /// Makes room for the parameters.
  void set_parameter_count(std::size_t count);

  /// @return the name of parameter i in messages, or null
  char const* name_of(std::size_t i) const noexcept;
  /// @return the position of parameter i in messages, in which the object of a method has none
  int position(std::size_t i) const noexcept { return static_cast<int>(i) + (is_method ? 0 : 1); }

  /// Writes what the extras of def say of the next parameter.
  /// @param i the parameter
  /// @param states_none whether they say that the argument may be None
  /// @throws python_error that owns a TypeError for a parameter that refuses None
  void describe_parameter(std::size_t i, char const* parameter, bool has_default, bool states_none);
};

/// The records of the functions that one binding library calls, in which a refused call finds those
/// of its overloads. Without the GIL, a module may be imported, and a function deleted, while
/// another thread looks for a record.
class record_list {
 public:
  void add(function_record& record);
  /// Removes a record, if it was added.
  void remove(function_record const& record);
  /// @return the newest record that passes a test, or null
  template <class Test>
  function_record* find(Test test);

 private:
  std::mutex access_{};
  function_record* newest_ = nullptr;
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/function_record.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/function_record.ipp>
#endif
