// read_ndarray: reads the fields of a numpy.ndarray without a call, after a self-test of their
// layout.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/block_pool.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The first fields of PyArrayObject and PyArray_Descr, the same in NumPy 1 and 2.
struct ndarray_fields {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t* extents;
  Py_ssize_t* byte_strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};
struct descr_fields {
  PyObject_HEAD PyTypeObject* scalar_type;
  char kind;
  char character;
  char byte_order;
  char flags;
  int number;
};
constexpr int ndarray_writable = 0x0400;
constexpr int direct_rank = 8;

// Room for the shape and the strides of a tensor that is described without a call.
struct copied_dims {
  std::int64_t shape[direct_rank];
  std::int64_t strides[direct_rank];
};

// Describes an ndarray. Shape and strides, in elements, are copied to dims, as Python code that
// runs later may change those of the array. Returns false for an array outside the common case,
// for which __dlpack__ is to be called.
DLBRIDGE_INLINE bool read_ndarray(PyObject* object, DLTensor& out, copied_dims& dims,
                                  std::uint64_t& flags) noexcept;

// Whether check_tensor accepts what read_ndarray describes. An array lies in memory, except where
// the caller gave it strides that lead elsewhere.
inline bool is_sound_ndarray(DLTensor const& fields) noexcept {
  using namespace dlbridge::detail;
  return is_ordinary_memory(fields) || find_flaw_slow(fields) == flaw::none;
}

// The DLPack version that NumPy states in its structs, as the self-test found it: both numbers in
// one, as other threads may read it without the GIL.
DLBRIDGE_LOCAL inline std::atomic<std::uint64_t>& stated_by_ndarrays() noexcept {
  static std::atomic<std::uint64_t> stated{0};
  return stated;
}
inline version version_of_ndarrays() noexcept {
  std::uint64_t const stated = stated_by_ndarrays().load(std::memory_order_acquire);
  return {static_cast<std::uint32_t>(stated >> 32), static_cast<std::uint32_t>(stated)};
}

// Writes that version to a struct that stands for one of NumPy.
void state_ndarray_version(managed_tensor const& m) noexcept;

/// Whether read_ndarray may read objects of numpy.ndarray, and of the classes derived from it. The
/// self-test runs once; again after an exception that is not suppressible, which stays pending.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs in the first call.
DLBRIDGE_LOCAL DLBRIDGE_ALIGNED inline bool can_read_ndarrays(PyTypeObject* type) noexcept;

/// Whether read_ndarray describes an object as its `__dlpack__` does.
/// @param type the entry of its type; not valid afterwards.
/// @return false with an exception pending as exports_fields, or one that is not suppressible.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
DLBRIDGE_INLINE bool can_read_fields(type_entry const& type, PyObject* object) noexcept;

// Creates a managed tensor that holds an ndarray.
// @param fields what read_ndarray wrote, and is_sound_ndarray accepts.
// @param stated the version in the struct.
// @return the tensor; empty, without an exception, when there is no memory for it.
inline managed_tensor own_ndarray(PyObject* array, DLTensor const& fields, std::uint64_t flags,
                                  version stated) noexcept {
  return dlbridge::detail::own_copied<block_pool>(object_owner(ref::borrow(array)), fields, flags,
                                                  stated);
}

// Whether two tensors consist of the same elements in memory.
bool has_same_elements(tensor_view const& now, tensor_view const& before) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/import/detail/ndarray.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/ndarray.ipp>
#endif
