// read_iterators: keeps the elements of the iterators among the arguments of one call, so that each
// overload and each alternative reads the same ones.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The iterators that a call has read, at any depth of its arguments. An iterator yields its
/// elements once, and a call tries several C++ types on one object.
/// @par Thread and GIL
/// The caller holds the GIL as long as the object exists.
class read_iterators {
 public:
  /// Reads an iterator, or returns what an earlier reading of it yielded.
  /// @return a tuple of the elements; or an empty ref with the exception set that reading raised,
  /// at every call for this iterator
  DLBRIDGE_COLD ref elements_of(PyObject* iterator) noexcept {
    if (!read_ && !(read_ = ref::steal(api<PyList_New>(0)))) {
      return ref();
    }
    for (Py_ssize_t i = 0; i + 1 < PyList_GET_SIZE(read_.get()); i += 2) {
      if (PyList_GET_ITEM(read_.get(), i) == iterator) {
        return give(ref::borrow(PyList_GET_ITEM(read_.get(), i + 1)));
      }
    }
    ref outcome = ref::steal(api<PySequence_Tuple>(iterator));
    if (!outcome) {
      outcome = take_exception();
    }
    bool const is_kept = api<PyList_Append>(read_.get(), iterator) == 0 &&
                         api<PyList_Append>(read_.get(), outcome.get()) == 0;
    return is_kept ? give(std::move(outcome)) : ref();
  }

 private:
  static ref give(ref outcome) noexcept {
    if (PyTuple_CheckExact(outcome.get())) {
      return outcome;
    }
    set_exception(std::move(outcome));
    return ref();
  }

  ref read_{};  // a list of iterators, each followed by a tuple or by an exception
};

/// How an element of an argument is converted.
struct element_mode {
  bool exact;                 ///< accepts no number that is to be converted to the type
  read_iterators* iterators;  ///< those of the call
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
