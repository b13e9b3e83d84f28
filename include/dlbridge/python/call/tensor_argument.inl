// The inline bodies of tensor_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class P>
inline load_result tensor_argument<P>::load(PyObject* object, load_options how) noexcept {
  object_ = object;
  if (traits::mode != import_mode::own && own_.try_borrow_fast(object, checked())) {
    return load_result::fast;
  }
  return !import_and_check(how) ? load_result::refused
         : is_read_directly()   ? load_result::fast
                                : load_result::after_python;
}

template <class P>
inline bool tensor_argument<P>::claim(bool& runs_python) noexcept {
  if (!is_taken()) {
    return true;
  }
  runs_python = true;
  return import_alone(traits::mode, need.where) && accepts(own_.view());
}

template <class P>
inline P tensor_argument<P>::extract() noexcept {
  if constexpr (traits::optional) {
    return object_ == Py_None ? P() : P(traits::make(imported(), object_));
  } else {
    return traits::make(imported(), object_);
  }
}

template <class P>
inline requirement tensor_argument<P>::checked() noexcept {
  constexpr std::int64_t const* extents =
      dlbridge::detail::without_free_extents(traits::required()).extents;
  requirement result = traits::required();
  result.extents = extents;
  return result;
}

template <class P>
bool tensor_argument<P>::import_and_check(load_options how) noexcept {
  if (is_none()) {
    return true;
  }
  if (!import_argument(how.shared)) {
    return false;
  }
  if constexpr (traits::required().converts) {
    if (how.convert && !accepts(imported().view())) {
      return convert_in(need, &traits::convert);
    }
  }
  return accepts(imported().view());
}

template <class P>
inline bool tensor_argument<P>::import_argument(bool shared) noexcept {
  if constexpr (traits::takes_others) {
    if (traits::is_other(object_)) {
      return take(traits::import_other(object_));
    }
  }
  bool const is_imported = import_in(traits::mode, need.where, shared);
  if constexpr (traits::takes_others) {
    if (!is_imported) {
      this->name_others(traits::other_names.data, need.writable);
    }
  } else if (!is_imported && need.writable) {
    this->name_others("", true);
  }
  return is_imported && (!need.writable || may_write_in());
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
