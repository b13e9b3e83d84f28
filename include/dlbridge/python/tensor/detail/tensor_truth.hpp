// truth_of_tensor, refuse_comparison: implement bool(tensor), and the refusals of == and !=.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Whether a dtype is that of booleans, integers, or IEEE-like floats, whose zeros are +0 and -0,
// and its numbers, two of a complex one, have whole bytes.
inline bool has_ordinary_zero(dtype type) noexcept {
  bool const is_listed = type.code == kDLBool || type.code == kDLInt || type.code == kDLUInt ||
                         type.code == kDLFloat || type.code == kDLBfloat || is_complex(type);
  return is_listed && type.lanes == 1 && type.bits % (is_complex(type) ? 16 : 8) == 0;
}

// Whether a scalar of such a dtype differs from zero. The numbers of a float have a sign bit, which
// is the highest bit of the number's last byte on a little-endian machine, of its first on others.
inline bool is_nonzero(void const* scalar, dtype type) noexcept {
  bool const has_sign = type.code != kDLBool && type.code != kDLInt && type.code != kDLUInt;
  int const numbers = is_complex(type) ? 2 : 1;
  int const bytes = type.bits / 8 / numbers;
  unsigned char byte[32];
  std::memcpy(byte, scalar, static_cast<std::size_t>(bytes * numbers));
  constexpr std::uint16_t one = 1;
  bool const is_little = *reinterpret_cast<unsigned char const*>(&one) == 1;
  unsigned bits = 0;
  for (int i = 0; i < bytes * numbers; ++i) {
    bool const holds_sign = has_sign && i % bytes == (is_little ? bytes - 1 : 0);
    bits |= holds_sign ? byte[i] & 0x7FU : byte[i];
  }
  return bits != 0;
}

// The remedy for memory that the CPU cannot read: dlbridge copies that of CUDA and ROCm only.
inline char const* advice_to_copy(tensor_view const& view, char const* by_copy) noexcept {
  return runtime_of_memory(view.device()) != runtime_kind::none
             ? by_copy
             : "Copy it to the CPU first, with its own library";
}

// The remedy for a dtype whose elements Python code cannot read.
inline char const* advice_on_values(dtype type) noexcept {
  return type.lanes != 1 ? "view it as a dtype of one lane, with t.view(...)"
                         : "convert it with its library";
}

// Implements nb_bool: the truth of the one element, as in the array API. Returns -1 with ValueError
// set for another number of elements, with BufferError for memory that the CPU cannot read, and
// with TypeError for a dtype without an ordinary zero.
DLBRIDGE_COLD inline int truth_of_tensor(PyObject* object) noexcept {
  tensor_object const& self = tensor_in(object);
  tensor_view const& view = self.view;
  if (view.count() != 1) {
    api<PyErr_Format>(
        PyExc_ValueError,
        "bool() expects a tensor of one element, not %s: a tensor of %s elements has no truth "
        "value; test it with its library, such as np.from_dlpack(t).any()",
        name_of(view).c_str(), view.empty() ? "no" : "several");
    return -1;
  }
  if (!is_host_accessible(view.device())) {
    set_error(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(view).c_str(),
                      advice_to_copy(view, "Copy it first, with from_dlpack(t, device='cpu')")),
              "bool");
    return -1;
  }
  if (!has_ordinary_zero(view.dtype())) {
    api<PyErr_Format>(PyExc_TypeError,
                      "bool() expects a tensor of booleans, integers, floats or complex numbers, "
                      "not %s; %s",
                      name_of(view).c_str(), advice_on_values(view.dtype()));
    return -1;
  }
  if (!wait_until_ready(self)) {
    return -1;
  }
  return is_nonzero(view.data(), view.dtype()) ? 1 : 0;
}

// Raises that a Tensor does not compare its elements with an object.
DLBRIDGE_COLD inline PyObject* refuse_comparison(PyObject* self, PyObject* other,
                                                 char const* remedy) noexcept {
  return api<PyErr_Format>(
      PyExc_TypeError, "a Tensor does not compare its elements, %s, with one of type %.200s; %s",
      name_of(tensor_in(self).view).c_str(), Py_TYPE(other)->tp_name, remedy);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
