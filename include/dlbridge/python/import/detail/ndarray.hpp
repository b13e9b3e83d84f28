// read_ndarray: reads the fields of a numpy.ndarray without a call, after a self-test of their
// layout.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/pools.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>
#include <dlbridge/validate.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
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

// The dtype for one type number of NumPy; lanes is 0 where DLPack has none. shift is the log2 of
// the element size, by which byte strides are shifted to strides in elements.
struct ndarray_type {
  DLDataType type;
  std::uint8_t shift;
};

template <class T>
constexpr ndarray_type ndarray_type_of() noexcept {
  std::uint8_t shift = 0;
  while ((std::size_t{1} << shift) < sizeof(T)) {
    ++shift;
  }
  return {dtype_of<T>().abi(), shift};
}
constexpr ndarray_type no_ndarray_type{};

// The dtypes in the order of NumPy's type numbers (NPY_TYPES, the same in NumPy 1 and 2).
DLBRIDGE_LOCAL inline constexpr ndarray_type ndarray_types[] = {
    ndarray_type_of<bool>(),
    ndarray_type_of<signed char>(),
    ndarray_type_of<unsigned char>(),
    ndarray_type_of<short>(),
    ndarray_type_of<unsigned short>(),
    ndarray_type_of<int>(),
    ndarray_type_of<unsigned int>(),
    ndarray_type_of<long>(),
    ndarray_type_of<unsigned long>(),
    ndarray_type_of<long long>(),
    ndarray_type_of<unsigned long long>(),
    ndarray_type_of<float>(),
    ndarray_type_of<double>(),
    no_ndarray_type,  // long double
    ndarray_type_of<std::complex<float>>(),
    ndarray_type_of<std::complex<double>>(),
    no_ndarray_type,  // complex long double
    no_ndarray_type,  // object
    no_ndarray_type,  // bytes
    no_ndarray_type,  // str
    no_ndarray_type,  // void
    no_ndarray_type,  // datetime64
    no_ndarray_type,  // timedelta64
    {{kDLFloat, 16, 1}, 1}};
constexpr unsigned ndarray_type_count = sizeof ndarray_types / sizeof *ndarray_types;
constexpr char ndarray_letters[] = "?bBhHiIlLqQfdgFDGOSUVMme";  // their characters

// Describes an ndarray. Shape and strides, in elements, are copied to dims, as Python code that
// runs later may change those of the array. Returns false for an array outside the common case,
// for which __dlpack__ is to be called.
DLBRIDGE_INLINE bool read_ndarray(PyObject* object, DLTensor& out, copied_dims& dims,
                                  std::uint64_t& flags) noexcept {
  auto const& array = *reinterpret_cast<ndarray_fields const*>(object);
  auto const& descr = *reinterpret_cast<descr_fields const*>(array.descr);
  auto const number = static_cast<unsigned>(descr.number);
  if (array.rank > direct_rank || number >= ndarray_type_count ||
      ndarray_types[number].type.lanes == 0 ||
      (descr.byte_order != '=' && descr.byte_order != '|')) {
    return false;
  }
  ndarray_type const& row = ndarray_types[number];
  std::int64_t bits = 0;  // of all strides
  for (int i = 0; i < array.rank; ++i) {
    std::int64_t const stride = array.byte_strides[i];
    bits |= stride;
    dims.shape[i] = array.extents[i];
    dims.strides[i] = stride >> row.shift;
    dlbridge::detail::keep_loop();
  }
  std::int64_t const below_size = (std::int64_t{1} << row.shift) - 1;
  out.data = array.data;
  out.device = {kDLCPU, 0};
  out.ndim = array.rank;
  out.dtype = row.type;
  out.shape = dims.shape;
  out.strides = dims.strides;
  out.byte_offset = 0;
  flags = (array.flags & ndarray_writable) != 0 ? 0 : flag_read_only;
  return (bits & below_size) == 0;
}

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
inline void state_ndarray_version(managed_tensor const& m) noexcept {
  if (DLManagedTensorVersioned* const raw = m.get_versioned()) {
    version const stated = version_of_ndarrays();
    raw->version = {stated.major_number, stated.minor_number};
  }
}

