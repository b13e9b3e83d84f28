// tensor_argument: one tensor argument of one call, which it imports, checks and passes to C++.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/python/call/detail/untyped_argument.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Whether an argument was loaded, and whether Python code may have run meanwhile. The bitwise and
/// of the results of all arguments is the result of the call.
enum class load_result : unsigned {
  refused = 0,
  after_python = 1,
  fast = 3,
};

/// One tensor argument of one call. It imports the tensor of an object, checks it against
/// parameter<P>, and reports why the tensor does not meet the requirement.
/// @par Lifetime
/// The object, and a tensor passed to load_shared, must outlive this tensor_argument.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
template <class P>
class tensor_argument : public untyped_argument {
  using traits = parameter<P>;

 public:
  tensor_argument() noexcept {}  // user-provided, as that of the base
  tensor_argument(tensor_argument&&) noexcept = default;
  DLBRIDGE_INLINE ~tensor_argument() {}

  /// Imports and checks the tensor of an object.
  /// @return refused if the tensor does not fit. No exception is pending afterwards.
  DLBRIDGE_INLINE load_result load(PyObject* object) noexcept {
    object_ = object;
    if (traits::mode != import_mode::own && own_.try_borrow_fast(object, checked())) {
      return load_result::fast;
    }
    return !import_and_check()             ? load_result::refused
           : own_.is_read_directly(object) ? load_result::fast
                                           : load_result::after_python;
  }

  /// The same, once more after a refused call.
  DLBRIDGE_COLD bool load_again(PyObject* object) noexcept {
    object_ = object;
    return import_and_check();
  }

  /// @return whether a tensor meets the requirement
  static bool accepts(tensor_view const& view) noexcept {
    return meets(view, checked()) &&
           (traits::mode != import_mode::borrow_to_write || !view.is_copied());
  }

  /// The same without a conversion, also for a parameter that converts.
  load_result load_exactly(PyObject* object) noexcept {
    object_ = object;
    bool const fits = is_none() || (import_argument() && accepts(own_.view()));
    return fits ? load_result::after_python : load_result::refused;
  }

  /// Reads the object once more: borrows a lent tensor again, and compares an owned one. A caller
  /// does so when the import of a later argument may have run Python code, which may have changed
  /// the tensor, for example by `a.shape = ...`, or freed its memory.
  /// @pre load or load_shared succeeded, and extract has not been called
  /// @return whether the tensor fits; if not, exception() states that it changed. No exception is
  /// pending afterwards.
  DLBRIDGE_INLINE bool confirm() noexcept {
    return is_none() || is_unchanged() || confirm_in(traits::mode, need);
  }

  /// Checks a tensor that an earlier overload imported in mode own. A later overload may use the
  /// tensor after this one refused it.
  /// @param object the object
  /// @param tensor the imported tensor
  /// @param exception the exception that the import raised, or none
  /// @return whether the tensor fits
  bool load_shared(PyObject* object, imported_tensor& tensor, ref const& exception) noexcept {
    object_ = object;
    if constexpr (traits::takes_others) {
      if (traits::is_other(object)) {
        return import_and_check();
      }
    }
    shared_ = &tensor;
    exception_ = ref::borrow(exception.get());
    if constexpr (traits::required().converts) {
      if (!is_none() && !exception_ && !meets(tensor.view(), checked())) {
        return convert_from(tensor, need, &traits::convert);
      }
    }
    if (is_none()) {
      return true;
    }
    if constexpr (traits::takes_others) {
      this->name_others(traits::other_names.data);
    }
    return !exception_ && accepts(tensor.view()) && make_ready_in(tensor, need.where) &&
           (!need.writable || may_write_in());
  }

  /// Returns the C++ parameter, and moves the tensor into it if P owns its tensor.
  /// @pre load or load_shared returned true; extract has not been called before
  P extract() noexcept {
    if constexpr (traits::optional) {
      return object_ == Py_None ? P() : P(traits::make(imported(), object_));
    } else {
      return traits::make(imported(), object_);
    }
  }

  /// @return whether the argument was loaded, and is a tensor
  bool is_tensor() const noexcept { return object_ != nullptr && !is_none(); }

  /// @pre load or load_shared returned true, and is_tensor()
  tensor_view view() noexcept { return imported().view(); }

  DLBRIDGE_LOCAL static constexpr requirement need = traits::required();
  // Chosen by the type, so that only converting parameters compile explain_conversion.
  static constexpr explanation explain = [] {
    if constexpr (traits::required().converts) {
      return &dlbridge::detail::explain_conversion;
    } else if constexpr (traits::mode == import_mode::borrow_to_write) {
      return &detail::explain_span_to_write;
    } else {
      return &dlbridge::detail::explain_mismatch;
    }
  }();

 private:
  // need, without extents that accept every value. Compilers do not fold the fields of a static
  // object in time to compare several of them by one instruction.
  DLBRIDGE_INLINE static requirement checked() noexcept {
    constexpr std::int64_t const* extents =
        dlbridge::detail::without_free_extents(traits::required()).extents;
    requirement result = traits::required();
    result.extents = extents;
    return result;
  }

  bool is_none() const noexcept { return traits::optional && object_ == Py_None; }

  DLBRIDGE_NOINLINE bool import_and_check() noexcept {
    if constexpr (traits::required().converts) {
      return is_none() || (import_argument() && (meets(own_.view(), checked()) ||
                                                 convert_from(own_, need, &traits::convert)));
    } else {
      return is_none() || (import_argument() && accepts(own_.view()));
    }
  }

  bool import_argument() noexcept {
    if constexpr (traits::takes_others) {
      if (traits::is_other(object_)) {
        return take(traits::import_other(object_));
      }
    }
    bool const is_imported = import_in(traits::mode, need.where);
    if constexpr (traits::takes_others) {
      if (!is_imported) {
        this->name_others(traits::other_names.data);
      }
    }
    return is_imported && (!need.writable || may_write_in());
  }
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
