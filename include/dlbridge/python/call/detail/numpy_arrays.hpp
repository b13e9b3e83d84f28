// numpy_arrays: creates ndarrays by NumPy's C API, without the headers of NumPy.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// The entries of NumPy's table of functions that are used here. Their indices and signatures are
// the same in all versions with these ABI numbers, NumPy 1 and 2.
enum class numpy_entry : std::uint16_t {
  abi_number = 0,        // PyArray_GetNDArrayCVersion
  array_type = 2,        // PyArray_Type
  new_from_descr = 94,   // PyArray_NewFromDescr
  set_base_object = 282  // PyArray_SetBaseObject
};
constexpr unsigned numpy_abi_numbers[] = {0x01000009, 0x02000000};

/// NumPy's functions and dtypes that create an ndarray.
/// @par Thread and GIL
/// The caller holds the GIL in every member.
class numpy_arrays {
 public:
  static constexpr int most_dims = 32;  // in an array of NumPy 1; NumPy 2 has 64

  /// Looks the functions up, and tests them on arrays of a few elements.
  /// @return whether they work; an exception may be pending if they do not.
  DLBRIDGE_COLD bool load() noexcept {
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
    return type_->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(ndarray_fields)) &&
           load_descrs() && test_borrowed() && test_allocated();
  }

  /// Converts a tensor to an ndarray on the same memory, whose base is a Tensor that owns m.
  /// @return the array; empty, with m unchanged and without an exception, for a tensor that NumPy's
  ///   from_dlpack converts or refuses; or empty, with an exception set, after m has been freed.
  DLBRIDGE_LOCAL ref give(managed_tensor& m) const noexcept {
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

  /// Allocates a row-major tensor in an array that NumPy allocates.
  /// @param object receives the array.
  /// @return the tensor; empty, without an exception, where numpy.empty is to be called; or empty,
  ///   with an exception set.
  managed_tensor allocate(dtype type, dims const& shape, ref& object) const noexcept {
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

  static bool has_known_abi(void** table) noexcept {
    unsigned const number = call_slot(entry<unsigned (*)()>(table, numpy_entry::abi_number));
    return number == numpy_abi_numbers[0] || number == numpy_abi_numbers[1];
  }

  // The place of a dtype in descrs_; the last place, which stays null, for one that NumPy lacks.
  static int place_of(dtype type) noexcept {
    DLDataType const t = type.abi();
    int size = 0;
    while (size < sizes && 8 << size != t.bits) {
      ++size;
    }
    return t.code < codes && size < sizes && t.lanes == 1 ? t.code * sizes + size : codes * sizes;
  }

  // Asks NumPy for its dtypes by name: of the C types of one size it prefers one.
  DLBRIDGE_COLD bool load_descrs() noexcept {
    ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
    for (format_row const& row : format_rows) {
      dtype const type(row.code, row.bits);
      ref descr = numpy ? ref::steal(api<PyObject_CallMethod>(numpy.get(), "dtype", "s",
                                                              name_of(type).c_str()))
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

  // The function takes the reference to the dtype, also if it fails.
  ref make(PyObject* descr, int rank, std::int64_t const* shape, Py_ssize_t const* byte_strides,
           void* data, int flags) const noexcept {
    Py_INCREF(descr);
    return ref::steal(call_slot(new_from_descr_, type_, descr, rank,
                                reinterpret_cast<Py_ssize_t const*>(shape), byte_strides, data,
                                flags, static_cast<PyObject*>(nullptr)));
  }

  // Whether an array on memory of the caller has the fields that were asked for.
  DLBRIDGE_COLD bool test_borrowed() const noexcept {
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
            fields.byte_strides[0] == -24 && fields.byte_strides[1] == 8 &&
            fields.base == nullptr && fields.descr == descr &&
            (fields.flags & ndarray_writable) == flags;
      ref base = ref::borrow(descr);
      all = all && call_slot(set_base_object_, array.get(), base.release()) == 0 &&
            fields.base == descr;
    }
    return all;
  }

  // The same for an array on memory of NumPy.
  DLBRIDGE_COLD bool test_allocated() const noexcept {
    std::int64_t const shape[] = {2, 3};
    ref const array = make(descrs_[place_of(dtype_of<float>())], 2, shape, nullptr, nullptr, 0);
    DLTensor fields;
    copied_dims copied;
    std::uint64_t flags = 0;
    return array && read_ndarray(array.get(), fields, copied, flags) && fields.data != nullptr &&
           fields.ndim == 2 && copied.shape[0] == 2 && copied.shape[1] == 3 &&
           copied.strides[0] == 3 && copied.strides[1] == 1 && flags == 0;
  }

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
DLBRIDGE_LOCAL inline numpy_arrays const* find_numpy_arrays() noexcept {
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
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
