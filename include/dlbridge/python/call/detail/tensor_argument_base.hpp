// tensor_argument_base: holds the tensor of one argument of one call, and the exception of its
// import.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// A copy by the producer counts as read-only memory for a span: what a call wrote to it would be
// lost, as the producer does not see it (spec 1.8). An owning parameter may keep it.
DLBRIDGE_COLD report explain_span_to_write(tensor_view const& view,
                                           requirement const& need) noexcept;
}  // namespace detail

/// How an argument or an element is loaded.
struct load_options {
  bool convert = true;  ///< whether a parameter that converts may do so
  bool shared = false;  ///< by def: overloads share the import, and claim() follows
};

/// The part of a tensor_argument that is the same for all types of parameters, so that an extension
/// compiles it once.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
class tensor_argument_base {
 public:
  PyObject* object() const noexcept { return object_; }

  /// @return the exception that the import raised, or none
  ref& exception() noexcept { return exception_; }
  /// Whether that exception ends the call, as KeyboardInterrupt does.
  bool is_fatal() const noexcept { return exception_ && !is_suppressible(exception_.get()); }

  /// Refuses an object with an exception.
  void refuse(PyObject* object, ref exception) noexcept;

  /// States why a tensor does not meet a requirement: explain_mismatch or explain_conversion.
  using explanation = report (*)(tensor_view const&, requirement const&) noexcept;

  /// @pre the argument was loaded, and exception() is none
  /// @return a report: the requirements that the imported tensor does not meet
  DLBRIDGE_COLD report reason(requirement const& need, explanation explain) noexcept;

 protected:
  // User-provided: value-initialization does not zero the members.
  tensor_argument_base() noexcept : exception_() {}
  tensor_argument_base(tensor_argument_base const&) = delete;
  tensor_argument_base(tensor_argument_base&& other) noexcept
      : object_(other.object_),
        shared_(other.shared_),
        own_(std::move(other.own_)),
        exception_(std::move(other.exception_)) {}
  tensor_argument_base& operator=(tensor_argument_base const&) = delete;
  DLBRIDGE_INLINE ~tensor_argument_base() {
    if (exception_) {
      drop_exception();
    }
  }

  // Returns false, with exception_ set, when the import failed. What Python code exports, or a
  // capsule, is imported once for all overloads of the call.
  bool import_in(import_mode mode, device_filter where, bool shared) noexcept;
  // The same for this argument alone.
  bool import_alone(import_mode mode, device_filter where) noexcept;

  // The same for a tensor to which the function may not write.
  bool may_write_in() noexcept;

  // The same for a tensor that was imported by another way; empty, with an exception set, if it
  // could not be imported.
  bool take(managed_tensor imported) noexcept;

  // Replaces the tensor, which does not meet the requirement, by a converted copy. Returns false
  // when the tensor is not convertible, and also with exception_ set when the copy failed or would
  // change a value, or a shared tensor changed.
  bool convert_in(requirement const& need,
                  managed_tensor (*copy)(tensor_view const&, report& why)) noexcept;

  // Adds to the refusal of what is no producer what is accepted besides, and what to pass to write.
  DLBRIDGE_COLD void name_others(char const* others, bool writes) noexcept;

  // Whether the tensor is lent and cannot have changed, so that it need not be borrowed again.
  DLBRIDGE_INLINE bool is_unchanged() const noexcept {
    return shared_ == nullptr && !own_.owned() && own_.is_unchanged(object_);
  }

  // Returns false, with exception_ set, when the tensor of the object changed.
  bool confirm_in(import_mode mode, requirement const& need) noexcept;
  DLBRIDGE_COLD bool confirm_if(bool holds) noexcept;

  // Whether the object was read without Python code.
  bool is_read_directly() const noexcept {
    return shared_ == nullptr && own_.is_read_directly(object_);
  }
  // Whether another argument of the call has taken the shared tensor; otherwise this one takes it.
  bool is_taken() noexcept { return shared_ != nullptr && std::exchange(shared_->is_taken, true); }

  imported_tensor& imported() noexcept { return shared_ != nullptr ? shared_->tensor : own_; }

  PyObject* object_ = nullptr;
  active_call::shared_import* shared_ = nullptr;  // an import of the call, or null
  imported_tensor own_{};

 private:
  // Whether the tensor of an object is read without Python code and without consuming the object.
  static bool is_exported_directly(PyObject* object) noexcept;
  // Returns false, with exception_ set, when the elements cannot be awaited.
  bool make_ready(device_filter where) noexcept;

  DLBRIDGE_COLD void drop_exception() noexcept;

 protected:
  union {  // destroyed by the destructor above, whose test is inlined: few arguments have one
    ref exception_;
  };
};
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/tensor_argument_base.ipp>
#endif
