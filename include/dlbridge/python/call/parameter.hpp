// parameter<P>: defines how a Python argument becomes a C++ parameter of type P; give_result
// converts a C++ result to a Python object.
// layer: call · from a Python argument to C++, and from a C++ result to Python
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/convert.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/untyped_argument.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// An extra argument of def and def_fast. The bound function then returns tensors of one library,
/// regardless of the libraries of its arguments.
struct returns {
  library which;  ///< the library
};

namespace python {

namespace detail {
// Whether an extra argument of def is dlbridge's, so that the binding library does not receive it.
template <class Extra>
constexpr bool is_own_extra() noexcept {
  static_assert(!std::is_same_v<Extra, library>,
                "dlbridge: a library is no extra argument of def. Write dlbridge::returns{...} "
                "with it, such as dlbridge::returns{dlbridge::library::numpy}");
  return std::is_same_v<Extra, returns> || std::is_same_v<Extra, library>;
}
}  // namespace detail

/// The properties of a parameter type. The primary template describes the types that are not
/// tensors. Each tensor type has a specialization with these members:
/// - is_tensor: true
/// - optional: whether the parameter accepts None, which means no tensor
/// - borrows: whether the parameter is valid only as long as the call holds the GIL
/// - mode: the import_mode of the tensor
/// - required(): the requirement that the tensor must meet
/// - make(from, object): returns the parameter for an object, from its checked imported_tensor
/// - convert(view): returns a converted copy, if required().converts
/// - takes_others: whether it accepts objects other than producers; then also is_other(object), and
///   import_other(object), which returns the tensor, or an empty one with an exception set
/// - takes_buffers, takes_numbers: which other objects, for the annotation
template <class P>
struct parameter {
  static constexpr bool is_tensor = false;
  static constexpr bool optional = false;
  static constexpr bool borrows = false;
};

namespace detail {
struct owning_parameter {
  static constexpr bool is_tensor = true;
  static constexpr bool takes_others = false;
  static constexpr bool takes_buffers = false;
  static constexpr bool takes_numbers = false;
  static constexpr bool optional = false;
  static constexpr bool borrows = false;
  static constexpr import_mode mode = import_mode::own;
};
// The parts that parameters of element type T have in common.
template <class Type, class T, class Shape, class... Constraints>
struct typed_parameter : owning_parameter {
  using type = Type;
  static constexpr requirement required() noexcept {
    requirement need = type::required();
    need.converts = dlbridge::detail::is_converted<Constraints...>;
    return need;
  }
  static managed_tensor convert(tensor_view const& source) {
    constexpr requirement need = type::required();
    static_assert(need.alignment <= host_alignment,
                  "dlbridge: a converted copy is aligned to 64 bytes. Require no more of it");
    return converted_copy_of<std::remove_const_t<T>>(
        source, need.order == layout::column_major ? layout::column_major : layout::row_major);
  }
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
struct parameter<tensor_span<T, Shape, Constraints...>>
    : detail::typed_parameter<tensor_span<T, Shape, Constraints...>, T, Shape, Constraints...> {
  static constexpr bool borrows = true;
  static constexpr import_mode mode =
      std::is_const_v<T> ? import_mode::borrow_to_read : import_mode::borrow_to_write;
  using type = tensor_span<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject*) noexcept { return type::trust(from.view()); }
};
template <class T, class Shape, class... Constraints>
struct parameter<tensor<T, Shape, Constraints...>>
    : detail::typed_parameter<tensor<T, Shape, Constraints...>, T, Shape, Constraints...> {
  using type = tensor<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject* object) noexcept {
    return type::trust(from.take_to_keep(object));
  }
};
template <class T, class Shape, class... Constraints>
struct parameter<argument<T, Shape, Constraints...>>
    : detail::typed_parameter<argument<T, Shape, Constraints...>, T, Shape, Constraints...> {
  using type = argument<T, Shape, Constraints...>;
  static type make(imported_tensor& from, PyObject* object) noexcept {
    return type(type::owner_type::trust(from.take_to_keep(object)), origin(object));
  }
};
template <>
struct parameter<any_tensor> : detail::untyped_parameter {
  static any_tensor make(imported_tensor& from, PyObject* object) noexcept {
    return any_tensor(from.take_to_keep(object));
  }
};
template <>
struct parameter<managed_tensor> : detail::untyped_parameter {
  static managed_tensor make(imported_tensor& from, PyObject*) noexcept {
    return std::move(from.owned());
  }
};
template <>
struct parameter<any_argument> : detail::untyped_parameter {
  static any_argument make(imported_tensor& from, PyObject* object) noexcept {
    return any_argument(from.take_to_keep(object), origin(object));
  }
};
template <class P>
struct parameter<std::optional<P>> : parameter<P> {
  static constexpr bool optional = true;
};

template <class P>
constexpr bool is_tensor_parameter = parameter<P>::is_tensor;

namespace detail {
// What a parameter type accepts beside producers, as refusals name it.
template <class P>
constexpr char const* others_of =
    !parameter<P>::takes_numbers   ? ", or a buffer"
    : !parameter<P>::takes_buffers ? ", a number, or a list of numbers"
                                   : ", a buffer, a number, or a list of numbers";
}  // namespace detail

/// Whether an argument was loaded, and whether Python code may have run meanwhile. The bitwise and
/// of the results of all arguments is the result of the call.
enum class load_result : unsigned {
  refused = 0,
  after_python = 1,
  fast = 3,
};

/// One tensor argument of one call. It imports the tensor of an object, checks it against
/// parameter<P>, and reports why the tensor does not meet the requirement.
/// @par Lifetime
/// The object, and a tensor passed to load_shared, must outlive this tensor_argument.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
template <class P>
class tensor_argument : public untyped_argument {
  using traits = parameter<P>;

