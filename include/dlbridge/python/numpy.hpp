// Reads ndarrays by their fields, without a capsule, once a self-test has found those fields where
// they should be.
// floor 8 · IN: the shortest road, from the most common producer
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/ask.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/type_cache.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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
static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t) || sizeof(void*) < 8,
              "extents of NumPy are read as DLPack's");

constexpr int ndarray_writable = 0x0400;
constexpr int direct_rank = 8;

// NumPy's type numbers, as far as DLPack has the type; log2 of the size shifts byte strides.
struct ndarray_type {
  DLDataType type;
  std::uint8_t shift;
};
template <class T>
constexpr ndarray_type integer_type(std::uint8_t code) noexcept {
  return {{code, static_cast<std::uint8_t>(sizeof(T) * 8), 1},
          static_cast<std::uint8_t>(sizeof(T) == 1   ? 0
                                    : sizeof(T) == 2 ? 1
                                    : sizeof(T) == 4 ? 2
                                                     : 3)};
}
DLBRIDGE_LOCAL inline constexpr ndarray_type ndarray_types[24] = {
    {{kDLBool, 8, 1}, 0},
    integer_type<signed char>(kDLInt),
    integer_type<unsigned char>(kDLUInt),
    integer_type<short>(kDLInt),
    integer_type<unsigned short>(kDLUInt),
    integer_type<int>(kDLInt),
    integer_type<unsigned int>(kDLUInt),
    integer_type<long>(kDLInt),
    integer_type<unsigned long>(kDLUInt),
    integer_type<long long>(kDLInt),
    integer_type<unsigned long long>(kDLUInt),
    {{kDLFloat, 32, 1}, 2},
    {{kDLFloat, 64, 1}, 3},
    {{0, 0, 0}, 0},  // long double
    {{kDLComplex, 64, 1}, 3},
    {{kDLComplex, 128, 1}, 4},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{0, 0, 0}, 0},
    {{kDLFloat, 16, 1}, 1},
};

// Shows an ndarray; its strides, in elements, go to eight integers of the caller's. False for
// whatever is out of the ordinary: __dlpack__ takes it, or refuses it in words.
DLBRIDGE_INLINE bool show_ndarray(PyObject* object, DLTensor& out, std::int64_t* strides,
                                  std::uint64_t& flags) noexcept {
  auto const& array = *reinterpret_cast<ndarray_fields const*>(object);
  auto const& descr = *reinterpret_cast<descr_fields const*>(array.descr);
  auto const number = static_cast<unsigned>(descr.number);
  if (array.rank > direct_rank || number >= sizeof ndarray_types / sizeof ndarray_types[0] ||
      ndarray_types[number].type.lanes == 0 ||
      (descr.byte_order != '=' && descr.byte_order != '|')) {
    return false;
  }
  ndarray_type const& found = ndarray_types[number];
  std::int64_t const below_size = (std::int64_t{1} << found.shift) - 1;
  std::int64_t odd = 0;
  for (int i = 0; i < array.rank; ++i) {
    odd |= array.extents[i] == 1 ? 0 : array.byte_strides[i] & below_size;
    strides[i] = array.byte_strides[i] >> found.shift;
  }
  out.data = array.data;
  out.device = {kDLCPU, 0};
  out.ndim = array.rank;
  out.dtype = found.type;
  out.shape = reinterpret_cast<std::int64_t*>(array.extents);
  out.strides = strides;
  out.byte_offset = 0;
  flags = (array.flags & ndarray_writable) != 0 ? 0 : flag_read_only;
  return odd == 0;
}

// Whether the fields of this array say what its __dlpack__ says.
DLBRIDGE_COLD inline bool agrees(PyObject* array) noexcept {
  DLTensor shown;
  std::int64_t strides[direct_rank];
  std::uint64_t flags = 0;
  call_keywords keywords;
  keywords.max_version = stated_version_object();
  ref const capsule = call_dlpack(array, type_cache::find(Py_TYPE(array)), keywords);
  report why;
  managed_tensor const told = capsule ? steal_capsule(capsule.get(), why) : managed_tensor();
  if (!told || told.flavour() != flavour::versioned ||
      !show_ndarray(array, shown, strides, flags)) {
    return false;
  }
  DLTensor const& t = told.tensor();
  auto const bytes = static_cast<std::size_t>(t.ndim) * sizeof(std::int64_t);
  return t.data == shown.data && t.byte_offset == 0 && t.ndim == shown.ndim &&
         dtype(t.dtype) == dtype(shown.dtype) && std::memcmp(t.shape, shown.shape, bytes) == 0 &&
         std::memcmp(t.strides, strides, bytes) == 0 && (told.flags() & flag_read_only) == flags;
}

// Tries arrays of every type number in an odd order of memory, writable and not.
DLBRIDGE_COLD inline bool test_ndarrays(PyTypeObject* type) noexcept {
  if (type->tp_basicsize < static_cast<Py_ssize_t>(sizeof(ndarray_fields))) {
    return false;
  }
  ref const numpy = ref::steal(PyImport_ImportModule("numpy"));
  ref const version =
      numpy ? ref::steal(PyObject_GetAttrString(numpy.get(), "__version__")) : ref();
  char const* const text =
      version && PyUnicode_Check(version.get()) ? PyUnicode_AsUTF8(version.get()) : nullptr;
  if (text == nullptr || (std::strncmp(text, "1.", 2) != 0 && std::strncmp(text, "2.", 2) != 0)) {
    return false;
  }
  bool all = true;
  for (char const* code = "?bBhHiIlLqQefdFD"; *code != '\0' && all; ++code) {
    ref const plain = ref::steal(
        PyObject_CallMethod(numpy.get(), "zeros", "((iii)C)", 2, 3, 4, static_cast<int>(*code)));
    ref const turned =
        plain ? ref::steal(PyObject_CallMethod(plain.get(), "transpose", "iii", 1, 0, 2)) : ref();
    ref const odd =
        turned ? ref::steal(PyObject_CallMethod(numpy.get(), "flip", "Oi", turned.get(), 1))
               : ref();
    all = odd && Py_TYPE(odd.get()) == type && agrees(plain.get()) && agrees(odd.get());
    ref const closed = all ? ref::steal(PyObject_CallMethod(odd.get(), "setflags", "i", 0)) : ref();
    all = closed && agrees(odd.get());
  }
  return all;
}

/// Whether objects of numpy.ndarray, and of nothing derived from it, may be read by their fields:
/// found out once. GIL: held; Python code runs the first time, with no exception pending.
DLBRIDGE_LOCAL inline bool can_show_ndarrays(PyTypeObject* type) noexcept {
  static PyTypeObject* tested = nullptr;
  static bool passed = false;
  if (tested != type) {
    passed = sizeof(void*) == 8 && test_ndarrays(type);
    PyErr_Clear();
    tested = type;
  }
  return passed;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
