// refused_call: finds why a binding library refused a call before the C++ function could import its
// arguments.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

/// Whether an exception is the TypeError by which pybind11 and nanobind refuse a call of a
/// function, which does not say which argument they refused.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline bool is_refusal_of(char const* function, PyObject* exception) noexcept {
  if (reinterpret_cast<PyObject*>(Py_TYPE(exception)) != PyExc_TypeError) {
    return false;
  }
  ref const text = ref::steal(api<PyObject_Str>(exception));
  char const* const message = text ? api<PyUnicode_AsUTF8>(text.get()) : nullptr;
  std::size_t const length = std::strlen(function);
  char const* const start = "(): incompatible ";
  return suppress_exception() && message != nullptr &&
         std::strncmp(message, function, length) == 0 &&
         std::strncmp(message + length, start, std::strlen(start)) == 0;
}

/// The arguments of a refused call beside the parameters of a function. The parameters are counted
/// from 0, without those that take all further arguments.
/// @tparam Signature size() is the number of parameters, positional() of those that positional
/// arguments fill, and positional_only() of those that keywords do not; takes_args() and
/// takes_kwargs(); name(i) or null; has_default(i); is_method()
/// @par Thread and GIL
/// The caller of every member holds the GIL.
template <class Signature>
class refused_call {
 public:
  // keywords: a tuple of names, whose values follow the count positional arguments; or null
  refused_call(Signature const& own, PyObject* const* args, std::size_t count,
               PyObject* keywords) noexcept
      : own_(own), args_(args), count_(count), keywords_(keywords) {}

  /// The position of parameter i in messages, counted from 1. Methods do not count their self.
  int position(std::size_t i) const noexcept {
    return static_cast<int>(i) + (own_.is_method() ? 0 : 1);
  }

  /// Why the arguments are not one for each parameter; empty if they are. The texts are those of
  /// def_fast.
  DLBRIDGE_COLD ref reason() const noexcept {
    std::size_t const self = own_.is_method() ? 1 : 0;
    if (count_ > own_.positional() && !own_.takes_args()) {
      std::size_t const limit = own_.positional() - self;
      bool const has_keyword_only = own_.size() > own_.positional();
      return ref::steal(api<PyUnicode_FromFormat>("takes %zu %sargument%s, not %zu", limit,
                                                  has_keyword_only ? "positional " : "",
                                                  limit == 1 ? "" : "s", count_ - self));
    }
    for (std::size_t k = 0; !own_.takes_kwargs() && k < keyword_count(); ++k) {
      std::size_t i = 0;
      while (i < own_.size() && !is_named(i, key(k))) {
        ++i;
      }
      if (i == own_.size() || i < own_.positional_only()) {
        return ref::steal(api<PyUnicode_FromFormat>(i == own_.size()
                                                        ? "got an unexpected keyword argument %R"
                                                        : "takes argument %R by position only",
                                                    key(k)));
      }
    }
    for (std::size_t i = 0; i < own_.size(); ++i) {
      char const* const name = own_.name(i);
      bool const is_keyword = keyword(i) != nullptr;
      if (is_positional(i) && is_keyword) {
        return ref::steal(api<PyUnicode_FromFormat>("got several values for argument '%s'", name));
      }
      if (!is_positional(i) && !is_keyword && !own_.has_default(i)) {
        return ref::steal(name != nullptr
                              ? api<PyUnicode_FromFormat>("is missing argument '%s'", name)
                              : api<PyUnicode_FromFormat>("is missing argument %d", position(i)));
      }
    }
    return ref();
  }

  /// The argument of parameter i, borrowed; null if the call leaves it to its default.
  PyObject* argument(std::size_t i) const noexcept {
    return is_positional(i) ? args_[i] : keyword(i);
  }

 private:
  std::size_t keyword_count() const noexcept {
    return keywords_ != nullptr ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords_)) : 0;
  }
  PyObject* key(std::size_t k) const noexcept {
    return PyTuple_GET_ITEM(keywords_, static_cast<Py_ssize_t>(k));
  }
  bool is_named(std::size_t i, PyObject* key) const noexcept {
    char const* const name = own_.name(i);
    return name != nullptr && detail::is_text(key, name);
  }
  PyObject* keyword(std::size_t i) const noexcept {
    std::size_t k = i < own_.positional_only() ? keyword_count() : 0;
    while (k < keyword_count() && !is_named(i, key(k))) {
      ++k;
    }
    return k < keyword_count() ? args_[count_ + k] : nullptr;
  }
  bool is_positional(std::size_t i) const noexcept { return i < count_ && i < own_.positional(); }

  Signature own_;
  PyObject* const* args_;
  std::size_t count_;
  PyObject* keywords_;
};

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
