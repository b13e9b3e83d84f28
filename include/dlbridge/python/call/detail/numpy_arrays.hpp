// numpy_arrays: creates ndarrays by NumPy's C API, without the headers of NumPy.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The entries of NumPy's table of functions that are used here. Their indices and signatures are
// the same in all versions with these ABI numbers, NumPy 1 and 2.
enum class numpy_entry : std::uint16_t {
  abi_number = 0,        // PyArray_GetNDArrayCVersion
  array_type = 2,        // PyArray_Type
  new_from_descr = 94,   // PyArray_NewFromDescr
  set_base_object = 282  // PyArray_SetBaseObject
};

/// NumPy's functions and dtypes that create an ndarray.
/// @par Thread and GIL
/// The caller holds the GIL in every member.
class numpy_arrays {
 public:
  static constexpr int most_dims = 32;  // in an array of NumPy 1; NumPy 2 has 64

  /// Looks the functions up, and tests them on arrays of a few elements.
  /// @return whether they work; an exception may be pending if they do not.
  DLBRIDGE_COLD bool load() noexcept;

  /// Converts a tensor to an ndarray on the same memory, whose base is a Tensor that owns m.
  /// @return the array; empty, with m unchanged and without an exception, for a tensor that NumPy's
  ///   from_dlpack converts or refuses; or empty, with an exception set, after m has been freed.
  DLBRIDGE_LOCAL ref give(managed_tensor& m) const noexcept;

  /// Allocates a row-major tensor in an array that NumPy allocates.
  /// @param object receives the array.
  /// @return the tensor; empty, without an exception, where numpy.empty is to be called; or empty,
  ///   with an exception set.
  managed_tensor allocate(dtype type, dims const& shape, ref& object) const noexcept;

 private:
  using new_from_descr = PyObject*(PyTypeObject*, PyObject*, int, Py_ssize_t const*,
                                   Py_ssize_t const*, void*, int, PyObject*);
  using set_base_object = int(PyObject*, PyObject*);
  static constexpr int codes = kDLBool + 1;
  static constexpr int sizes = 5;  // 1, 2, 4, 8 and 16 bytes

  template <class Pointer>
  static Pointer entry(void** table, numpy_entry which) noexcept {
    return reinterpret_cast<Pointer>(table[static_cast<int>(which)]);
  }

  static bool has_known_abi(void** table) noexcept;

  // The place of a dtype in descrs_; the last place, which stays null, for one that NumPy lacks.
  static int place_of(dtype type) noexcept;

  // Asks NumPy for its dtypes by name: of the C types of one size it prefers one.
  DLBRIDGE_COLD bool load_descrs() noexcept;

  // The function takes the reference to the dtype, also if it fails.
  ref make(PyObject* descr, int rank, std::int64_t const* shape, Py_ssize_t const* byte_strides,
           void* data, int flags) const noexcept;

  // Whether an array on memory of the caller has the fields that were asked for.
  DLBRIDGE_COLD bool test_borrowed() const noexcept;

  // The same for an array on memory of NumPy.
  DLBRIDGE_COLD bool test_allocated() const noexcept;

  PyTypeObject* type_ = nullptr;
  new_from_descr* new_from_descr_ = nullptr;
  set_base_object* set_base_object_ = nullptr;
  PyObject* descrs_[codes * sizes + 1] = {};  // owned references
};

/// NumPy's C API, looked up once; again after an exception that is not suppressible, which stays
/// pending.
/// @pre no exception is pending.
/// @return null if NumPy has another ABI, or a self-test failed, or under DLBRIDGE_PROTOCOL_ONLY.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs in the first call.
DLBRIDGE_LOCAL numpy_arrays const* find_numpy_arrays() noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/numpy_arrays.ipp>
#endif
