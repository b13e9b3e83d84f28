// or_buffer<P>: a tensor parameter that also accepts Python buffers, such as bytes and array.array.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

/// A parameter of type P that accepts a DLPack producer as P does, and any other object with the
/// buffer protocol: bytes, bytearray, memoryview, array.array, mmap.mmap, an array of ctypes. The
/// function uses it as a P. The memory is not copied; that of bytes is read-only.
/// @tparam P a tensor parameter type: tensor_span, tensor, argument, convert, any_tensor,
///   any_argument, managed_tensor, or an or_numbers of one
/// @par Lifetime
/// As P. The buffer stays exported meanwhile, so that a bytearray cannot be resized.
template <class P>
class or_buffer : public P {
  static_assert(python::is_tensor_parameter<P> && !python::parameter<P>::optional,
                "dlbridge: or_buffer<P> extends a tensor parameter. Write "
                "std::optional<or_buffer<P>> to accept None");

 public:
  or_buffer(P parameter) noexcept(std::is_nothrow_move_constructible_v<P>)
      : P(std::move(parameter)) {}
};

namespace python {

template <class P>
struct parameter<or_buffer<P>> : parameter<P> {
  static constexpr bool takes_others = true;
  static constexpr bool takes_buffers = true;

  static or_buffer<P> make(imported_tensor& from, PyObject* object) noexcept {
    return or_buffer<P>(parameter<P>::make(from, object));
  }

  static bool is_other(PyObject* object) noexcept {
    if constexpr (parameter<P>::takes_others) {
      return is_buffer(object) || parameter<P>::is_other(object);
    } else {
      return is_buffer(object);
    }
  }
  static managed_tensor import_other(PyObject* object) noexcept {
    if constexpr (parameter<P>::takes_others) {
      if (!is_buffer(object)) {
        return parameter<P>::import_other(object);
      }
    }
    return detail::may_read_buffer(object) ? from_buffer(object) : managed_tensor();
  }

 private:
  // Whether the object is a buffer whose type has no __dlpack__.
  static bool is_buffer(PyObject* object) noexcept {
    return PyObject_CheckBuffer(object) != 0 && type_cache::get(Py_TYPE(object)).dlpack == nullptr;
  }
};

namespace detail {
template <class P>
struct result_kind<or_buffer<P>> : result_kind<P> {};
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
