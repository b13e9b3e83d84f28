// The inline bodies of vectorize.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/as_function.inl>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/vectorize.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>
#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The loops over the elements of a result, in the order of its memory, and of the operands that
// broadcast to it.
class element_loops {
 public:
  // steps: receives the strides of each of the `count` operands
  element_loops(tensor_view const* operands, std::size_t count, std::int64_t (*steps)[max_rank]);

  bool has_dimensions() const noexcept { return extents_.size() > 0; }
  // Allocates the result.
  managed_tensor build(dtype type) const;

  // The innermost loop, and the number of its elements, which are a row.
  int innermost() const noexcept { return innermost_; }
  std::int64_t row() const noexcept { return lengths_[innermost_]; }
  // Calls body(offsets) for each row, with the offset of its first element in each operand.
  template <std::size_t Count, class Body>
  void for_each_row(std::int64_t const (&steps)[Count][max_rank], Body const& body) const;

 private:
  dims extents_{};
  std::int64_t strides_[max_rank];  // of the result, which is compact
  int innermost_ = 0;
  std::int64_t lengths_[max_rank];  // outermost first; without elements 0
};

template <std::size_t Count, class Body>
void element_loops::for_each_row(std::int64_t const (&steps)[Count][max_rank],
                                 Body const& body) const {
  std::int64_t index[max_rank];
  for (int i = 0; i < innermost_; ++i) {
    index[i] = 0;
  }
  std::int64_t offsets[Count] = {};
  for (int i = lengths_[0] == 0 ? -1 : 0; i >= 0;) {
    body(offsets);
    for (i = innermost_ - 1; i >= 0; --i) {
      bool const ends = ++index[i] == lengths_[i];
      index[i] = ends ? 0 : index[i];
      for (std::size_t k = 0; k < Count; ++k) {
        offsets[k] += ends ? steps[k][i] * (1 - lengths_[i]) : steps[k][i];
      }
      if (!ends) {
        break;
      }
    }
  }
}

template <class T>
constexpr bool is_element = std::is_arithmetic_v<T>;
template <class T>
constexpr bool is_element<std::complex<T>> = true;
template <class Format>
constexpr bool is_element<small_float<Format>> = true;

// Whether an argument of a parameter type A is an array of elements.
template <class A>
constexpr bool is_operand =
    is_element<std::decay_t<A>> &&
    (!std::is_reference_v<A> || std::is_const_v<std::remove_reference_t<A>>);

template <class T>
struct operand {
  using rule = std::conditional_t<std::is_integral_v<T>, by_value, converted>;
  using type = or_other<tensor<T const, dynamic_rank, rule>> const&;
};
// The parameter of the function of arrays for a parameter A of the function of numbers.
template <class A, bool = is_operand<A>>
struct vectorized_parameter : operand<std::decay_t<A>> {};
template <class A>
struct vectorized_parameter<A, false> {
  using type = A;
};
template <class R, bool = kind_of<R> == element_kind::scalar>
struct vectorized_result {
  using type = std::variant<R, tensor<R>>;
};
template <class R>
struct vectorized_result<R, false> {  // Python has no such number
  using type = tensor<R>;
};
template <>
struct vectorized_result<void, false> {
  using type = void;
};

// What an argument is in one row: elements, one element, or what every call receives.
template <class T, class Step>
struct row_of_elements {
  T const* first;
  Step step;  // a constant 1, so that compilers make vector loops, or any number
  T const& operator[](std::int64_t i) const noexcept { return first[i * step]; }
};
template <class T>
struct one_element {
  T value;
  T const& operator[](std::int64_t) const noexcept { return value; }
};
template <class A>
struct passed_argument {
  A& argument;
  A& operator[](std::int64_t) const noexcept { return argument; }
};

template <class F, class Signature>
class vectorized;
template <class F, class Result, class... Parameters>
class vectorized<F, Result(Parameters...)> {
  using given = std::decay_t<Result>;
  static_assert(is_element<given> || std::is_void_v<given>,
                "dlbridge: a function for vectorize returns a number or nothing");
  using element = std::conditional_t<is_element<given>, given, void>;  // one error is printed
  using result = typename vectorized_result<element>::type;
  using arguments = std::tuple<typename vectorized_parameter<Parameters>::type&...>;
  static constexpr std::size_t count = (0 + ... + std::size_t{is_operand<Parameters>});
  static constexpr std::size_t most_hoisted = 3;  // 2^n loops are compiled
  static_assert(count > 0,
                "dlbridge: vectorize needs a parameter that is a number, by value or by reference "
                "to const");
  static_assert(!(std::is_rvalue_reference_v<Parameters> || ...),
                "dlbridge: vectorize calls the function for each element. Take an argument by "
                "value or by lvalue reference");

