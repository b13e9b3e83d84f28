// The bodies of returns.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/types/conversion_rules.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

DLBRIDGE_API void result_choice::add(result_choice const& more) noexcept {
  which = more.which ? more.which : which;
  narrows = narrows || more.narrows;
}

namespace python::detail {
// The position of the first element of compact host memory, with numbers of 64 bits, that a dtype
// of the same kind with fewer bits lacks, or rounds to infinity; or -1.
inline std::int64_t find_lost(tensor_view const& view, int bits) noexcept {
  dtype const type = view.dtype();
  bool const is_integer = dlbridge::detail::is_integer(type);
  std::uint64_t const lowest = type.code == kDLInt ? std::uint64_t{1} << (bits - 1) : 0;  // negated
  std::int64_t const words = type.bits / 64;  // in an element: two in a complex number
  std::int64_t const count = view.count() * words;
  auto const* const data = static_cast<char const*>(view.data());
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i * 8, sizeof word);
    std::uint64_t const magnitude = word << 1 >> 1;  // of a double, from 2^128 - 2^103 to infinity
    if (is_integer ? (word + lowest) >> bits != 0
                   : magnitude >= 0x47EFFFFFF0000000 && magnitude < 0x7FF0000000000000) {
      return i / words;
    }
  }
  return -1;
}

// Whether a result may come back in a narrower dtype that has its values.
inline bool may_narrow(dtype from, dtype to, bool rounds) noexcept {
  bool const is_rounded = to == dtype(kDLFloat, 32) || to == dtype(kDLComplex, 64);
  return from.code == to.code &&
         (dlbridge::detail::is_integer(from) ? from.bits == 64 && to.bits < 64
                                             : rounds && is_rounded && from.bits == 2 * to.bits);
}

// Whether an array states elements of this size. Another exception than AttributeError may be set.
inline bool states_item_size(PyObject* array, long long bytes) noexcept {
  ref const type = optional_attribute(array, "dtype");
  ref const size = type ? optional_attribute(type.get(), "itemsize") : ref();
  return size && PyLong_CheckExact(size.get()) && api<PyLong_AsLongLong>(size.get()) == bytes;
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref keep_values(ref object, PyObject* producer,
                                               tensor_view const& built, result_choice as,
                                               char const* wider) noexcept {
  // JAX, which has a remedy, changes nothing but the size. To ask for it costs a hundredth of the
  // result; an import costs a fourth.
  if (*wider != '\0' && states_item_size(object.get(), built.dtype().bits / 8)) {
    return object;
  }
  managed_tensor const returned =
      suppress_exception() ? import_producer(object.get()) : managed_tensor();
  dtype const to = returned ? returned.view().dtype() : built.dtype();
  if (to == built.dtype()) {  // or an object without DLPack
    return suppress_exception() ? std::move(object) : ref();
  }
  report why = refusal(errc::dtype_mismatch, name_of(built).c_str(), "");
  why.expected.append(", as the function returned");
  append_name(why.got.append(detail::type_name(Py_TYPE(object.get())).c_str()).append(" of "), to);
  if (may_narrow(built.dtype(), to, as.narrows || module_results.narrows)) {
    import_request request;
    request.has_target = true;  // the CPU
    request.copy = built.is_row_major() ? copy_policy::if_needed : copy_policy::always;
    managed_tensor const on_host = import_tensor(producer, request);
    std::int64_t position = on_host ? find_lost(on_host.view(), to.bits) : built.empty() ? -1 : 0;
    if (!suppress_exception() || position < 0) {
      return position < 0 ? std::move(object) : ref();
    }
    std::int64_t index[max_rank];
    for (int i = built.rank() - 1; i >= 0; position /= built.extent(i--)) {
      index[i] = position % built.extent(i);
    }
    append_extents(
        why.got.append(on_host ? ", which lacks the value at " : ", which may lack the value at "),
        built.rank(), index);
  }
  bounded_text<240> advice(wider);
  if (!as.which) {
    advice.append(advice.empty() ? "Pass numpy.asarray of the argument"
                                 : ", or pass numpy.asarray of the argument");
  }
  why.advice = advice.empty() ? nullptr : advice.c_str();
  object = ref();
  set_error(why);
  return ref();
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
