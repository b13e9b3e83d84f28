// known_types: what dlbridge knows of the types of libraries: which arrays never change; the
// properties of an object, such as requires_grad, for which its library's __dlpack__ refuses a
// tensor that its exchange table exports, and how they are read; where the current stream is.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/keywords.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// One property of an object of a library: an attribute, or a method without arguments.
struct property_test {
  PyObject* names::* attribute = nullptr;
  bool is_method = false;
  bool usual = false;  ///< the value with which the table exports the tensor as __dlpack__ does
  /// The refusal of the other value, where __dlpack__ too would export a wrong tensor. Null where
  /// __dlpack__ refuses the tensor itself.
  char const* expected = nullptr;
  char const* got = nullptr;
  char const* advice = nullptr;
};

/// A type of a library. The facts hold for derived classes, too.
struct known_type {
  char const* module;
  char const* type;
  /// Its __dlpack_device__ takes about as long as __dlpack__, and its objects are usually on the
  /// CPU, where no stream is passed: the tensor tells the device sooner.
  bool is_mostly_host = false;
  /// The library promises that its arrays never change: they are read-only, whatever their capsules
  /// state. It hands out legacy structs of them, which have no flag for that.
  bool is_immutable = false;
  /// The function of the library that returns the current stream of the device whose ordinal is
  /// passed, for a type without an exchange table; or null.
  char const* stream_module = nullptr;
  char const* stream_function = nullptr;
  char const* recorded = nullptr;    ///< the refusal to write where the library records gradients
  char const* unrecorded = nullptr;  ///< how the caller passes a tensor for which it does not
  /// Null, or the properties. The first has a refusal, and the second matters for the table alone:
  /// it states whether the library records gradients.
  property_test const* tests = nullptr;
  bool has_masks = false;  ///< as numpy.ma.MaskedArray, whose __dlpack__ exports masked elements
};

DLBRIDGE_LOCAL inline constexpr property_test torch_tests[] = {
    {&names::is_neg, true, false, "a tensor whose memory holds its values",
     "a PyTorch tensor that is negated lazily, whose memory has the opposite sign",
     "Call its resolve_neg() first"},
    {&names::requires_grad, false, false}};
DLBRIDGE_LOCAL inline constexpr property_test paddle_tests[] = {
    {&names::is_sparse, true, false}, {&names::stop_gradient, false, true}};

DLBRIDGE_LOCAL inline constexpr known_type known_types[] = {
    {"numpy.ma", "MaskedArray", true, false, nullptr, nullptr, nullptr, nullptr, nullptr, true},
    {"numpy.ma.core", "MaskedArray", true, false, nullptr, nullptr, nullptr, nullptr, nullptr,
     true},  // in older versions
    {"numpy", "ndarray", true},
    {"jaxlib._jax", "ArrayImpl", true, true},
    {"jaxlib.xla_extension", "ArrayImpl", true, true},
    {"tensorflow.python.framework.ops", "EagerTensor", true, true},
    {"tvm_ffi.core", "Tensor", true},
    {"cupy", "ndarray", false, false, "cupy.cuda", "get_current_stream"},
    {"torch", "Tensor", false, false, "torch.cuda", "current_stream",
     "a PyTorch tensor that requires a gradient while gradients are enabled",
     "Call the function under torch.no_grad(), or pass x.detach()", torch_tests},
    {"paddle", "Tensor", false, false, nullptr, nullptr,
     "a Paddle tensor with stop_gradient=False while gradients are enabled",
     "Call the function under paddle.no_grad(), or pass x.detach()", paddle_tests},
};

// Whether a class has this name in this module.
bool is_named(PyTypeObject* type, char const* module, char const* name) noexcept;

/// The row of a type, or of one from which it is derived; null for most types. No Python code runs.
DLBRIDGE_COLD known_type const* find_known_type(PyTypeObject* type) noexcept;

/// Marks a tensor as read-only: most of these libraries export legacy structs, which have no flag.
/// @return a tensor on the same memory; empty, with an exception set, when there is no memory.
/// @par Ownership
/// Takes m; on failure m is freed.
DLBRIDGE_COLD managed_tensor as_immutable(managed_tensor m) noexcept;

/// The tensor as the library exported it, or null for one that as_immutable did not return. The
/// library hands out legacy structs of such a tensor, and so may dlbridge.
managed_tensor const* find_immutable(managed_tensor const& m) noexcept;

// How a property of the objects of a type is read.
DLBRIDGE_COLD property_reader find_reader(PyTypeObject* type, property_test const& test) noexcept;

/// The properties of the objects of one type, and how they are read. None for most types.
struct property_tests {
  known_type const* row = nullptr;
  property_reader readers[2];

  explicit operator bool() const noexcept { return row != nullptr && row->tests != nullptr; }
};

/// The import for which properties are tested: by the table, all of them; by `__dlpack__`, those
/// with a refusal.
enum class import_path { table, protocol };

/// Tests the properties of an object.
/// @param tests of the present type of the object; a copy, as reading a property may run Python
///   code, which may replace the entry of the cache.
/// @return whether the object may be imported that way. If not, an exception is set, BufferError or
///   one that is not suppressible; or none, where __dlpack__ is to be called in place of the table.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
bool pass_tests(property_tests const tests, PyObject* object, import_path path) noexcept;

/// Whether the library of a tensor records operations on it for a gradient, which would be wrong
/// after a function wrote to the memory: no library notices that.
/// @param tests as for pass_tests.
/// @return true with an exception set: BufferError, or one that is not suppressible.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
bool is_recorded(property_tests const tests, PyObject* object) noexcept;

/// Refuses a masked array of NumPy that has masked elements: DLPack carries no mask.
/// @param type of the present type of the object; null for one without a row.
/// @return true with an exception set: BufferError, or what the mask raises.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
bool refuse_mask(known_type const* type, PyObject* object) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/known_types.ipp>
#endif
