// tensor_argument: one tensor argument of one call, which it imports, checks and passes to C++.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/tensor_argument_base.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Whether an argument was loaded, and whether Python code may have run meanwhile. The bitwise and
/// of the results of all arguments is the result of the call.
enum class load_result : unsigned {
  refused = 0,
  after_python = 1,
  fast = 3,
};

/// One tensor argument of one call. It imports the tensor of an object, checks it against
/// `parameter<P>`, and reports why the tensor does not meet the requirement.
/// @par Lifetime
/// The object, and the active call that shares the import, must outlive this tensor_argument.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
template <class P>
class tensor_argument : public tensor_argument_base {
  using traits = parameter<P>;

 public:
  tensor_argument() noexcept {}                           ///< Not loaded.
  tensor_argument(tensor_argument&&) noexcept = default;  ///< Moves the import.
  DLBRIDGE_INLINE ~tensor_argument() {}

  /// Imports and checks the tensor of an object.
  /// @param object the object
  /// @param how whether the tensor may be converted, if the parameter converts: binding libraries
  /// try several overloads without conversions first; and whether overloads share the import
  /// @return refused if the tensor does not fit. No exception is pending afterwards.
  DLBRIDGE_INLINE load_result load(PyObject* object, load_options how = {}) noexcept;

  /// Reads the object once more: borrows a lent tensor again, and compares an owned one. A caller
  /// does so when the import of a later argument may have run Python code, which may have changed
  /// the tensor, for example by `a.shape = ...`, or freed its memory.
  /// @pre load succeeded, and extract has not been called
  /// @return whether the tensor fits; if not, exception() states that it changed. No exception is
  /// pending afterwards.
  DLBRIDGE_INLINE bool confirm() noexcept {
    return is_none() || is_unchanged() || confirm_in(traits::mode, need);
  }

  /// As load, without the fast path, for a call that is refused.
  void load_to_explain(PyObject* object) noexcept {
    object_ = object;
    import_and_check({true, true});
  }

  /// Takes the tensor from the imports of a call. If another argument of the call has taken it, the
  /// object is imported once more: each may move its tensor out.
  /// @pre load succeeded
  /// @param runs_python is set if so
  /// @return whether the tensor fits; if not, exception() or reason() states why
  bool claim(bool& runs_python) noexcept;

  /// Returns the C++ parameter, and moves the tensor into it if P owns its tensor.
  /// @pre load succeeded; extract has not been called before
  P extract() noexcept;

  /// Whether the argument was loaded, and is a tensor.
  bool is_tensor() const noexcept { return object_ != nullptr && !is_none(); }

  /// The view of the tensor. @pre load succeeded, and is_tensor()
  tensor_view view() noexcept { return imported().view(); }

  /// What the parameter requires.
  DLBRIDGE_LOCAL static constexpr requirement need = traits::required();
  /// Whether the function writes to the memory of the object: through a span, also one whose tensor
  /// the argument owns. Writes to a copy would be lost.
  static constexpr bool writes_to_object = traits::borrows && traits::required().writable;
  /// Composes a refusal. Chosen by the type: only converting parameters compile explain_conversion.
  static constexpr explanation explain = [] {
    if constexpr (traits::required().converts) {
      return &dlbridge::detail::explain_conversion;
    } else if constexpr (writes_to_object) {
      return &detail::explain_span_to_write;
    } else {
      return &dlbridge::detail::explain_mismatch;
    }
  }();

 private:
  // need, without extents that accept every value. Compilers do not fold the fields of a static
  // object in time to compare several of them by one instruction.
  DLBRIDGE_INLINE static requirement checked() noexcept;

  bool is_none() const noexcept { return traits::optional && object_ == Py_None; }

  /// @return whether a tensor meets the requirement
  static bool accepts(tensor_view const& view) noexcept {
    return meets(view, checked()) && !(writes_to_object && view.is_copied());
  }

  DLBRIDGE_NOINLINE bool import_and_check(load_options how) noexcept;

  bool import_argument(bool shared) noexcept;
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/tensor_argument.inl>
