// get_flags: the flags of a Tensor, an int with the names of NumPy's flags as attributes and keys.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// The bits of ndarray.flags.num that an array on the memory of a Tensor may have. It owns no
// memory.
constexpr int array_row_major = 0x1;
constexpr int array_column_major = 0x2;
constexpr int array_aligned = 0x100;
constexpr int array_writable = 0x400;
constexpr int array_behaved = array_aligned | array_writable;
constexpr int array_all = ~0;  // more bits than any Tensor has

// A name of ndarray.flags: an attribute, and the keys that mean the same, each followed by a space.
// It is true where the array has all bits of `all`, one of those of `any`, if there are some, and
// none of `none`.
struct array_flag {
  char const* name;
  char const* keys;
  int all;
  int any;
  int none;
};
constexpr array_flag array_flags[] = {
    {"c_contiguous", "C C_CONTIGUOUS CONTIGUOUS ", array_row_major, 0, 0},
    {"contiguous", "", array_row_major, 0, 0},
    {"f_contiguous", "F F_CONTIGUOUS FORTRAN ", array_column_major, 0, 0},
    {"fortran", "", array_column_major, 0, 0},
    {"owndata", "O OWNDATA ", array_all, 0, 0},
    {"writeable", "W WRITEABLE ", array_writable, 0, 0},
    {"aligned", "A ALIGNED ", array_aligned, 0, 0},
    {"writebackifcopy", "X WRITEBACKIFCOPY ", array_all, 0, 0},
    {"fnc", "FNC ", array_column_major, 0, array_row_major},
    {"forc", "FORC ", 0, array_row_major | array_column_major, 0},
    {"behaved", "B BEHAVED ", array_behaved, 0, 0},
    {"carray", "CA CARRAY ", array_behaved | array_row_major, 0, 0},
    // As NumPy computes it, although its name promises all of these bits.
    {"farray", "FA FARRAY ", 0, array_behaved | array_column_major, array_row_major},
};

inline bool has_flag(int bits, array_flag const& flag) noexcept {
  return (bits & flag.all) == flag.all && (flag.any == 0 || (bits & flag.any) != 0) &&
         (bits & flag.none) == 0;
}

// The types of flags: an int has no room for the bits that depend on the layout and the address, so
// each combination of them has a type of its own. In the order of row-major, column-major and
// aligned, as bits of the index.
DLBRIDGE_LOCAL inline lazy_object* flags_types() noexcept {
  static lazy_object types[8];
  return types;
}

// The bits of a flags object; -1 with an exception set.
inline int array_bits(PyObject* self) noexcept {
  unsigned long long const own = api<PyLong_AsUnsignedLongLong>(self);
  if (own == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    return -1;
  }
  int bits = (own & flag_read_only) == 0 ? array_writable : 0;
  for (int i = 0; i < 8; ++i) {
    if (flags_types()[i].get([]() noexcept { return ref(); }) ==
        reinterpret_cast<PyObject*>(Py_TYPE(self))) {
      bits |= (i & 3) | ((i & 4) != 0 ? array_aligned : 0);
    }
  }
  return bits;
}

inline PyObject* get_array_flag(PyObject* self, void* flag) noexcept {
  int const bits = array_bits(self);
  return bits < 0 ? nullptr : PyBool_FromLong(has_flag(bits, *static_cast<array_flag*>(flag)));
}
inline PyObject* get_array_bits(PyObject* self, void*) noexcept {
  int const bits = array_bits(self);
  return bits < 0 ? nullptr : PyLong_FromLong(bits);
}

// flags[key]; KeyError as NumPy raises it.
inline PyObject* flags_item(PyObject* self, PyObject* key) noexcept {
  char const* const text = text_in(key);
  std::size_t const length =
      text != nullptr && std::strchr(text, ' ') == nullptr ? std::strlen(text) : 0;
  for (array_flag const& flag : array_flags) {
    for (char const* each = flag.keys; length != 0 && *each != '\0';
         each = std::strchr(each, ' ') + 1) {
      if (std::strncmp(each, text, length) == 0 && each[length] == ' ') {
        return get_array_flag(self, const_cast<array_flag*>(&flag));
      }
    }
  }
  if (PyErr_Occurred() == nullptr) {
    api<PyErr_Format>(PyExc_KeyError, "ndarray.flags has no key %R", key);
  }
  return nullptr;
}

inline PyObject* reduce_flags(PyObject* self, PyObject*) noexcept {
  ref const plain = ref::steal(api<PyNumber_Long>(self));
  return plain ? api<Py_BuildValue>("O(O)", &PyLong_Type, plain.get()) : nullptr;
}

DLBRIDGE_LOCAL inline PyGetSetDef* flags_members() noexcept {
  constexpr std::size_t count = sizeof array_flags / sizeof *array_flags;
  static std::array<PyGetSetDef, count + 2> members = [] {
    std::array<PyGetSetDef, count + 2> rows{};  // the last one stays empty
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = {array_flags[i].name, &get_array_flag, nullptr, "As in numpy.ndarray.flags.",
                 const_cast<array_flag*>(&array_flags[i])};
    }
    rows[count] = {"num", &get_array_bits, nullptr, "As in numpy.ndarray.flags.", nullptr};
    return rows;
  }();
  return members.data();
}

DLBRIDGE_LOCAL inline PyObject* make_flags_type() noexcept {
  static PyMethodDef methods[] = {{"__reduce__", &reduce_flags, METH_NOARGS, "Pickles as an int."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The flags of DLPack as an int, with the names of NumPy's.")},
      {Py_tp_getset, flags_members()},
      {Py_tp_methods, methods},
      {Py_mp_subscript, reinterpret_cast<void*>(&flags_item)},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.flags", 0, 0, immutable_type, slots};
  ref const bases = ref::steal(api<PyTuple_Pack>(1, &PyLong_Type));
  return bases ? api<PyType_FromSpecWithBases>(&spec, bases.get()) : nullptr;
}

inline bool is_aligned(tensor_view const& view) noexcept {
  requirement aligned;
  aligned.where.type = device_filter::anywhere;
  aligned.alignment = scalar_alignment(view.dtype());
  return meets(view, aligned);
}

inline PyObject* get_flags(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  int const index = (view.is_row_major() ? array_row_major : 0) |
                    (view.is_column_major() ? array_column_major : 0) | (is_aligned(view) ? 4 : 0);
  ref const value = ref::steal(PyLong_FromUnsignedLongLong(view.flags()));
  PyObject* const type =
      value ? flags_types()[index].get([]() noexcept { return ref::steal(make_flags_type()); })
            : nullptr;
  ref const arguments = type != nullptr ? ref::steal(api<PyTuple_Pack>(1, value.get())) : ref();
  return arguments ? call_slot(PyLong_Type.tp_new, reinterpret_cast<PyTypeObject*>(type),
                               arguments.get(), static_cast<PyObject*>(nullptr))
                   : nullptr;
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