 public:
  explicit vectorized(F function) : function_(std::move(function)) {}

  result operator()(typename vectorized_parameter<Parameters>::type... all) {
    return call(arguments(all...), std::make_index_sequence<count>());
  }

 private:
  // The position of operand k among the parameters, and the number of operands before parameter i.
  static constexpr std::size_t position(std::size_t k) noexcept {
    constexpr bool operands[] = {is_operand<Parameters>...};
    std::size_t i = 0;
    while (!operands[i] || k-- > 0) {
      ++i;
    }
    return i;
  }

  template <std::size_t... Ks>
  result call(arguments const& all, std::index_sequence<Ks...>) {
    tensor_view const views[] = {std::get<position(Ks)>(all).view()...};
    std::int64_t steps[count][max_rank];
    element_loops const loops(views, count, steps);
    auto const run = [&](auto* out) {
      int const i = loops.innermost();
      bool const is_plain = (is_plain_step(steps[Ks][i]) && ...);
      loops.for_each_row(steps, [&](std::int64_t const* offsets) {
        row const each{loops.row(), offsets, {steps[Ks][i]...}};
        is_plain ? call_row<true>(all, each, out) : call_row<false>(all, each, out);
        if constexpr (!std::is_void_v<element>) {
          out += each.size;
        }
      });
    };
    if constexpr (std::is_void_v<element>) {
      run(static_cast<void*>(nullptr));
    } else {
      if constexpr (!std::is_same_v<result, tensor<element>>) {
        if (!loops.has_dimensions()) {
          element value{};
          run(&value);
          return value;
        }
      }
      auto made = tensor<element>::trust(loops.build(dtype_of<element>()));
      run(made.data());
      return made;
    }
  }

  // One row: the number of its elements, and where it begins in each operand.
  struct row {
    std::int64_t size;
    std::int64_t const* offsets;
    std::int64_t steps[count];
  };

  static constexpr bool is_plain_step(std::int64_t step) noexcept {
    return step == 1 || (step == 0 && count <= most_hoisted);
  }

  // Selects the type of each argument, and calls the function for the elements of a row.
  template <bool IsPlain, std::size_t K = 0, class Out, class... Rows>
  void call_row(arguments const& all, row const& each, Out* out, Rows... rows) {
    constexpr std::size_t i = sizeof...(Rows);
    if constexpr (i == sizeof...(Parameters)) {
      call_elements(each.size, out, rows...);
    } else if constexpr (K == count || position(K) != i) {
      using type = std::remove_reference_t<std::tuple_element_t<i, arguments>>;
      call_row<IsPlain, K>(all, each, out, rows..., passed_argument<type>{std::get<i>(all)});
    } else {
      auto const* const first = std::get<i>(all).data() + each.offsets[K];
      using type = std::remove_cv_t<std::remove_pointer_t<decltype(first)>>;
      if constexpr (!IsPlain) {
        call_row<false, K + 1>(all, each, out, rows...,
                               row_of_elements<type, std::int64_t>{first, each.steps[K]});
      } else if (each.steps[K] == 1) {
        using one = std::integral_constant<std::int64_t, 1>;
        call_row<true, K + 1>(all, each, out, rows..., row_of_elements<type, one>{first, one()});
      } else if constexpr (count <= most_hoisted) {
        call_row<true, K + 1>(all, each, out, rows..., one_element<type>{*first});
      }
    }
  }

  // The result is new memory. Without __restrict, compilers would read what the function captured
  // once more for each element.
  template <class Out, class... Rows>
  DLBRIDGE_NOINLINE void call_elements(std::int64_t size, [[maybe_unused]] Out* __restrict out,
                                       Rows... rows) {
    for (std::int64_t i = 0; i < size; ++i) {
      if constexpr (std::is_void_v<element>) {
        function_(rows[i]...);
      } else {
        out[i] = function_(rows[i]...);
      }
    }
  }

  F function_;
};
}  // namespace python::detail

template <class F>
auto vectorize(F function) {
  auto callee = python::binding::as_function<void>(std::move(function));
  using callee_type = decltype(callee);
  using signature = typename python::binding::call_signature<callee_type>::signature;
  return python::detail::vectorized<callee_type, signature>(std::move(callee));
}

DLBRIDGE_END_NAMESPACE
