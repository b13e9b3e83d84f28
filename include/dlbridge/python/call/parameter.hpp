// parameter<P>: how a Python object becomes a C++ parameter of type P, and why it does not; one
// specialisation for each kind of tensor.
// layer: call · IN: from an argument to what the function takes
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/tensor.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// For def and def_fast: the function's result is a tensor of this library, whichever library its
/// arguments came from.
struct returns {
  library which;
};

namespace python {

/// For each tensor type:
///   is_tensor    true
///   optional     whether None is taken, as no tensor
///   borrows      whether it is only valid while the call holds the GIL and its arguments
///   mode         how the tensor comes in
///   required()   what it must be
///   make(i, o)   the parameter out of a checked imported_tensor i of object o
template <class P>
struct parameter {
  static constexpr bool is_tensor = false;
  static constexpr bool optional = false;
  static constexpr bool borrows = false;
};

namespace detail {
struct owning_parameter {
  static constexpr bool is_tensor = true;
  static constexpr bool optional = false;
  static constexpr bool borrows = false;
  static constexpr import_mode mode = import_mode::own;
};
struct untyped_parameter : owning_parameter {
  static constexpr requirement required() noexcept {
    requirement need;
    need.where.type = device_filter::anywhere;
    return need;
  }
};
}  // namespace detail

template <class T, class Shape, class... Constraints>
struct parameter<tensor_span<T, Shape, Constraints...>> : detail::owning_parameter {
  static constexpr bool borrows = true;
  static constexpr import_mode mode =
      std::is_const_v<T> ? import_mode::borrow_to_read : import_mode::borrow_to_write;
  using type = tensor_span<T, Shape, Constraints...>;
  static constexpr requirement required() noexcept { return type::required(); }
  static type make(imported_tensor& from, PyObject*) noexcept { return type::trust(from.view()); }
};
template <class T, class Shape, class... Constraints>
struct parameter<tensor<T, Shape, Constraints...>> : detail::owning_parameter {
  using type = tensor<T, Shape, Constraints...>;
  static constexpr requirement required() noexcept { return type::required(); }
  static type make(imported_tensor& from, PyObject*) noexcept {
    return type::trust(std::move(from.owned()));
  }
};
template <class T, class Shape, class... Constraints>
struct parameter<argument<T, Shape, Constraints...>> : detail::owning_parameter {
  using type = argument<T, Shape, Constraints...>;
  static constexpr requirement required() noexcept { return type::required(); }
  static type make(imported_tensor& from, PyObject* object) noexcept {
    return type(type::owner_type::trust(std::move(from.owned())), origin(object));
  }
};
template <>
struct parameter<any_tensor> : detail::untyped_parameter {
  static any_tensor make(imported_tensor& from, PyObject*) noexcept {
    return any_tensor(std::move(from.owned()));
  }
};
template <>
struct parameter<managed_tensor> : detail::untyped_parameter {
  static managed_tensor make(imported_tensor& from, PyObject*) noexcept {
    return std::move(from.owned());
  }
};
template <class P>
struct parameter<std::optional<P>> : parameter<P> {
  static constexpr bool optional = true;
};

template <class P>
constexpr bool is_tensor_parameter = parameter<P>::is_tensor;

/// One tensor argument of one call: taken in, checked, and why not.
template <class P>
class tensor_argument {
  using facts = parameter<P>;

 public:
  tensor_argument() noexcept {}  // said, so that no one clears what load sets
  /// Takes the object in and checks it. False when it does not fit; no exception is then pending.
  DLBRIDGE_INLINE bool load(PyObject* object) noexcept {
    object_ = object;
    return (facts::mode != import_mode::own && own_.try_borrow_fast(object, facts::required())) ||
           load_slow(object);
  }

  /// The same with a tensor that has been taken in before, in mode own, and may be taken again when
  /// this parameter is not it. raised: what taking it in ended with, or none.
  bool load_shared(PyObject* object, imported_tensor& from, ref const& raised) noexcept {
    object_ = object;
    shared_ = &from;
    raised_ = ref::borrow(raised.get());
    return (facts::optional && object == Py_None) ||
           (!raised_ && meets(from.view(), facts::required()));
  }

  /// The parameter. Once, after load gave true.
  P take() noexcept {
    if constexpr (facts::optional) {
      return object_ == Py_None ? P() : P(facts::make(in_hand(), object_));
    } else {
      return facts::make(in_hand(), object_);
    }
  }

  PyObject* object() const noexcept { return object_; }

  /// Whether it was loaded and does not fit.
  bool refused() noexcept {
    return object_ != nullptr && !(facts::optional && object_ == Py_None) &&
           (raised_ || !meets(in_hand().view(), facts::required()));
  }
  report why() noexcept { return check_view(in_hand().view(), facts::required()); }
  /// The exception that taking in ended with, or none.
  ref& raised() noexcept { return raised_; }

 private:
  DLBRIDGE_NOINLINE bool load_slow(PyObject* object) noexcept {
    if (facts::optional && object == Py_None) {
      return true;
    }
    if (!own_.take_in(object, facts::mode)) {
      raised_ = take_exception();
      return false;
    }
    return meets(own_.view(), facts::required());
  }

  imported_tensor& in_hand() noexcept { return shared_ != nullptr ? *shared_ : own_; }

  PyObject* object_ = nullptr;
  imported_tensor* shared_ = nullptr;
  imported_tensor own_;
  ref raised_;
};

namespace detail {
template <class T>
struct result_kind {
  static constexpr bool is_tensor = is_tensor_parameter<T> && !parameter<T>::borrows;
  static constexpr bool knows_origin = false;
};
template <class T, class Shape, class... Constraints>
struct result_kind<argument<T, Shape, Constraints...>> {
  static constexpr bool is_tensor = true;
  static constexpr bool knows_origin = true;
};

inline managed_tensor release(managed_tensor&& m) noexcept { return std::move(m); }
template <class Tensor>
managed_tensor release(Tensor&& t) noexcept {
  return std::forward<Tensor>(t).release();
}
}  // namespace detail

/// Whether a function may return it as a tensor: by value, and owned.
template <class T>
constexpr bool is_result = detail::result_kind<T>::is_tensor;

/// The object for a result: of the library that is named (home), else of its own origin, else like
/// the object of the first tensor argument (like), else a Tensor. Either pointer may be null.
/// owns: the tensor, freed when it fails. GIL: held. fails: none, with a Python exception set.
template <class Result>
ref give_result(Result&& result, PyObject* like, library const* home) noexcept {
  using type = std::decay_t<Result>;
  static_assert(!std::is_lvalue_reference_v<Result>, "dlbridge: a result is moved out");
  if (home != nullptr) {
    return give_as(*home, detail::release(std::forward<Result>(result)));
  }
  if constexpr (detail::result_kind<type>::knows_origin) {
    return std::forward<Result>(result).give();
  } else {
    managed_tensor m = detail::release(std::forward<Result>(result));
    return like != nullptr ? origin(like).give(std::move(m)) : give_own(std::move(m));
  }
}
template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* like, library const* home) noexcept {
  return result ? give_result(std::move(*result), like, home) : ref::borrow(Py_None);
}

/// The object of the first parameter that is a tensor, or null.
template <class... Parameters>
PyObject* first_tensor(PyObject* const* objects) noexcept {
  constexpr bool tensors[] = {is_tensor_parameter<Parameters>...};
  for (std::size_t i = 0; i < sizeof...(Parameters); ++i) {
    if (tensors[i] && objects[i] != nullptr && objects[i] != Py_None) {
      return objects[i];
    }
  }
  return nullptr;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
