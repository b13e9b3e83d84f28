// active_call: one call of a function that def bound, and what its overloads import once for all.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The arguments of a call, as Python passes them.
struct call_arguments {
  PyObject* const* values;  ///< those of the keywords follow the positional ones
  std::size_t count;        ///< of the positional arguments
  PyObject* keywords;       ///< a tuple of str, or null
};

/// One call of a function that def bound, while the binding library tries its overloads. A local
/// variable of the C function that Python calls, which calls the binding library in turn.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class active_call {
 public:
  /// The tensor of one argument, which the overloads share: __dlpack__ is called once, and a
  /// capsule is consumed once.
  struct shared_import {
    shared_import() noexcept = default;
    shared_import(shared_import const&) = delete;
    shared_import& operator=(shared_import const&) = delete;
    // Out of line: compilers would inline the destructor of the list into itself several times.
    DLBRIDGE_COLD ~shared_import();

    ref object{};
    imported_tensor tensor{};
    ref exception{};        // that the import raised, or none
    bool is_taken = false;  // by an argument of the overload that accepts the call
    std::unique_ptr<shared_import> next{};
  };

  /// @param arguments the arguments; values is null if they are not known
  /// @param has_overloads whether the binding library has a further function to try
  active_call(call_arguments const& arguments, bool has_overloads) noexcept
      : arguments_(arguments),
        has_overloads_(has_overloads),
        outer_(std::exchange(current(), this)) {}
  /// A call that another object owns, and that is current only while an argument is loaded.
  active_call() noexcept
      : arguments_{nullptr, 0, nullptr}, has_overloads_(true), is_scoped_(false) {}
  active_call(active_call const&) = delete;
  active_call& operator=(active_call const&) = delete;
  ~active_call() {
    if (is_scoped_) {
      current() = outer_;
    }
  }

  /// The call whose arguments the binding library is loading in this thread, or null.
  DLBRIDGE_LOCAL static active_call*& current() noexcept {
    thread_local active_call* call = nullptr;
    return call;
  }

  call_arguments const& arguments() const noexcept { return arguments_; }
  void set_arguments(call_arguments const& arguments) noexcept { arguments_ = arguments; }
  bool has_overloads() const noexcept { return has_overloads_; }

  /// Ends the search for an overload: one accepts the call, or raises why the call is refused.
  void decide() noexcept {
    is_decided_ = true;
    current() = nullptr;
  }
  bool is_decided() const noexcept { return is_decided_; }
  /// Continues the search after a function that accepted the call passed it on: its imports are
  /// spent.
  void resume() noexcept;

  /// Imports the tensor of an object in mode own, unless an earlier overload has.
  /// @return null without memory
  shared_import* find_or_import(PyObject* object) noexcept;

 private:
  call_arguments arguments_;
  bool has_overloads_;
  bool is_decided_ = false;
  bool is_scoped_ = true;
  active_call* outer_ = nullptr;
  std::unique_ptr<shared_import> imports_{};
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/active_call.ipp>
#endif
