// The bodies of active_call.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>

#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_NOINLINE DLBRIDGE_API active_call::shared_import::~shared_import() {}

DLBRIDGE_API void active_call::resume() noexcept {
  imports_.reset();
  is_decided_ = false;
  current() = this;
}

DLBRIDGE_NOINLINE DLBRIDGE_API active_call::shared_import* active_call::find_or_import(
    PyObject* object) noexcept {
  for (shared_import* each = imports_.get(); each != nullptr; each = each->next.get()) {
    if (each->object.get() == object) {
      return each;
    }
  }
  std::unique_ptr<shared_import> fresh(new (std::nothrow) shared_import);
  if (!fresh) {
    return nullptr;
  }
  fresh->object = ref::borrow(object);
  active_call* const outer = std::exchange(current(), nullptr);  // Python code may run
  if (!fresh->tensor.import_object(object, import_mode::own,
                                   device_filter{device_filter::anywhere})) {
    fresh->exception = take_exception();
  }
  current() = outer;
  fresh->next = std::move(imports_);
  imports_ = std::move(fresh);
  return imports_.get();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
