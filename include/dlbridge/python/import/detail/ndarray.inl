// The inline bodies of ndarray.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>

#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/types/complex.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
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

// The self-test: arrays of every dtype, row-major and with permuted and negative strides, writable
// and read-only.
DLBRIDGE_COLD bool test_ndarrays(PyTypeObject* type) noexcept;

bool read_ndarray(PyObject* object, DLTensor& out, copied_dims& dims,
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

bool can_read_ndarrays(PyTypeObject* type) noexcept {
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

bool can_read_fields(type_entry const& type, PyObject* object) noexcept {
  PyTypeObject* const array_type = type.array_type;
  return array_type != nullptr && (type.is_ndarray() || exports_fields(type, object)) &&
         can_read_ndarrays(array_type);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
