// One call of a producer's __dlpack__, with just the keywords that are wanted.
// floor 7 · IN: the question
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/keywords.hpp>
#include <dlbridge/python/type_cache.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// The keywords of one call; null ones are left out.
struct call_keywords {
  PyObject* max_version = nullptr;
  PyObject* stream = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
};

DLBRIDGE_LOCAL inline PyObject* stated_version_object() noexcept {
  static PyObject* const made =
      Py_BuildValue("(II)", unsigned{stated_major}, unsigned{stated_minor});
  return made;
}

DLBRIDGE_LOCAL inline PyObject* only_max_version() noexcept {
  static PyObject* const made = PyTuple_Pack(1, names::get().max_version);
  return made;
}

// Calls producer.__dlpack__ with the keywords that are there. The caller holds type.dlpack.
inline ref call_dlpack(PyObject* producer, type_entry const& type,
                       call_keywords const& given) noexcept {
  if (type.takes_self && given.stream == nullptr && given.dl_device == nullptr &&
      given.copy == nullptr && given.max_version != nullptr) {  // as good as always
    PyObject* arguments[] = {nullptr, producer, given.max_version};
    return ref::steal(PyObject_Vectorcall(type.dlpack, arguments + 1,
                                          1 | PY_VECTORCALL_ARGUMENTS_OFFSET, only_max_version()));
  }
  names const& n = names::get();
  PyObject* const values[] = {given.max_version, given.stream, given.dl_device, given.copy};
  PyObject* const keys[] = {n.max_version, n.stream, n.dl_device, n.copy};
  PyObject* arguments[6] = {nullptr, producer};
  PyObject* used[4];
  Py_ssize_t count = 0;
  for (int i = 0; i < 4; ++i) {
    if (values[i] != nullptr) {
      arguments[2 + count] = values[i];
      used[count++] = keys[i];
    }
  }
  ref made;
  PyObject* keywords = nullptr;
  if (count == 1 && given.max_version != nullptr) {
    keywords = only_max_version();
  } else if (count > 0) {
    made = ref::steal(PyTuple_New(count));
    if (!made) {
      return ref();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(used[i]);
      PyTuple_SET_ITEM(made.get(), i, used[i]);
    }
    keywords = made.get();
  }
  if (!type.takes_self) {
    return ref::steal(PyObject_VectorcallMethod(n.dlpack, arguments + 1,
                                                1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
  }
  return ref::steal(PyObject_Vectorcall(type.dlpack, arguments + 1,
                                        1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