// Whether read_ndarray describes this array as its __dlpack__ does.
DLBRIDGE_COLD inline bool test_ndarray(PyObject* array) noexcept {
  DLTensor fields;
  copied_dims dims;
  std::uint64_t flags = 0;
  managed_tensor const exported = import_producer(array);
  if (!exported || exported.kind() != struct_kind::versioned ||
      !read_ndarray(array, fields, dims, flags)) {
    return false;
  }
  tensor_view const view = exported.view();
  if (view.data() != fields.data || view.rank() != fields.ndim ||
      view.dtype() != dtype(fields.dtype) || (view.flags() & flag_read_only) != flags) {
    return false;
  }
  for (int i = 0; i < view.rank(); ++i) {  // NumPy up to 2.2 exports no strides of a compact array
    if (view.extent(i) != dims.shape[i] || view.stride(i) != dims.strides[i]) {
      return false;
    }
  }
  version const stated = exported.version();
  stated_by_ndarrays().store(std::uint64_t{stated.major_number} << 32 | stated.minor_number,
                             std::memory_order_release);
  return true;
}

// The self-test: arrays of every dtype, row-major and with permuted and negative strides, writable
// and read-only.
DLBRIDGE_COLD inline bool test_ndarrays(PyTypeObject* type) noexcept {
  if (type->tp_basicsize < static_cast<Py_ssize_t>(sizeof(ndarray_fields))) {
    return false;
  }
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref const version =
      numpy ? ref::steal(api<PyObject_GetAttrString>(numpy.get(), "__version__")) : ref();
  char const* const text =
      version && PyUnicode_Check(version.get()) ? api<PyUnicode_AsUTF8>(version.get()) : nullptr;
  if (text == nullptr || (std::strncmp(text, "1.", 2) != 0 && std::strncmp(text, "2.", 2) != 0)) {
    return false;
  }
  bool all = true;
  for (char const* code = "?bBhHiIlLqQefdFD"; *code != '\0' && all; ++code) {
    ref const plain = ref::steal(api<PyObject_CallMethod>(numpy.get(), "zeros", "((iii)C)", 2, 3, 4,
                                                          static_cast<int>(*code)));
    ref const transposed =
        plain ? ref::steal(api<PyObject_CallMethod>(plain.get(), "transpose", "iii", 1, 0, 2))
              : ref();
    ref const flipped =
        transposed
            ? ref::steal(api<PyObject_CallMethod>(numpy.get(), "flip", "Oi", transposed.get(), 1))
            : ref();
    all = flipped && Py_TYPE(flipped.get()) == type && test_ndarray(plain.get()) &&
          test_ndarray(flipped.get());
    ref const result =
        all ? ref::steal(api<PyObject_CallMethod>(flipped.get(), "setflags", "i", 0)) : ref();
    all = result && test_ndarray(flipped.get());
  }
  return all;
}

/// Whether read_ndarray may read objects of numpy.ndarray, and of the classes derived from it. The
/// self-test runs once; again after an exception that is not suppressible, which stays pending.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs in the first call.
DLBRIDGE_LOCAL DLBRIDGE_ALIGNED inline bool can_read_ndarrays(PyTypeObject* type) noexcept {
  static std::atomic<PyTypeObject*> tested{nullptr};
  static std::atomic<PyTypeObject*> passed{nullptr};
  if (tested.load(std::memory_order_acquire) != type) {
    bool const all = sizeof(void*) == 8 && !uses_protocol_only() && test_ndarrays(type);
    if (!suppress_exception()) {
      return false;
    }
    passed.store(all ? type : nullptr, std::memory_order_release);
    tested.store(type, std::memory_order_release);
  }
  return passed.load(std::memory_order_acquire) == type;
}

/// Whether read_ndarray describes an object as its `__dlpack__` does.
/// @param type the entry of its type; not valid afterwards.
/// @return false with an exception pending after one that is not suppressible, or of a key.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
DLBRIDGE_INLINE bool can_read_fields(type_entry const& type, PyObject* object) noexcept {
  PyTypeObject* const array_type = type.array_type;
  return array_type != nullptr && (type.is_ndarray() || exports_fields(type, object)) &&
         can_read_ndarrays(array_type);
}

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
inline bool has_same_elements(tensor_view const& now, tensor_view const& before) noexcept {
  auto const position = [](tensor_view const& view) {
    return reinterpret_cast<std::uintptr_t>(view.data()) + view.byte_offset();
  };
  bool is_same = position(now) == position(before) && now.dtype() == before.dtype() &&
                 now.rank() == before.rank();
  for (int i = 0; is_same && i < now.rank(); ++i) {
    is_same = now.extent(i) == before.extent(i) &&
              (now.extent(i) <= 1 || now.stride(i) == before.stride(i));
  }
  return is_same || (now.empty() && before.empty());
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
