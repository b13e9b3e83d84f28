// The bodies of numpy_arrays.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/python/call/detail/numpy_arrays.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API ref numpy_arrays::give(managed_tensor& m) const noexcept {
  tensor_view const view = m.view();
  PyObject* const descr = descrs_[place_of(view.dtype())];
  if (descr == nullptr || view.device() != cpu || view.rank() > most_dims) {
    return ref();
  }
  std::int64_t strides[most_dims];
  view.copy_strides(strides);
  Py_ssize_t byte_strides[most_dims];  // a product may wrap where it leads to no element
  auto const bytes = static_cast<std::uint64_t>(view.dtype().abi().bits / 8);
  for (int i = 0; i < view.rank(); ++i) {
    byte_strides[i] = static_cast<Py_ssize_t>(static_cast<std::uint64_t>(strides[i]) * bytes);
  }
  void* const data = nonnull_address(view);  // NumPy would allocate memory for null
  ref owner = wrap_tensor(std::move(m));
  ref array = owner ? make(descr, view.rank(), view.shape(), byte_strides, data,
                           view.read_only() ? 0 : ndarray_writable)
                    : ref();
  if (array && call_slot(set_base_object_, array.get(), owner.release()) != 0) {
    array = ref();
  }
  return array;
}

DLBRIDGE_API managed_tensor numpy_arrays::allocate(dtype type, dims const& shape,
                                                   ref& object) const noexcept {
  managed_tensor result;
  PyObject* const descr = descrs_[place_of(type)];
  if (descr == nullptr || shape.size() > direct_rank) {
    return result;
  }
  ref array = make(descr, shape.size(), shape.data(), nullptr, nullptr, 0);
  DLTensor fields;
  copied_dims copied;
  std::uint64_t flags = 0;
  if (!array || !read_ndarray(array.get(), fields, copied, flags)) {
    return result;
  }
  result = own_ndarray(array.get(), fields, flags, version{stated_major, stated_minor});
  if (result) {
    object = std::move(array);
  } else {
    api<PyErr_NoMemory>();
  }
  return result;
}

DLBRIDGE_API int numpy_arrays::place_of(dtype type) noexcept {
  DLDataType const t = type.abi();
  int size = 0;
  while (size < sizes && 8 << size != t.bits) {
    ++size;
  }
  return t.code < codes && size < sizes && t.lanes == 1 ? t.code * sizes + size : codes * sizes;
}

DLBRIDGE_API ref numpy_arrays::make(PyObject* descr, int rank, std::int64_t const* shape,
                                    Py_ssize_t const* byte_strides, void* data,
                                    int flags) const noexcept {
  Py_INCREF(descr);
  return ref::steal(call_slot(new_from_descr_, type_, descr, rank,
                              reinterpret_cast<Py_ssize_t const*>(shape), byte_strides, data, flags,
                              static_cast<PyObject*>(nullptr)));
}

DLBRIDGE_API numpy_arrays const* find_numpy_arrays() noexcept {
  enum state : int { unknown, copying, works, fails };
  static std::atomic<int> known{unknown};  // std::atomic<state> would not be hidden
  static numpy_arrays arrays;
  if (known.load(std::memory_order_acquire) == unknown) {
    numpy_arrays loaded;
    bool const is_usable = !uses_protocol_only() && loaded.load();
    if (!is_usable && !suppress_exception()) {
      return nullptr;
    }
    int expected = unknown;  // another thread may have loaded them meanwhile
    if (known.compare_exchange_strong(expected, is_usable ? copying : fails) && is_usable) {
      arrays = loaded;
      known.store(works, std::memory_order_release);
    }
  }
  return known.load(std::memory_order_acquire) == works ? &arrays : nullptr;
}

constexpr unsigned numpy_abi_numbers[] = {0x01000009, 0x02000000};

