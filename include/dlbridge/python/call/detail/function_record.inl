// The inline bodies of function_record.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/function_record.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class Test>
inline function_record* record_list::find(Test test) {
  std::lock_guard<std::mutex> const guard(access_);
  function_record* each = newest_;
  while (each != nullptr && !test(*each)) {
    each = each->older;
  }
  return each;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