 public:
  tensor_argument() noexcept {}  // user-provided, as that of the base
  tensor_argument(tensor_argument&&) noexcept = default;

  /// Imports and checks the tensor of an object.
  /// @return refused if the tensor does not fit. No exception is pending afterwards.
  DLBRIDGE_INLINE load_result load(PyObject* object) noexcept {
    object_ = object;
    if (traits::mode != import_mode::own && own_.try_borrow_fast(object, checked())) {
      return load_result::fast;
    }
    return import_and_check() ? load_result::after_python : load_result::refused;
  }

  /// The same, once more after a refused call.
  DLBRIDGE_COLD bool load_again(PyObject* object) noexcept {
    object_ = object;
    return import_and_check();
  }

  /// The same without a conversion, also for a parameter that converts.
  load_result load_exactly(PyObject* object) noexcept {
    object_ = object;
    bool const fits = is_none() || (import_argument() && meets(own_.view(), checked()));
    return fits ? load_result::after_python : load_result::refused;
  }

  /// Borrows a lent tensor once more. A caller does so when the import of a later argument may have
  /// run Python code, which may have changed the tensor, for example by `a.shape = ...`.
  /// @pre load succeeded
  /// @return whether the tensor fits; if not, exception() states that it changed. No exception is
  /// pending afterwards.
  bool confirm() noexcept {
    if constexpr (traits::mode != import_mode::own) {
      return is_none() || confirm_in(traits::mode, need);
    } else {
      return true;
    }
  }

  /// Checks a tensor that an earlier overload imported in mode own. A later overload may use the
  /// tensor after this one refused it.
  /// @param object the object
  /// @param tensor the imported tensor
  /// @param exception the exception that the import raised, or none
  /// @return whether the tensor fits
  bool load_shared(PyObject* object, imported_tensor& tensor, ref const& exception) noexcept {
    object_ = object;
    if constexpr (traits::takes_others) {
      if (traits::is_other(object)) {
        return import_and_check();
      }
    }
    shared_ = &tensor;
    exception_ = ref::borrow(exception.get());
    if constexpr (traits::required().converts) {
      if (!is_none() && !exception_ && !meets(tensor.view(), checked())) {
        return convert_from(tensor, need, &traits::convert);
      }
    }
    if (is_none()) {
      return true;
    }
    if constexpr (traits::takes_others) {
      this->name_others(detail::others_of<P>);
    }
    return !exception_ && meets(tensor.view(), checked()) && is_ready_in(tensor, need.where);
  }

  /// Returns the C++ parameter, and moves the tensor into it if P owns its tensor.
  /// @pre load or load_shared returned true; extract has not been called before
  P extract() noexcept {
    if constexpr (traits::optional) {
      return object_ == Py_None ? P() : P(traits::make(imported(), object_));
    } else {
      return traits::make(imported(), object_);
    }
  }

  /// @return whether the argument was loaded, and is a tensor
  bool is_tensor() const noexcept { return object_ != nullptr && !is_none(); }

  /// @pre load or load_shared returned true, and is_tensor()
  tensor_view view() noexcept { return imported().view(); }

