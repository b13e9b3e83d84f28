// The bodies of type_entry.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool uses_protocol_only() noexcept {
  static bool const is_set = [] {
    char const* const value = std::getenv("DLBRIDGE_PROTOCOL_ONLY");
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
  }();
  return is_set;
}

inline void const* table_in(PyObject* capsule) noexcept {
  return PyCapsule_IsValid(capsule, exchange_capsule_name()) != 0
             ? api<PyCapsule_GetPointer>(capsule, exchange_capsule_name())
             : nullptr;
}

// The table's address, or null. DLPack 1.3 stores a capsule under one attribute name, DLPack 1.2
// a capsule or an int under another (spec 5.1). An int under the newer name is no address.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void const* exchange_header_of(PyTypeObject* type) noexcept {
  names const& n = names::get();
  if (ref const attribute = type_attribute(type, n.exchange_table)) {
    return table_in(attribute.get());
  }
  ref const older = type_attribute(type, n.exchange_table_1_2);
  if (!older || !PyLong_CheckExact(older.get())) {
    return older ? table_in(older.get()) : nullptr;
  }
  void const* const header = api<PyLong_AsVoidPtr>(older.get());
  api<PyErr_Clear>();
  auto const address = reinterpret_cast<std::uintptr_t>(header);
  constexpr std::uintptr_t page = 4096;  // no object is in the first one, nor misaligned
  return address >= page && address % alignof(void*) == 0 ? header : nullptr;
}

// Finds out who may use the table of a type, whose other facts are known.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void judge_table(type_entry& fresh,
                                                        void const* header) noexcept {
  fresh.has_table = static_cast<bool>(fresh.exchange);
  fresh.defines_table = fresh.has_table && fresh.dlpack != Py_None;
  ref base = base_of(fresh.type);
  while (fresh.has_table && base) {
    auto* const from = reinterpret_cast<PyTypeObject*>(base.get());
    if (exchange_header_of(from) != header) {
      return;
    }
    fresh.defines_table = false;
    fresh.has_table = type_attribute(from, names::get().dlpack).get() == fresh.dlpack;
    base = base_of(from);
  }
}

inline bool is_numpy_ndarray(PyTypeObject* type) noexcept {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
         std::strcmp(type_name(type).c_str(), "numpy.ndarray") == 0;
}

// The array_type of a type whose attribute __dlpack__ is given. Without the GIL none of a derived
// type, as another thread may give the object a __dlpack__ meanwhile.
inline PyTypeObject* find_array_type(PyTypeObject* type, PyObject* dlpack) noexcept {
  if (is_numpy_ndarray(type)) {
    return type;
  }
#if !defined(Py_GIL_DISABLED)
  auto const as_type = [](ref const& object) {
    return reinterpret_cast<PyTypeObject*>(object.get());
  };
  ref base = has_generic_lookup(type) ? base_of(type) : ref();
  while (base && !is_numpy_ndarray(as_type(base))) {
    base = base_of(as_type(base));
  }
  if (base && dlpack != nullptr &&
      type_attribute(as_type(base), names::get().dlpack).get() == dlpack) {
    return as_type(base);
  }
#else
  static_cast<void>(dlpack);
#endif
  return nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API type_entry look_up_type(PyTypeObject* type) noexcept {
  type_entry fresh;
  fresh.type = type;
  names const& n = names::get();
  ref dlpack = type_attribute(type, n.dlpack);  // assigns the version tag
  fresh.dlpack = dlpack.get();
  fresh.state = api<state_of>(type);
  fresh.takes_self = fresh.dlpack != nullptr && has_type_attributes_only(type) &&
                     PyType_HasFeature(Py_TYPE(fresh.dlpack), Py_TPFLAGS_METHOD_DESCRIPTOR);
  fresh.legacy_only = fresh.dlpack != nullptr && is_python_function(fresh.dlpack) &&
                      api<lacks_parameter>(fresh.dlpack, n.max_version);
  fresh.array_type = find_array_type(type, fresh.dlpack);
  fresh.tests.row = find_known_type(type);
  for (int i = 0; i < 2 && fresh.tests; ++i) {
    fresh.tests.readers[i] = find_reader(type, fresh.tests.row->tests[i]);
  }
  void const* const header = exchange_header_of(type);
  fresh.exchange = exchange_table::find(header);
  if (!uses_protocol_only()) {
    judge_table(fresh, header);
    fresh.is_torch = fresh.has_table && (is_named(type, "torch", "Tensor") ||
                                         is_named(type, "torch.nn.parameter", "Parameter"));
#if !defined(Py_GIL_DISABLED)  // which calls the table (docs/howto/exchange_in_python.md)
    fresh.has_head = has_tensor_head(type);
#endif
  }
  api<rely_on>(&fresh.state, type, n.dlpack);
  if (!fresh.has_head && !fresh.is_torch) {  // which are read without the table
    api<rely_on>(&fresh.state, type, n.exchange_table);
    if (!type_attribute(type, n.exchange_table)) {
      api<rely_on>(&fresh.state, type, n.exchange_table_1_2);
    }
  }
#if defined(Py_GIL_DISABLED)
  static_cast<void>(dlpack.release());
#endif
  return fresh;
}

DLBRIDGE_API bool exports_fields(type_entry const& type, PyObject* object) noexcept {
  return type.is_ndarray() ||
         (type.array_type != nullptr &&
          (type.takes_self || !api<may_have_own>(object, names::get().dlpack)) &&
          PyErr_Occurred() == nullptr && !refuse_mask(type.known(), object));
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
