// type_entry: what one Python type offers to a consumer, and how that is looked up.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/python/detail/private_api.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Whether the environment variable DLBRIDGE_PROTOCOL_ONLY is set to anything but "" and "0":
// imports then call __dlpack__ only, and results for NumPy are created by functions of the module
// numpy.
DLBRIDGE_LOCAL bool uses_protocol_only() noexcept;
}  // namespace detail

struct library_row;  // call/detail/path_to_library.hpp

/// What one Python type offers. The references are borrowed from the type and valid until it is
/// modified or destroyed: a caller that lets Python code run meanwhile holds a reference to dlpack.
/// On free-threaded builds, where another thread may modify the type at any time, the reference to
/// dlpack is held. An entry fills whole cache lines; a shift gives the address of a slot.
struct alignas(64) type_entry {
  PyTypeObject* type = nullptr;
  detail::type_state state{};  ///< that in which the type was looked up
  /// Whether dlpack is called with the object as first argument: no object has one of its own.
  bool takes_self = false;
  bool legacy_only = false;    ///< dlpack has no parameter max_version
  bool has_table = false;      ///< arguments use the exchange table: no __dlpack__ overrides it
  bool defines_table = false;  ///< from_dlpack uses it as well: the type does not inherit it
  bool has_head = false;       ///< the objects are Tensors, which begin with a tensor_head
  bool is_torch = false;       ///< torch.Tensor or its Parameter, whose objects run no Python code
  bool has_export_path = false;  ///< whether library and from_dlpack are known
  PyObject* dlpack = nullptr;    ///< the type's attribute __dlpack__, or null
  /// numpy.ndarray, if the type is that, or is derived from it and inherits its __dlpack__. That
  /// reads only the fields: so may dlbridge, unless the object has a __dlpack__ of its own.
  PyTypeObject* array_type = nullptr;
  exchange_table exchange{};  ///< the exchange table, if its major version is supported
  detail::property_tests tests{};
  library_row const* library = nullptr;  ///< the library that defines the type, if it is known
  PyObject* from_dlpack = nullptr;       ///< its function, held; or null

  bool is_ndarray() const noexcept { return array_type == type; }
  detail::known_type const* known() const noexcept { return tests.row; }
};

namespace detail {
DLBRIDGE_COLD type_entry look_up_type(PyTypeObject* type) noexcept;

/// Whether the `__dlpack__` of an object exports what its fields state: that of an ndarray, or of
/// an object of a derived class without a `__dlpack__` of its own, such as a numpy.memmap.
/// @param type the entry of its type.
/// @return false with an exception pending after one of a key, and for masked elements.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run, after which the entry is not valid.
bool exports_fields(type_entry const& type, PyObject* object) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/type_entry.ipp>
#endif
