// untyped_argument: holds the tensor of one argument of one call, and the exception of its import.
// layer: call · from a Python argument to a C++ parameter
#pragma once

#include <utility>

#include <dlbridge/check.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The part of a tensor_argument that is the same for all types of parameters, so that an extension
/// compiles it once.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
class untyped_argument {
 public:
  PyObject* object() const noexcept { return object_; }

  /// @return the exception that the import raised, or none
  ref& exception() noexcept { return exception_; }

  /// Refuses an object with an exception.
  void refuse(PyObject* object, ref exception) noexcept {
    object_ = object;
    exception_ = std::move(exception);
  }

  /// @pre the argument was loaded, and exception() is none
  /// @return a report: the requirements that the imported tensor does not meet
  DLBRIDGE_COLD report reason(requirement const& need) noexcept {
    return dlbridge::detail::explain_mismatch(imported().view(), need);
  }

 protected:
  untyped_argument() noexcept {}  // user-provided: value-initialization does not zero the members
  untyped_argument(untyped_argument&&) noexcept = default;

  // Returns false, with exception_ set, when the import failed.
  DLBRIDGE_NOINLINE bool import_in(import_mode mode, device_filter where) noexcept {
    bool const is_imported = own_.import_object(object_, mode, where);
    if (!is_imported) {
      exception_ = take_exception();
    }
    return is_imported;
  }

  // Returns false, with exception_ set, when the elements of a shared import cannot be awaited.
  bool is_ready_in(imported_tensor& tensor, device_filter where) noexcept {
    bool const is_ready = tensor.is_ready(object_, where);
    if (!is_ready) {
      exception_ = take_exception();
    }
    return is_ready;
  }

  // Returns false, with exception_ set, when a lent tensor changed.
  DLBRIDGE_NOINLINE bool confirm_in(import_mode mode, requirement const& need) noexcept {
    if (shared_ == nullptr && !own_.owned() && !own_.borrow_again(object_, mode, need)) {
      set_error(refusal(errc::producer_failed, "a tensor that stays as it is during the call",
                        "one that changed while another argument was imported"));
      exception_ = take_exception();
      return false;
    }
    return true;
  }

  imported_tensor& imported() noexcept { return shared_ != nullptr ? *shared_ : own_; }

  PyObject* object_ = nullptr;
  imported_tensor* shared_ = nullptr;  // the tensor of load_shared, or null
  imported_tensor own_;
  ref exception_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
