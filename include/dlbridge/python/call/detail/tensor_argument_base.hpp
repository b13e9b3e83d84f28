// tensor_argument_base: holds the tensor of one argument of one call, and the exception of its
// import.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// A copy by the producer counts as read-only memory for a span: what a call wrote to it would be
// lost, as the producer does not see it (spec 1.8). An owning parameter may keep it.
DLBRIDGE_COLD inline report explain_span_to_write(tensor_view const& view,
                                                  requirement const& need) noexcept {
  DLTensor const tensor = view.to_dltensor();
  std::uint64_t const flags = view.flags() | (view.is_copied() ? flag_read_only : 0);
  return dlbridge::detail::explain_mismatch(tensor_view(tensor, flags), need);
}
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
  void refuse(PyObject* object, ref exception) noexcept {
    object_ = object;
    exception_ = std::move(exception);
  }

  /// States why a tensor does not meet a requirement: explain_mismatch or explain_conversion.
  using explanation = report (*)(tensor_view const&, requirement const&) noexcept;

  /// @pre the argument was loaded, and exception() is none
  /// @return a report: the requirements that the imported tensor does not meet
  DLBRIDGE_COLD report reason(requirement const& need, explanation explain) noexcept {
    return explain(imported().view(), need);
  }

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
  DLBRIDGE_NOINLINE bool import_in(import_mode mode, device_filter where, bool shared) noexcept {
    active_call* const call = shared ? active_call::current() : nullptr;
    if (call == nullptr || is_exported_directly(object_)) {
      return import_alone(mode, where);
    }
    shared_ = call->find_or_import(object_);
    if (shared_ == nullptr) {
      api<PyErr_NoMemory>();
      exception_ = take_exception();
      return false;
    }
    exception_ = ref::borrow(shared_->exception.get());
    return !exception_ && make_ready(where);
  }
  // The same for this argument alone.
  DLBRIDGE_NOINLINE bool import_alone(import_mode mode, device_filter where) noexcept {
    shared_ = nullptr;
    bool const is_imported = own_.import_object(object_, mode, where);
    if (!is_imported) {
      exception_ = take_exception();
    }
    return is_imported;
  }

  // The same for a tensor to which the function may not write.
  bool may_write_in() noexcept {
    bool const may = detail::may_write(object_);
    if (!may) {
      exception_ = take_exception();
    }
    return may;
  }

  // The same for a tensor that was imported by another way; empty, with an exception set, if it
  // could not be imported.
  bool take(managed_tensor imported) noexcept {
    if (!imported) {
      exception_ = take_exception();
      return false;
    }
    own_.replace(std::move(imported));
    return true;
  }

  // Replaces the tensor, which does not meet the requirement, by a converted copy. Returns false
  // when the tensor is not convertible, and also with exception_ set when the copy failed, or a
  // shared tensor changed.
  DLBRIDGE_NOINLINE bool convert_in(requirement const& need,
                                    managed_tensor (*copy)(tensor_view const&)) noexcept {
    imported_tensor& source = imported();
    if (!dlbridge::detail::is_convertible(source.view(), need) || !make_ready(device_filter()) ||
        (shared_ != nullptr && !confirm_if(source.is_current(object_, false)))) {
      return false;
    }
    managed_tensor result;
    if (!guarded([&] { result = copy(source.view()); })) {
      exception_ = take_exception();
      return false;
    }
    own_.replace(std::move(result));
    shared_ = nullptr;
    return true;
  }

  // Adds to the refusal of an object that is no producer what the parameter accepts besides.
  DLBRIDGE_COLD void name_others(char const* others) noexcept {
    if (!exception_ || !is_suppressible(exception_.get()) || PyType_Check(object_) ||
        PyCapsule_CheckExact(object_) || !detail::lacks_dlpack(object_)) {
      return;
    }
    if (PyErr_Occurred() == nullptr) {
      detail::set_no_producer(object_, false, nullptr, others);
    }
    exception_ = take_exception();
  }

  // Whether the tensor is lent and cannot have changed, so that it need not be borrowed again.
  DLBRIDGE_INLINE bool is_unchanged() const noexcept {
    return shared_ == nullptr && !own_.owned() && own_.is_unchanged(object_);
  }

  // Returns false, with exception_ set, when the tensor of the object changed.
  DLBRIDGE_NOINLINE bool confirm_in(import_mode mode, requirement const& need) noexcept {
    imported_tensor& tensor = imported();
    return confirm_if(shared_ != nullptr || own_.owned()
                          ? tensor.is_current(object_, need.writable) && meets(tensor.view(), need)
                          : own_.borrow_again(object_, mode, need));
  }
  DLBRIDGE_COLD bool confirm_if(bool holds) noexcept {
    if (!holds) {
      set_error(refusal(errc::producer_failed, "a tensor that stays as it is during the call",
                        "one that changed while another argument was imported",
                        "Pass a copy of it"));
      exception_ = take_exception();
      return false;
    }
    return true;
  }

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
  static bool is_exported_directly(PyObject* object) noexcept {
    type_entry const& type = type_cache::get(Py_TYPE(object));
    return type.has_head || type.has_table || detail::can_read_fields(type, object);
  }
  // Returns false, with exception_ set, when the elements cannot be awaited.
  bool make_ready(device_filter where) noexcept {
    bool const done = imported().make_ready(object_, where);
    if (!done) {
      exception_ = take_exception();
    }
    return done;
  }

  DLBRIDGE_COLD void drop_exception() noexcept { exception_.~ref(); }

 protected:
  union {  // destroyed by the destructor above, whose test is inlined: few arguments have one
    ref exception_;
  };
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