  DLBRIDGE_LOCAL static constexpr requirement need = traits::required();
  // Chosen by the type, so that only converting parameters compile explain_conversion.
  static constexpr explanation explain = [] {
    if constexpr (traits::required().converts) {
      return &dlbridge::detail::explain_conversion;
    } else {
      return &dlbridge::detail::explain_mismatch;
    }
  }();

 private:
  // need, without extents that accept every value. Compilers do not fold the fields of a static
  // object in time to compare several of them by one instruction.
  DLBRIDGE_INLINE static requirement checked() noexcept {
    constexpr std::int64_t const* extents = dlbridge::detail::shortest(traits::required()).extents;
    requirement result = traits::required();
    result.extents = extents;
    return result;
  }

  bool is_none() const noexcept { return traits::optional && object_ == Py_None; }

  DLBRIDGE_NOINLINE bool import_and_check() noexcept {
    if constexpr (traits::required().converts) {
      return is_none() || (import_argument() && (meets(own_.view(), checked()) ||
                                                 convert_from(own_, need, &traits::convert)));
    } else {
      return is_none() || (import_argument() && meets(own_.view(), checked()));
    }
  }

  bool import_argument() noexcept {
    if constexpr (traits::takes_others) {
      if (traits::is_other(object_)) {
        return take(traits::import_other(object_));
      }
    }
    bool const is_imported = import_in(traits::mode, need.where);
    if constexpr (traits::takes_others) {
      if (!is_imported) {
        this->name_others(detail::others_of<P>);
      }
    }
    return is_imported;
  }
};

namespace detail {
template <class T>
struct result_kind {
  static constexpr bool is_tensor = is_tensor_parameter<T> && !parameter<T>::borrows;
  static constexpr bool has_origin = false;
};
template <class T, class Shape, class... Constraints>
struct result_kind<argument<T, Shape, Constraints...>> {
  static constexpr bool is_tensor = true;
  static constexpr bool has_origin = true;
};
template <>
struct result_kind<any_argument> {
  static constexpr bool is_tensor = true;
  static constexpr bool has_origin = true;
};

inline managed_tensor release(managed_tensor&& m) noexcept { return std::move(m); }
template <class Tensor>
managed_tensor release(Tensor&& t) noexcept {
  return std::forward<Tensor>(t).release();
}
}  // namespace detail

/// Whether T is an owning tensor type, which a function may return by value.
template <class T>
constexpr bool is_result = detail::result_kind<T>::is_tensor;

/// Converts a C++ result to a Python object of the first of these libraries that applies: `target`,
/// the origin of a result of type argument, the library of `first_argument`. Without any of them
/// the object is a Tensor.
/// @param result the tensor, as an rvalue, or an empty optional for None
/// @param first_argument the object of the first tensor argument, or null
/// @param target the library that `returns` names, or null
/// @return the object, or an empty ref with a Python exception set
/// @par Ownership
/// The function takes ownership of the tensor, and frees it on failure.
/// @par Thread and GIL
/// The caller holds the GIL.
template <class Result>
ref give_result(Result&& result, PyObject* first_argument = nullptr,
                library const* target = nullptr) noexcept {
  using type = std::decay_t<Result>;
  static_assert(
      !std::is_lvalue_reference_v<Result>,
      "dlbridge: a tensor is returned by value. Take it by value, and return std::move of it");
  if constexpr (std::is_lvalue_reference_v<Result>) {
    return ref();  // only the assertion is printed
  } else if (target != nullptr) {
    return give_as(*target, detail::release(std::forward<Result>(result)));
  } else if constexpr (detail::result_kind<type>::has_origin) {
    return std::forward<Result>(result).give();
  } else {
    managed_tensor m = detail::release(std::forward<Result>(result));
    return first_argument != nullptr ? origin(first_argument).give(std::move(m))
                                     : give_own(std::move(m));
  }
}
template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* first_argument = nullptr,
                library const* target = nullptr) noexcept {
  return result ? give_result(std::move(*result), first_argument, target) : ref::borrow(Py_None);
}

/// Finds the first tensor argument of a call.
/// @param objects the arguments of the call, one for each parameter; null for one that is no tensor
/// @return a borrowed reference to the first tensor argument that is not None, or null
template <class... Parameters>
PyObject* first_tensor(PyObject* const* objects) noexcept {
  constexpr bool is_tensor[] = {is_tensor_parameter<Parameters>...};
  for (std::size_t i = 0; i < sizeof...(Parameters); ++i) {
    if (is_tensor[i] && objects[i] != nullptr && objects[i] != Py_None) {
      return objects[i];
    }
  }
  return nullptr;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
