// The bodies of tensor_argument_base.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/tensor_argument_base.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API report explain_span_to_write(tensor_view const& view,
                                                            requirement const& need) noexcept {
  DLTensor const tensor = view.to_dltensor();
  std::uint64_t const flags = view.flags() | (view.is_copied() ? flag_read_only : 0);
  return dlbridge::detail::explain_mismatch(tensor_view(tensor, flags), need);
}

constexpr char const* advice_to_write =
    "Pass an array that you keep, as y = numpy.array(x), to which the function writes";

// What to pass to a function that writes to it: what it wrote to a copy would be lost.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline char const* remedy_to_write(PyObject* object) noexcept {
  char const* const usual = remedy_for_object(object);
  return usual == nullptr || PyBytes_Check(object) || optional_attribute(object, "to_dlpack")
             ? usual
             : advice_to_write;
}
}  // namespace detail

DLBRIDGE_API void tensor_argument_base::refuse(PyObject* object, ref exception) noexcept {
  object_ = object;
  exception_ = std::move(exception);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report tensor_argument_base::reason(requirement const& need,
                                                                   explanation explain) noexcept {
  tensor_view const& view = imported().view();
  report r = explain(view, need);
  if (r.has(errc::read_only) && !view.is_copied() && is_host_accessible(view.device()) &&
      !PyBytes_Check(object_)) {  // of which NumPy makes a text
    r.advice = detail::advice_to_write;
  }
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool tensor_argument_base::import_in(import_mode mode,
                                                                    device_filter where,
                                                                    bool shared) noexcept {
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

DLBRIDGE_NOINLINE DLBRIDGE_API bool tensor_argument_base::import_alone(
    import_mode mode, device_filter where) noexcept {
  shared_ = nullptr;
  bool const is_imported = own_.import_object(object_, mode, where);
  if (!is_imported) {
    exception_ = take_exception();
  }
  return is_imported;
}

DLBRIDGE_API bool tensor_argument_base::may_write_in() noexcept {
  bool const may = detail::may_write(object_);
  if (!may) {
    exception_ = take_exception();
  }
  return may;
}

DLBRIDGE_API bool tensor_argument_base::take(managed_tensor imported) noexcept {
  if (!imported) {
    exception_ = take_exception();
    return false;
  }
  own_.replace(std::move(imported));
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool tensor_argument_base::convert_in(
    requirement const& need, managed_tensor (*copy)(tensor_view const&, report&)) noexcept {
  imported_tensor& source = imported();
  if (!dlbridge::detail::is_convertible(source.view(), need) || !make_ready(device_filter()) ||
      (shared_ != nullptr && !confirm_if(source.is_current(object_, false)))) {
    return false;
  }
  managed_tensor result;
  report why;
  bool const is_copied = guarded([&] { result = copy(source.view(), why); });
  if (!why.ok()) {
    set_error_text(PyExc_TypeError, message(why).c_str());
  }
  if (!is_copied || !why.ok()) {
    exception_ = take_exception();
    return false;
  }
  own_.replace(std::move(result));
  shared_ = nullptr;
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void tensor_argument_base::name_others(char const* others,
                                                                      bool writes) noexcept {
  if (!exception_ || !is_suppressible(exception_.get()) || PyType_Check(object_) ||
      PyCapsule_CheckExact(object_)) {
    return;
  }
  bool const is_producer = !detail::lacks_dlpack(object_);
  if (PyErr_Occurred() == nullptr && !is_producer) {
    detail::set_no_producer(object_, false, writes ? &detail::remedy_to_write : nullptr, others);
  } else if (PyErr_Occurred() == nullptr && *others != '\0') {
    set_exception(std::move(exception_));
    explain_by_arrow(object_);
  } else if (PyErr_Occurred() == nullptr) {
    return;
  }
  exception_ = take_exception();
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool tensor_argument_base::confirm_in(
    import_mode mode, requirement const& need) noexcept {
  imported_tensor& tensor = imported();
  return confirm_if(shared_ != nullptr || own_.owned()
                        ? tensor.is_current(object_, need.writable) && meets(tensor.view(), need)
                        : own_.borrow_again(object_, mode, need));
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool tensor_argument_base::confirm_if(bool holds) noexcept {
  if (!holds) {
    set_error(refusal(errc::producer_failed, "a tensor that stays as it is during the call",
                      "one that changed while another argument was imported", "Pass a copy of it"));
    exception_ = take_exception();
    return false;
  }
  return true;
}

DLBRIDGE_API bool tensor_argument_base::is_exported_directly(PyObject* object) noexcept {
  type_entry const& type = type_cache::get(Py_TYPE(object));
  return type.has_head || type.has_table || detail::can_read_fields(type, object);
}

DLBRIDGE_API bool tensor_argument_base::make_ready(device_filter where) noexcept {
  bool const done = imported().make_ready(object_, where);
  if (!done) {
    exception_ = take_exception();
  }
  return done;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void tensor_argument_base::drop_exception() noexcept {
  exception_.~ref();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