DLBRIDGE_NOINLINE DLBRIDGE_API bool numpy_arrays::load() noexcept {
  ref capsule = import_function("numpy._core._multiarray_umath", "_ARRAY_API");
  // NumPy before 1.26 has another name, under which NumPy 2 prints a warning.
  if (!capsule && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
    api<PyErr_Clear>();
    capsule = import_function("numpy.core._multiarray_umath", "_ARRAY_API");
  }
  ref const type = capsule ? import_function("numpy", "ndarray") : ref();
  if (!type || sizeof(void*) != 8 || !PyCapsule_CheckExact(capsule.get())) {
    return false;
  }
  auto* const table = static_cast<void**>(api<PyCapsule_GetPointer>(capsule.get(), nullptr));
  if (table == nullptr || !has_known_abi(table) ||
      table[static_cast<int>(numpy_entry::array_type)] != type.get()) {
    return false;
  }
  type_ = reinterpret_cast<PyTypeObject*>(type.get());
  new_from_descr_ = entry<new_from_descr*>(table, numpy_entry::new_from_descr);
  set_base_object_ = entry<set_base_object*>(table, numpy_entry::set_base_object);
  return object_size(type_) >= static_cast<Py_ssize_t>(sizeof(ndarray_fields)) && load_descrs() &&
         test_borrowed() && test_allocated();
}

DLBRIDGE_API bool numpy_arrays::has_known_abi(void** table) noexcept {
  unsigned const number = call_slot(entry<unsigned (*)()>(table, numpy_entry::abi_number));
  return number == numpy_abi_numbers[0] || number == numpy_abi_numbers[1];
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool numpy_arrays::load_descrs() noexcept {
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  for (format_row const& row : format_rows) {
    dtype const type(row.code, row.bits);
    ref descr =
        numpy
            ? ref::steal(api<PyObject_CallMethod>(numpy.get(), "dtype", "s", name_of(type).c_str()))
            : ref();
    if (!descr) {
      return false;
    }
    auto const number =
        static_cast<unsigned>(reinterpret_cast<descr_fields const*>(descr.get())->number);
    if (number >= ndarray_type_count || dtype(ndarray_types[number].type) != type) {
      return false;
    }
    descrs_[place_of(type)] = descr.release();  // never released
  }
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool numpy_arrays::test_borrowed() const noexcept {
  double memory[6] = {};
  std::int64_t const shape[] = {2, 3};
  Py_ssize_t const byte_strides[] = {-24, 8};
  PyObject* const descr = descrs_[place_of(dtype_of<double>())];
  bool all = true;
  for (int flags : {0, ndarray_writable}) {
    ref const array = all ? make(descr, 2, shape, byte_strides, memory + 3, flags) : ref();
    if (!array) {
      return false;
    }
    ndarray_fields const& fields = *reinterpret_cast<ndarray_fields const*>(array.get());
    all = Py_TYPE(array.get()) == type_ && fields.data == reinterpret_cast<char*>(memory + 3) &&
          fields.rank == 2 && fields.extents[0] == 2 && fields.extents[1] == 3 &&
          fields.byte_strides[0] == -24 && fields.byte_strides[1] == 8 && fields.base == nullptr &&
          fields.descr == descr && (fields.flags & ndarray_writable) == flags;
    ref base = ref::borrow(descr);
    all = all && call_slot(set_base_object_, array.get(), base.release()) == 0 &&
          fields.base == descr;
  }
  return all;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool numpy_arrays::test_allocated() const noexcept {
  std::int64_t const shape[] = {2, 3};
  ref const array = make(descrs_[place_of(dtype_of<float>())], 2, shape, nullptr, nullptr, 0);
  DLTensor fields;
  copied_dims copied;
  std::uint64_t flags = 0;
  return array && read_ndarray(array.get(), fields, copied, flags) && fields.data != nullptr &&
         fields.ndim == 2 && copied.shape[0] == 2 && copied.shape[1] == 3 &&
         copied.strides[0] == 3 && copied.strides[1] == 1 && flags == 0;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
